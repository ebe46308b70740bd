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
		file: "activities/publish.go", old: "if err := a.policies(ctx, r); err != nil {", new: "if err := ctx.Err(); err != nil {",
		pkg: "./activities", run: "^TestAPolicyKeepsEverySinkBack$",
	},
	{
		name: "a run is complete whatever its policies say", never: "a process that does not know policies completes a run past them",
		file: "landscape/sweep/chunks.go", old: "where p.run_id = $1 and p.gate = 'publish'", new: "where p.run_id = $1 and p.gate = 'none'",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/Policies",
	},
}

// totals is mutants of amounts that are added up.
var totals = []mutant{
	{
		name: "an amount that cannot be read is 0", never: "sums are equal because nobody could read what is missing",
		file: "engine/totals.go", old: "		case unreadable:\n			way.sums[i].Unreadable++\n", new: "",
		pkg: "./engine", run: "^TestTotalsOfEveryWay$",
	},
	{
		name: "what a step made null is not counted", never: "an amount that a step loses looks like one that it lowers",
		file: "landscape/totals.go", old: "\t\t\ta.after += now.unreadable\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$",
	},
	{
		name: "sums prove something although amounts are unreadable", never: "a rule about money holds because some of it is not counted",
		file: "activities/recompute/policies.go", old: "	if f.hides(names) {", new: "	if false {",
		pkg: "./activities", run: "^TestSumsFailClosed$",
	},
	{
		name: "verify looks only for the sums that it has itself", never: "somebody adds an amount to a run, with its seal, and policies count it",
		file: "landscape/query_verify.go", old: `"way_totals": 3, `, new: "",
		pkg: "./audit", run: "^TestVerifyAddsUpAgain$",
	},
	{
		name: "what a table refused counts as delivered", never: "money in = money out holds, and a payment is in quarantine",
		file: "landscape/totals.go", old: "\t\t\ta.out.Subtract(late.all)\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$",
	},
	{
		name: "a renamed field is lost", never: "a step doubles the money under another name, and the account says that nothing changed",
		file: "engine/plan/totals.go", old: "			s.names[field] = to\n", new: "			s.names[field] = to[:0]\n",
		pkg: "./engine", run: "^TestTotalsOfEveryWay$",
	},
}
