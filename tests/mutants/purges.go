package main

// purges is mutants of what keeps payloads that runs need from being deleted.
var purges = []mutant{
	{
		name: "a payload that was deleted is not stored again", never: "a run refers to bytes that are gone",
		file: "landscape/purge.go", old: "\t\tif payloads, found = store(); found != nil {\n\t\t\treturn found\n\t\t}\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a deletion forgets holds", never: "evidence of a case is deleted",
		file: "landscape/sqlitestore/migrations/00001_landscape.sql", old: "and (\n    exists (select 1 from held_runs h where h.run_id = r.run_id)\n    or not exists (select 1 from purged_runs", new: "and (\n    not exists (select 1 from purged_runs",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a deletion forgets runs that were taken up", never: "a run goes on, and its records are gone",
		file: "landscape/sqlitestore/migrations/00001_landscape.sql",
		old:  " and p.class = f.class and p.epoch = r.epoch)))", new: " and p.class = f.class)))",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a chunk may refer to what is being deleted", never: "a worker relies on bytes that go a moment later",
		file: "landscape/sqlitestore/migrations/00001_landscape.sql",
		old:  "create trigger chunks_purged before insert on chunks\nwhen exists",
		new:  "create trigger chunks_purged before insert on chunks\nwhen 0 and exists",
		pkg:  "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a payload that was purged is missing", never: "an order looks like damage",
		file: "audit/verify.go", old: "\tcase errors.Is(err, payload.ErrPurged):\n\t\treturn PayloadPurged\n", new: "",
		pkg: "./cmd/waymark", run: "^TestScripts$/^purge$",
	},
	{
		name: "a payload that is missing passes for a purged one", never: "doctor run finds nothing wrong with a run whose records are gone",
		file: "client/local/diagnose_payloads.go", old: "errors.Is(err, payload.ErrPurged):", new: "errors.Is(err, payload.ErrNotFound):",
		pkg: "./cmd/waymark", run: "^TestScripts$/^diagnose$", tier: night,
	},
	{
		name: "rows that did not go through the steps are not searched", never: "a person is forgotten, and a run that failed has the record",
		file: "audit/find.go", old: "\t\tcase has(parsed, wanted):\n", new: "\t\tcase false:\n",
		pkg: "./cmd/waymark", run: "^TestScripts$/^subject$", tier: night,
	},
	{
		name:  "deliveries that wait are due like others",
		never: "only the record keeps a purge from deleting what somebody sent and no run has read",
		file:  "audit/retain/plan.go",
		old:   "case over && ruled && a.Changed", new: "case (over || ruled) && ruled && a.Changed",
		pkg: "./audit/retain", run: "^TestDeliveriesThatARunIsStillToReadStay$",
	},
	{
		name:  "a purge that several persons executed is refused when it is continued",
		never: "what a kill left of it is half done for ever",
		file:  "client/retention.go", old: "request.Continue == 0 && len(rules) > 0", new: "len(rules) > 0",
		pkg: "./client", run: "^TestAPurgeThatWasExecutedIsContinued$",
	},
	{
		name:  "orders to forget do not wait for each other",
		never: "rows of a person stay in a table, because what tells which ones they are was overwritten",
		file:  "audit/retain/forget.go", old: "work.erase, work.shared, work.blank", new: "work.erase, work.blank",
		pkg: "./audit/retain", run: "^TestForgettingTheSameRecords$",
	},
	{
		name: "the salt of a forgotten row is kept", never: "who guesses a row that was forgotten can prove the guess",
		file: "landscape/forget_begin.go", old: "\t\tsalts = salts.Without(leaf)\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestForgets$",
	},
	{
		name: "keys of forgotten rows stay", never: "a person who was forgotten is still found by name",
		file: "landscape/forget_blank.go", old: "b.rows, b.hashes, b.keys, b.errors", new: "b.rows, b.hashes, b.errors",
		pkg: "./landscape/sqlitestore", run: "^TestForgets$",
	},
	{
		name: "the records of forgotten rows stay in the packs", never: "a certificate says that a record is gone, and it is there",
		file: "activities/recompute/forget.go", old: "\t\tclear(pack.Data[pack.Offsets[i]:][:pack.Lens[i]])\n", new: "",
		pkg: "./cmd/waymark", run: "^TestScripts$/^forget$",
	},
	{
		name: "a hold does not keep rows from being forgotten", never: "evidence of a case is destroyed",
		file: "landscape/sqlitestore/migrations/00001_landscape.sql",
		old:  "create trigger forgotten_held before insert on forgotten\nwhen exists",
		new:  "create trigger forgotten_held before insert on forgotten\nwhen 0 and exists",
		pkg:  "./landscape/sqlitestore", run: "^TestForgets$",
	},
	{
		name: "a row that somebody edited is deleted", never: "what somebody else wrote into a table is gone with the person",
		file: "plugin/postgres/erase_key.go", old: "exactly(e.stored())", new: "exactly(e.wanted())",
		pkg: "./plugin/postgres", run: "^TestEraseByKey$",
	},
	{
		name: "a row that a later run wrote as well is deleted", never: "the rows of a run that is not forgotten are deleted",
		file: "plugin/postgres/erase_key.go", old: "\t\t\t\tk.outcomes[line] = plugin.RowReplaced\n", new: "\t\t\t\t_ = line\n",
		pkg: "./plugin/postgres", run: "^TestEraseWhatALaterRunWrote$",
	},
	{
		name: "what is gone by order is missing", never: "an order looks like damage",
		file: "audit/omissions.go", old: "\t\t\to.without[number] = plugin.Omission{Erased: true}\n", new: "",
		pkg: "./cmd/waymark", run: "^TestScripts$/^forget_tables$", tier: night,
	},
}
