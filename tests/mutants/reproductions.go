package main

// reproductions is mutants of runs that are executed again.
var reproductions = []mutant{
	{
		name: "a reproduction compares no columns", never: "another result passes for the same",
		file: "landscape/compare_runs.go", old: "if !c.skip[i] && !equal(was[i], is[i]) {", new: "if false {",
		pkg: "./cmd/waymark", run: "^TestScripts$/^reproduce$", tier: night,
	},
	{
		name: "a reproduction does not end batches as the run did", never: "a run of which the clock ended batches passes for another one",
		file: "activities/recompute/rerun.go", old: "\t\tif ended {\n", new: "\t\tif ended && false {\n",
		pkg: "./cmd/waymark", run: "^TestScripts$/^reproduce$", tier: night,
	},
	{
		name: "a reproduction takes what a table refused", never: "rows are written on record that the table never took",
		file: "activities/recompute/rerun.go", old: "\tif err != nil || !is {\n", new: "\tif err != nil || is {\n",
		pkg: "./tests", run: "^TestAReproductionRefusesWhatATableRefused$",
	},
}
