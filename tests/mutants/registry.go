package main

// registry is mutants of which version of a deployed pipeline runs.
var registry = []mutant{
	{
		name: "a rollback takes the highest version", never: "a rollback makes the broken version current again",
		file: "landscape/redeploy.go", old: "return current[len(current)-2]", new: "return max(current[len(current)-2], current[len(current)-1])",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Redeployments$",
	},
	{
		name: "a second rollback undoes the first", never: "at night somebody goes back to the version that failed first",
		file: "landscape/redeploy.go", old: "if d.Action == Rollback {", new: "if false {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Redeployments$",
	},
	{
		name: "retired is not checked", never: "a retired pipeline runs",
		file: "landscape/registry.go", old: "case current.Retired():", new: "case false:",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Redeployments$",
	},
	{
		name: "a run is of the worker's environment, whatever its input says", never: "a run for the test writes to production",
		file: "activities/deployed.go", old: "return cmp.Or(in.Environment, a.ownEnvironment())", new: "return a.ownEnvironment()",
		pkg: "./tests", run: "^TestARunIsOfAnEnvironment$",
	},
	{
		name: "a resumed run takes the values that are in force", never: "half of an output is of one region, and half of another",
		file: "activities/recompute/request.go", old: "log.Environment(ctx, run.Environment, run.EnvironmentSeq)", new: "log.LastEnvironment(ctx, run.Environment)",
		pkg: "./cmd/waymark", run: "^TestScripts$/^env$", tier: night,
	},
	{
		name: "a password becomes a value of an environment", never: "everybody who reads the record reads the password",
		file: "client/environment.go", old: "case pipeline.SecretName(name):", new: "case false:",
		pkg: "./cmd/waymark", run: "^TestScripts$/^env$", tier: night,
	},
	{
		name: "a trial compares a run with itself", never: "a version that loses rows is deployed, because its trial showed no difference",
		file: "audit/trial.go", old: "next, err = t.nextThere.Run(in)", new: "next, err = t.wasThere.Run(in)",
		pkg: "./audit", run: "^TestTry$",
	},
	{
		name: "a trial does not look into the sinks", never: "a version writes other values, and its trial showed no difference",
		file: "audit/trial.go", old: "&& len(t.otherSinks(was, next)) == 0 {", new: "{",
		pkg: "./audit", run: "^TestTry$",
	},
	{
		name: "any version runs in any environment", never: "a version that nobody promoted runs in production",
		file: "landscape/registry.go", old: "err == nil && !there {", new: "err == nil && false && there {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Redeployments$",
	},
}
