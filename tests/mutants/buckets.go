package main

const (
	bucketTests = "./payload/s3store"
	cacheTests  = "./payload/cache"
)

// buckets is mutants of payloads that are kept in a bucket. Their tests need a real S3 server: see .ci/run.
var buckets = []mutant{
	{
		name: "an object is written without a condition", never: "writers write over what is good",
		file: "payload/s3store/write.go", old: "\t\treturn aws.String(\"*\")\n", new: "\t\treturn nil\n",
		pkg: bucketTests, run: "^TestManyWritersWriteOneObjectOnce$",
	},
	{
		name: "poison is replaced whatever has come in its place", never: "a healer that comes late writes over what another one put right",
		file: "payload/s3store/write.go", old: "\treturn &c.etag\n", new: "\treturn nil\n",
		pkg: bucketTests, run: "^TestHealersReplaceOnlyThePoison$",
	},
	{
		name: "what is there already is not compared", never: "poison is acknowledged as stored",
		file: "payload/s3store/write.go", old: "return bytes.Equal(data, o.data), err", new: "_ = data\n\treturn true, err",
		pkg: bucketTests, run: "^TestBackend$",
	},
	{
		name: "an object goes to the server without its hash", never: "what was changed on the way is stored",
		file: "payload/s3store/write.go", old: "ChecksumSHA256: o.sum.base64(), ", new: "",
		pkg: bucketTests, run: "^TestAnObjectStandsUnderItsHash$",
	},
	{
		name: "a body that is cut is not asked for again", never: "a run fails where a second request would do",
		file: "payload/s3store/read.go", old: "!errors.Is(err, errCut) || ", new: "true || ",
		pkg: bucketTests, run: "^TestABodyThatIsCutIsAskedForAgain$",
	},
	{
		name: "a repeated copy does not look what it copies", never: "the evidence of poison is written over by what healed it",
		file: "payload/s3store/remove.go", old: "CopySourceIfMatch: &there.etag,", new: "CacheControl: &there.etag,",
		pkg: bucketTests, run: "^TestWhatWasSetAsideIsNotWrittenOver$",
	},
	{
		name: "a failed upload is left behind", never: "parts that nobody sees take space",
		file: "payload/s3store/parts.go", old: "errors.Join(err, s.abandon(ctx, o.name, upload))", new: "errors.Join(err)",
		pkg: bucketTests, run: "^TestAWriteInPartsThatFailsLeavesNothing$",
	},
	{
		name: "uploads are swept at any age", never: "the upload of a writer at work is thrown away",
		file: "payload/s3store/sweep.go", old: "aws.ToTime(upload.Initiated).After(before)", new: "before.IsZero()",
		pkg: bucketTests, run: "^TestAWriteInPartsThatFailsLeavesNothing$",
	},
	{
		name: "the cache does not look at versions", never: "what was purged or replaced is shown",
		file: "payload/cache/cache.go", old: "kept.version == version", new: "kept != nil",
		pkg: cacheTests, run: "^TestWhatOthersDidIsSeenAtOnce$",
	},
	{
		name: "the cache forgets nothing", never: "a worker runs out of memory",
		file: "payload/cache/cache.go", old: "for c.used > c.maxBytes {", new: "for c.used < 0 {",
		pkg: cacheTests, run: "^TestMemoryIsBoundedAndTheLongestUnusedGoes$",
	},
}
