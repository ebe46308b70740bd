package main

// retention has mutants of what is deleted by configured periods.
var retention = []mutant{
	{
		name: "a document does not lengthen a period", never: "records are deleted that a document keeps longer",
		file: "audit/retain/periods.go", old: "rules[class] = max(keep, document[class])", new: "rules[class] = keep",
		pkg: "./audit/retain", run: "^TestAMonthOfLife$",
	},
	{
		name:  "shorter periods count before anybody approves them",
		never: "one person deletes what several must decide about",
		file:  "landscape/retention.go", old: "if p.InForce = err == nil; !p.InForce && !waits {",
		new: "if p.InForce = true; !p.InForce && !waits {",
		pkg: "./audit/retain", run: "^TestPeriodsAreShortened$",
	},
	{
		name: "events of a run that is held are dropped", never: "a hold does not win",
		file: "audit/retain/keeper.go", old: "case t.held(run):", new: "case false:",
		pkg: "./audit/retain", run: "^TestAMonthOfLife$",
	},
	{
		name:  "staged output of a run that can be resumed is deleted",
		never: "a run that is resumed misses what it wrote",
		file:  "audit/retain/keeper.go", old: "if err != nil || purged == nil {",
		new: "if err != nil || purged == nil && false {",
		pkg: "./audit/retain", run: "^TestStagedOutputOfDeadRuns$",
	},
	{
		name: "two processes have the turn", never: "all workers delete at once",
		file: "worker/daemon/retention.go", old: "return w.alone || w.mine || now.Sub(w.since) >= attestLease, nil",
		new: "return true, nil",
		pkg: "./worker/daemon", run: "^TestOneProcessDeletesWhatIsDue$",
	},
}
