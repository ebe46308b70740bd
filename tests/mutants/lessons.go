package main

// lesson is an old bug: programs of this kind lost or changed rows by it, and it must never come back.
type lesson string

// Every lesson has mutants that put the bug back.
const (
	noPayload        lesson = "rows on record without what was read"
	poisonedPayload  lesson = "a cut payload that passes for a whole one"
	forgottenMerge   lesson = "merges that nobody can explain"
	oneWatermark     lesson = "one watermark for all sinks"
	earlyCompletion  lesson = "completion before the sink confirmed"
	forgottenHolding lesson = "timeouts that never fire, rows that are held for ever"
	contagiousRow    lesson = "one bad row that spoils others"
	leakedSecret     lesson = "secrets that are stored"
	twoTruths        lesson = "two values with one hash, one value with two"
	agedEvidence     lesson = "evidence that is gone, and nobody says so"
)

// lessons says how many mutants at least put each old bug back.
var lessons = map[lesson]int{
	noPayload: 2, poisonedPayload: 2, forgottenMerge: 1, oneWatermark: 2, earlyCompletion: 2,
	forgottenHolding: 2, contagiousRow: 2, leakedSecret: 1, twoTruths: 1, agedEvidence: 1,
}

// evidence is mutants of what is read, kept and hashed.
var evidence = []mutant{
	// What was read.
	{
		name:  "a run of a value in a Parquet page may have more bits than the values of the page",
		never: "a damaged file passes for rows that nobody wrote",
		file:  "plugin/parquet/page/runs.go",
		old:   "if value>>width != 0 {", new: "if value>>width != 0 && width > 32 {",
		pkg: "./plugin/parquet/page", run: "^TestPaddingHasALimit$",
	},
	{
		name:  "a Parquet file whose length nobody says is empty",
		never: "a run is complete, and has lost all rows of a source",
		file:  "plugin/parquet/reader.go", old: "case n > 0:", new: "case n > 1:",
		pkg: "./plugin/parquet", run: "^TestUnknownLengthIsNotEmpty$",
	},
	{
		name: "a chunk needs no payload", never: "a row is recorded and nobody can say what was read", again: noPayload,
		file: "landscape/chunk.go", old: "case c.Pack == \"\":", new: "case false:",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Log$",
	},
	{
		name: "a chunk is recorded, and its payload not stored", never: "a row is recorded and nobody can say what was read", again: noPayload,
		file: "activities/read.go", old: "digest, err := a.payloads.Put(ctx, encoded)", new: "digest := payload.Of(encoded)",
		pkg: "./activities", run: "^TestNothingHangsOnTheMemoryOfTheProcess$",
	},
	{
		name: "the bytes of a payload are not checked against its name", never: "a payload that was cut is taken for what was read", again: poisonedPayload,
		file: "payload/store.go", old: "if got := Of(data); got != d {", new: "if got := Of(data); got != d && false {",
		pkg: "./payload/memstore", run: "^TestBackend$",
	},
	{
		name: "what is there under a hash is right", never: "a payload that was cut poisons its hash for ever", again: poisonedPayload,
		file: "payload/store.go", old: "case err == nil && reason != \"\":", new: "case false:",
		pkg: "./payload/memstore", run: "^TestBackend$",
	},
	{
		name: "all writers of a payload write one file", never: "two writers tear a payload", again: poisonedPayload,
		file: "payload/fsstore/durable.go", old: "temp := shard + \"/\" + tempPrefix + rand.Text()", new: "temp := objectPath(key) + rand.Text()[:0]",
		pkg: "./payload/fsstore", run: "^TestBackend$",
	},
	{
		name: "every row reads what is there again", never: "a payload of megabytes is read for each row that has it", again: poisonedPayload,
		file: "payload/store.go", old: "if s.seen.has(d, info.Version) {", new: "if s.seen.has(d, info.Version) && false {",
		pkg: "./payload", run: "^TestDedupReadsAnObjectOncePerProcess$",
	},
	{
		name: "a key may be any text", never: "a key leads out of the folder of the payloads", again: poisonedPayload,
		file: "payload/digest.go", old: "if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {", new: "if c := s[i]; c == 0 {",
		pkg: "./payload/memstore", run: "^TestBackend$",
	},

	// Rows.
	{
		name: "a quote that is never closed continues to the end", never: "a malformed line swallows the rest of its file", again: contagiousRow,
		file: "plugin/csv/records.go", old: "line.Defect = &plugin.Rejection{Code: code, Message: d.defectMessage(code, c)}", new: "line.Defect, line.Size = &plugin.Rejection{Code: code, Message: d.defectMessage(code, c)}, len(text)",
		pkg: "./plugin/csv", run: "^TestCSVBadInputs$",
	},
	{
		name: "a bad record is an error", never: "one bad row fails its whole batch", again: contagiousRow,
		file: "engine/pass.go", old: "return p.reject(rejection(err))", new: "return \"\", err",
		pkg: "./activities", run: "^TestRunLeavesWhatTheDocumentSays$",
	},
	{
		name: "a defect of a step is not confined to its row", never: "one bad row fails its whole batch", again: contagiousRow,
		file: "engine/rejection.go", old: "return p.reject(panicRejection(cause))", new: "panic(cause)",
		pkg: "./engine", run: "^TestADefectIsConfinedToTheRowThatMetIt$",
	},
	{
		name: "the first line says which keys all lines have", never: "what the first row of a batch lacks is lost in all others", again: contagiousRow,
		file: "plugin/jsonl/parser.go", old: "if shape, ok := p.shapes[string(p.key)]; ok {\n\t\treturn shape\n\t}", new: "for _, shape := range p.shapes {\n\t\treturn shape\n\t}",
		pkg: "./plugin/jsonl", run: "^(TestEqualKeysShareOneShape|TestManyKeys)$",
	},
	{
		name: "a field keeps the value of the row before", never: "one row gets the values of another", again: contagiousRow,
		file: "plugin/csv/parser.go", old: "if len(p.cells) < len(values) {\n\t\tclear(values)\n\t}", new: "",
		pkg: "./plugin/csv", run: "^TestReusedValues$",
	},

	// Secrets.
	{
		name: "a secret in base64 is none", never: "a password is found in an error on record", again: leakedSecret,
		file: "pipeline/redact.go", old: "forms = append(forms, base64Forms(encoding, value)...)", new: "_ = encoding",
		pkg: "./pipeline", run: "^TestRedactEveryForm$",
	},
	{
		name: "the plan on record has the values of secrets", never: "a password is found in the record", again: leakedSecret,
		file: "engine/plan/config.go", old: "return json.RawMessage(p.Document.Redact(string(text)))", new: "return json.RawMessage(text)",
		pkg: "./engine/plan", run: "^TestThePlanDoesNotTellSecrets$",
	},
	{
		name: "problems tell what they found", never: "a password is found in a log", again: leakedSecret,
		file: "pipeline/place.go", old: "message := d.conceal(path, fmt.Sprintf(format, args...))", new: "message := fmt.Sprintf(format, args...)",
		pkg: "./pipeline", run: "^TestProblemsDoNotTellSecrets$",
	},

	// Hashes.
	{
		name: "a date has the hash of its text", never: "two rows that differ pass for the same", again: twoTruths,
		file: "pipeline/row/canonical.go", old: "return append(appendDate(append(dst, `{\"$date\":\"`...), v.num), `\"}`...)", new: "return append(appendDate(append(dst, '\"'), v.num), '\"')",
		pkg: "./pipeline/row", run: "^TestCanonicalTellsLookalikesApart$",
	},
	{
		name: "the order of the fields is hashed", never: "one row has another hash where its fields came in another order", again: twoTruths,
		file: "pipeline/row/shape.go", old: "return strings.Compare(fields[a], fields[b])", new: "return a - b + strings.Compare(fields[a], fields[a])",
		pkg: "./pipeline/row", run: "^TestCanonicalRow$",
	},
	{
		name: "a JSON scalar has the hash of the plain value", never: "two rows that differ pass for the same", again: twoTruths,
		file: "pipeline/row/canonical.go", old: "scalar := v.isJSONScalar()", new: "scalar := false",
		pkg: "./pipeline/row", run: "^TestCanonicalTellsLookalikesApart$",
	},

	// What is kept.
	{
		name: "a payload that is gone is not said", never: "what was read is lost, and verify is content", again: agedEvidence,
		file: "audit/verify_chunk.go", old: "v.add(kind, place(record.Source, record.Chunk), \"%v\", err)", new: "_ = kind",
		pkg: "./audit", run: "^TestVerify$",
	},
	{
		name: "a payload that is gone is tried again for ever", never: "a run hangs on evidence that is gone, and does not say so", again: agedEvidence,
		file: "activities/errors.go", old: "case errors.Is(err, payload.ErrNotFound):\n\t\treturn TypeMissing\n", new: "",
		pkg: "./activities", run: "^TestPayloadThatIsGoneOrWrong$",
	},
}
