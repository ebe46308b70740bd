package main

// policies is mutants of what keeps a run from publishing outputs.
var policies = []mutant{
	{
		name: "a policy without a value passes", never: "a rule that could not be read lets everything through",
		file: "activities/recompute/policies.go", old: "result.Result, result.Detail = landscape.PolicyError,", new: "result.Result, result.Detail = landscape.PolicyPassed,",
		pkg: "./activities", run: "^TestPoliciesFailClosed$",
	},
	{
		name: "a figure that is not known is 0", never: "a rule about a number that nobody counted holds by accident",
		file: "activities/recompute/policies.go", old: "\tif len(f.before) < n {\n\t\treturn row.NullValue()\n", new: "\tif len(f.before) < n {\n\t\treturn row.FloatValue(0)\n",
		pkg: "./activities", run: "^TestPoliciesFailClosed$",
	},
	{
		name: "nothing asks policies before outputs are published", never: "the run is blocked when everybody has its outputs",
		file: "activities/publish.go", old: "\treturn a.policies(ctx, r)\n", new: "\treturn nil\n",
		pkg: "./activities", run: "^TestAPolicyKeepsEverySinkBack$",
	},
	{
		name: "a run is complete whatever its policies say", never: "a process that does not know policies completes a run past them",
		file: "landscape/sweep/chunks.go", old: "where p.run_id = $1 and p.gate = 'publish'", new: "where p.run_id = $1 and p.gate = 'none'",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/Policies",
	},
}
