package main

const tableTests = "./plugin/postgres"

const accessTests = "^(TestNobodyLendsADocumentHisPassword|TestAConfinedDSNMeansTheSameEverywhere|TestHostileDSNs)$"

// tables is mutants of what is read from and written into tables of Postgres. Their tests need a real server: see .ci/run.
var tables = []mutant{
	{
		name: "a change is dated by an attestation that found another one", never: "a file is removed, and the record has an alibi for the hour",
		file: "landscape/attestation.go", old: "case !before.sameAs(a):", new: "case before.Result == plugin.AsWritten:",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$",
	},
	{
		name: "copies of other runs are not counted", never: "a table says equal, and one of two equal payments became another one",
		file: "plugin/postgres/attest_copies.go", old: "\tof.wrote++\n", new: "\tof.wrote += 1 - min(output, 1)\n",
		pkg: "./plugin/postgres", run: "^TestAttestRowsWithoutKey$",
	},
	{
		name: "a document's database gets what the environment says", never: "whoever writes a document has the worker's password sent to a server of his own",
		file: "plugin/postgres/access.go", old: "dsn = said.alone().words()", new: "dsn = said.words()",
		pkg: tableTests, run: accessTests,
	},
	{
		name: "sessions of a document get what the environment says", never: "a document works with the settings of the worker's own sessions",
		file: "plugin/postgres/access.go", old: "return !said.has(name)", new: "return false && !said.has(name)",
		pkg: tableTests, run: accessTests,
	},
	{
		name: "a document's database may be anywhere", never: "a document looks around in the worker's network",
		file: "plugin/postgres/access.go", old: "return guarded.DialContext(", new: "guarded.ControlContext = nil\n\t\treturn guarded.DialContext(",
		pkg: tableTests, run: accessTests,
	},
	{
		name:  "a server's secrets are everybody's",
		never: "a document has another pipeline's password sent to a server of its own",
		file:  "worker/secrets/secrets.go", old: "if k.Server && !owner.named(k.Rules[name]) {", new: "if false {",
		pkg: "./worker/secrets", run: "^TestSecretsBelongToPipelines$",
	},
	{
		name:  "secrets leave before they may",
		never: "a deployment that is only tried sends a password, and no record says so",
		file:  "worker/secrets/secrets.go", old: "standing == plan.Recorded {", new: "standing != plan.Stranger {",
		pkg: "./worker", run: "^TestSecretsLeaveWhenTheDocumentIsRecorded$",
	},
	{
		name: "passwords are readable on the way", never: "who listens in between has the database",
		file: "plugin/postgres/access.go", old: "plain := config.TLSConfig == nil", new: "plain := false",
		pkg: tableTests, run: "^TestPasswordsDoNotGoReadablyToPublicAddresses$",
	},
	{
		name: "a part that is recorded is written again", never: "a commit whose answer was lost gives every row twice",
		file: "plugin/postgres/write.go", old: "if tag.RowsAffected() == 0 {", new: "if tag.RowsAffected() < 0 {",
		pkg: tableTests, run: "^TestCommitsWhoseReplyIsLost$",
	},
	{
		name: "a part may be another one than on record", never: "other rows pass for those that were written",
		file: "plugin/postgres/ledger.go", old: "bytes.Equal(e.sha256, part.SHA256[:])", new: "bytes.HasPrefix(e.sha256, nil)",
		pkg: tableTests, run: "^TestInsertTarget$",
	},
	{
		name: "nobody ends an attempt that stands still", never: "a part waits for a process that nobody waits for",
		file: "plugin/postgres/write.go", old: "if isLocked(err) {", new: "if isLocked(nil) {",
		pkg: tableTests, run: "^TestAnAttemptThatStandsStillIsEnded$",
	},
	{
		name: "an output can end while a part is written", never: "rows come into a table for a run that was given up",
		file: "plugin/postgres/write.go", old: `"for share")`, new: `"")`,
		pkg: tableTests, run: "^TestAZombieAfterDiscardWritesNothing$",
	},
	{
		name: "two rows are refused for one", never: "a good row is refused because its neighbour is bad", again: contagiousRow,
		file: "plugin/postgres/load.go", old: "case end-from == 1 ||", new: "case end-from <= 2 ||",
		pkg: tableTests, run: "^TestATableRefusesRowsAndNotParts$",
	},
	{
		name: "a deadlock refuses a row", never: "a row is in quarantine for what another transaction did",
		file: "plugin/postgres/reject.go", old: `case "08", "40",`, new: `case "40":` + "\n\t\treturn true\n\t" + `case "08",`,
		pkg: tableTests, run: "^TestIsAboutRow$",
	},
	{
		name: "the first of the rows with one key stays in an upsert", never: "an older value stays for a newer one",
		file: "plugin/postgres/merge.go", old: "%[3]s desc\"", new: "%[3]s asc\"",
		pkg: tableTests, run: "^TestOfRowsWithOneKeyTheFirstOrTheLastStays$",
	},
	{
		name: "nobody counts what COPY kept", never: "a trigger drops rows, and they pass for written",
		file: "plugin/postgres/load.go", old: "tag.RowsAffected() != int64(to-from)", new: "tag.RowsAffected() > int64(to-from)",
		pkg: tableTests, run: "^TestRowsThatATriggerDropsAreRefused$",
	},
	{
		name: "rows that were kept beside dropped ones are refused", never: "a row is in quarantine because its neighbour was dropped", again: contagiousRow,
		file: "plugin/postgres/load.go", old: "all: tag.RowsAffected() == 0", new: "all: tag.RowsAffected() >= 0",
		pkg: tableTests, run: "^TestRowsThatATriggerDropsAreRefused$",
	},
	{
		name: "nobody counts what an upsert changed", never: "a trigger drops a change, and the row passes for written",
		file: "plugin/postgres/merge.go", old: "RowsAffected() == keys {", new: "RowsAffected() <= keys {",
		pkg: tableTests, run: "^TestChangesThatATriggerDropsAreRefused$",
	},
	{
		name: "an upsert of new rows needs no index", never: "two rows have the key by which one was to replace the other",
		file: "plugin/postgres/load.go", old: "return t.checkKey(ctx, tx, h)", new: "return nil",
		pkg: tableTests, run: "^TestAnUpsertNeedsItsIndexToTheEnd$",
	},
	{
		name: "a partition may be elsewhere", never: "rows are written in another transaction than their entry",
		file: "plugin/postgres/prepare.go", old: "c.relkind = 'f'", new: "c.relkind = 'x'",
		pkg: tableTests, run: "^TestTablesThatWouldNotKeepRowsAreRefused$",
	},
	{
		name: "rows that were read before are not compared", never: "a run has rows of two moments",
		file: "plugin/postgres/reader.go", old: "!bytes.Equal(r.hash.Sum(nil), at.Digest)", new: "len(at.Digest) == 0",
		pkg: tableTests, run: "^TestARunSeesOneSnapshot$",
	},
	{
		name: "rows need no order", never: "nobody knows which rows come after an interruption",
		file: "plugin/postgres/reader.go", old: "same := r.last != nil", new: "same := false",
		pkg: tableTests, run: "^TestWhatCannotBeReadSaysWhyAndTheCure$",
	},
	{
		name: "a role's time zone counts", never: "one value has two records, and two hashes", again: twoTruths,
		file: "plugin/postgres/database.go", old: "set local timezone = 'UTC'; ", new: "",
		pkg: tableTests, run: "^TestEveryTypeIsReadAsJSONLinesWouldHoldIt$",
	},
	{
		name: "a query may write", never: "reading changes what is read",
		file: "plugin/postgres/source.go", old: "repeatable read read only", new: "repeatable read",
		pkg: tableTests, run: "^TestWhatCannotBeReadSaysWhyAndTheCure$",
	},
	{
		name: "a document may hold a password", never: "a password is recorded", again: leakedSecret,
		file: "pipeline/validate_postgres.go", old: "return found && password != \"\"", new: "return found && password == \"\"",
		pkg: "./pipeline", run: "^TestPasswordsAreNotWrittenIntoDocuments$",
	},
}
