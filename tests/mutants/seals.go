package main

// seals is mutants of what binds the record.
var seals = []mutant{
	{
		name: "all salts are the same", never: "who has one row's proof guesses all others",
		file: "landscape/seal/salt.go", old: "\treturn &s.level[s.depth].key\n", new: "\treturn &s.level[0].key\n",
		pkg: "./landscape/seal", run: "^TestSaltsInOrderAreThoseOneByOne$",
	},
	{
		name: "all chunks have the same salts", never: "a salt that was shown opens a row of another chunk",
		file: "landscape/seal/salt.go", old: "text = append(append(append(text, k[:]...), source...), 0)", new: "text, chunk = append(append(append(text, k[:]...), source...), 0), 0",
		pkg: "./landscape/seal", run: "^TestEveryChunkHasAKeyOfItsOwn$",
	},
	{
		name: "a leaf has no prefix", never: "an inner node passes for a row",
		file: "landscape/seal/hasher.go", old: "append(append(h.message[:0], 0), salt[:]...)", new: "append(h.message[:0], salt[:]...)",
		pkg: "./landscape/seal", run: "^TestRootsAreThoseOfRFC6962$",
	},
	{
		name: "errors are not sealed", never: "why a row was refused is rewritten",
		file: "landscape/seal/rows.go", old: "\tdst = r.appendErrors(dst, i)\n", new: "",
		pkg: "./landscape/seal", run: "^TestEveryPartCounts$",
	},
	{
		name: "seals are not compared", never: "the record is rewritten, and verify finds it true",
		file: "audit/verify_seal.go", old: "!bytes.Equal(now[:], root)", new: "false && !bytes.Equal(now[:], root)",
		pkg: "./audit", run: "^TestVerify$/^record$",
	},
	{
		name: "a late refusal counts as one on the way", never: "a run whose target refused a row looks as if it had been changed",
		file: "landscape/seal.go", old: "if e.Row < end && !late(e) {", new: "if e.Row < end && (!late(e) || true) {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Seals$",
	},
	{
		name: "where the latest leads is not compared", never: "people read an old output by the name of the latest, and verify finds nothing wrong",
		file: "audit/latest.go", old: "\tcase to != latest.Path && (", new: "\tcase to != latest.Path && name == nil && (",
		pkg: "./cmd/waymark", run: "^TestScripts$/^latest$", tier: night,
	},
	{
		name: "what comes after the end of a run is not sealed again", never: "a run whose attempts ended late looks as if it had been changed",
		file: "landscape/epoch.go", old: "err = g.log.sealAgain(ctx, &tx, head)", new: "err = nil",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^RunSeals$",
	},
	{
		name: "what does not fit its seal is sealed again", never: "an order seals what somebody had changed, and nobody finds it",
		file: "landscape/run_seal.go", old: "if bytes.Equal(root[:], b.last.Root) {", new: "if bytes.Equal(root[:], root[:]) {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^RunSeals$",
	},
	{
		name: "the seal of a run does not count records", never: "what is recorded while a run is sealed looks like a change",
		file: "landscape/run_seal.go", old: "found[i] != c.Records {", new: "found[i] < 0 {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^RunSeals$",
	},
	{
		name: "a seal that is removed is not missed", never: "the record of a run is changed and sealed late, and the log's entry about the old seal means nothing",
		file: "audit/evidence/check_records.go", old: "\tc.missing(c.sealed)\n", new: "",
		pkg: "./audit/evidence", run: "^TestEntriesOfSeals$",
	},
	{
		name: "a run that was changed while it was stopped is resumed", never: "the next seal of a run binds what somebody changed between two epochs",
		file: "landscape/run_resume.go", old: "err := l.intact(ctx, old); err != nil {", new: "err := l.intact(ctx, old); err != nil && l == nil {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^RunSeals$",
	},
	{
		name: "marks count before the root", never: "who changes the marks of a seal makes true records look changed",
		file: "audit/verify_run_seal.go", old: "root := tree.Root(); bytes.Equal(root[:], sealed.Root) {", new: "root := tree.Root(); bytes.Equal(root[:], sealed.Root) && bytes.Equal(c.marks, sealed.Marks) {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^seal$", tier: night,
	},
	{
		name: "an end that is taken back is not missed", never: "a run that ended runs again in the same epoch, with other records, and the log does not tell",
		file: "landscape/log_entry.go", old: "b.Epoch <= ended && !b.Ended(ended)", new: "b.Epoch < ended",
		pkg: "./audit/evidence", run: "^TestEntriesOfSeals$",
	},
}
