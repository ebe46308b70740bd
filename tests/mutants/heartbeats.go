package main

// heartbeats is mutants of what keeps a busy machine, a silent Temporal and a suspended process from losing work.
var heartbeats = []mutant{
	{
		name: "a heartbeat that gets lost cancels its activity", never: "a busy machine throws all its work away",
		file: "internal/temporal/beat/beat.go",
		old:  "RecordActivityTaskHeartbeat_FullMethodName && lost(err)",
		new:  "RecordActivityTaskHeartbeat_FullMethodName && false",
		pkg:  "./internal/temporal/beat", run: "^TestTolerate$",
	},
	{
		name: "work ends with its attempt", never: "a laptop that was closed computes everything again",
		file: "activities/flight.go",
		old:  "	if !lostSight(ctx, cause) ||", new: "	if true ||",
		pkg: "./activities", run: "^TestWorkOutlastsAnAttemptThatIsGivenUp$",
	},
	{
		name:  "an attempt computes what another one does",
		never: "each attempt of a slow chunk makes the machine slower",
		file:  "activities/flight.go",
		old:   "if there := f.open[t]; there != nil {", new: "if there := f.open[t]; there != nil && false {",
		pkg: "./activities", run: "^TestWorkOutlastsAnAttemptThatIsGivenUp$",
	},
	{
		name: "work goes on after its execution", never: "a run that was cancelled works for two more minutes",
		file: "activities/flight.go",
		old:  "lostSight(ctx, cause) || f.noMore(ctx, cause)", new: "lostSight(ctx, cause)",
		pkg: "./activities", run: "^TestWorkEndsWhenItIsOrderedTo$",
	},
	{
		name: "a stop waits for the work of its run", never: "cancelling a run takes as long as its silent source",
		file: "activities/flight.go", old: "			flown.cancel(errStopping)", new: "			_ = flown",
		pkg: "./activities", run: "^TestWorkEndsWhenItsRunStops$",
	},
	{
		name: "a result is for all that is scheduled", never: "a run that waits for places waits forever",
		file: "activities/flight.go",
		old:  "if slices.Contains(f.askers, me) {", new: "if slices.Contains(f.askers, me) || true {",
		pkg: "./activities", run: "^Test(ResultsAreForWhatWasScheduled|ActivityTakesTheResultOfWhatTookTooLong)$",
	},
	{
		name: "a pass hears of no order to stop", never: "a run that was cancelled keeps the machine busy",
		file: "engine/pace.go", old: "if p.in.Stop != nil {", new: "if false {",
		pkg: "./engine", run: "^TestAPassStops$",
	},
}
