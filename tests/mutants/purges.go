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
		file: "landscape/sqlitestore/schema.sql", old: "    exists (select 1 from held_runs h where h.run_id = r.run_id)\n    or not exists (", new: "    not exists (",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a deletion forgets runs that were taken up", never: "a run goes on, and its records are gone",
		file: "landscape/sqlitestore/schema.sql", old: " and p.class = f.class and p.epoch = r.epoch)))", new: " and p.class = f.class)))",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a chunk may refer to what is being deleted", never: "a worker relies on bytes that go a moment later",
		file: "landscape/sqlitestore/schema.sql", old: "CREATE TRIGGER chunks_purged before insert on chunks\nwhen exists", new: "CREATE TRIGGER chunks_purged before insert on chunks\nwhen 0 and exists",
		pkg: "./landscape/sqlitestore", run: "^TestPurges$",
	},
	{
		name: "a payload that was purged is missing", never: "an order looks like damage",
		file: "audit/verify.go", old: "\tcase errors.Is(err, payload.ErrPurged):\n\t\treturn PayloadPurged\n", new: "",
		pkg: "./cmd/waymark", run: "^TestScripts$/^purge$",
	},
}
