package main

// Tests of what happens to runs that are resumed.
const (
	sinksTest  = "^TestEverySubsetOfSinksFailsAtEveryChunk$"
	deathsTest = "^TestARunDiesAtEveryDeed$"
	ticksTest  = "^TestDeadlineOrderOverExecutions$"
)

// seldom is for tests in which runs die at many deeds: some of them suffice.
var seldom = []string{"-step=20"}

// resumes is mutants of how a run is resumed.
var resumes = []mutant{
	{
		name: "one watermark for all sinks", never: "the rows that a sink missed when it failed are never written to it", again: oneWatermark,
		file: "activities/resumepoint/recorded.go", old: "if effect.State != landscape.Finalized {", new: "if effect.State != landscape.Finalized && effect.Sink == chunk.effects[0].Sink {",
		pkg: "./tests/resume", run: sinksTest,
	},
	{
		name: "an effect that is in flight passes for a finalized one", never: "a part that nobody confirmed is not written again", again: earlyCompletion,
		file: "activities/resumepoint/recorded.go", old: "if effect.State != landscape.Finalized {", new: "if effect.State == landscape.Prepared {",
		pkg: "./tests/resume", run: sinksTest,
	},
	{
		name: "a part is complete before the target confirmed it", never: "the record says that rows are delivered, and they are not", again: earlyCompletion,
		file: "activities/write.go", old: "if err := a.apply(ctx, r, target, effect); err != nil {",
		new: "_ = a.log.FinalizeEffect(ctx, effect.Attempt(a.worker), landscape.PartReceipt(effect))\n" +
			"\tif err := a.apply(ctx, r, target, effect); err != nil {",
		pkg: "./tests/resume", run: sinksTest,
	},
	{
		name: "who knows an effect as it was takes it for what it is", never: "an attempt that counts is refused as a late one",
		file: "landscape/recent.go", old: "ok && e.Fence == by.Fence {", new: "ok {",
		pkg: "./landscape", run: "^TestWhatOthersDoIsSeen$",
	},
	{
		name: "nobody asks a target about an earlier attempt", never: "rows are written twice where a repeat is not harmless",
		file: "activities/write.go", old: "if effect.Fence > 1 {", new: "if effect.Fence > 1 && false {",
		pkg: "./tests/resume", run: sinksTest,
	},
	{
		name: "a sink that has parts is opened anew", never: "what a sink has is thrown away when its run is resumed", again: oneWatermark,
		file: "landscape/query.go", old: "attempted = e.Fence > 0", new: "attempted = e.Fence > 0 && false",
		pkg: "./tests/resume", run: sinksTest,
	},
	{
		name: "an epoch guards nothing", never: "a process that was away writes into the run of another one",
		file: "landscape/sqlitestore/guard.go", old: "case epoch != p.guard.Epoch:", new: "case epoch < p.guard.Epoch:",
		pkg: "./tests/resume", run: "^TestAttemptsOfBeforeChangeNothing$",
	},
	{
		name: "an epoch belongs to whoever works in it", never: "an execution that was reset works beside one that took the run up",
		file: "activities/owner.go", old: "if err := a.inherit(ctx, run, epoch, owners); err != nil {", new: "if err := a.inherit(ctx, run, epoch, owners); err != nil && false {",
		pkg: "./tests", run: "^TestAResetRunGoesOnFromItsRecord$",
	},
	{
		name: "a run on record is begun a second time", never: "a service that tries again publishes again",
		file: "activities/open.go", old: "\t\terr = a.begun(ctx, in, from)\n", new: "\t\terr = nil\n",
		pkg: "./tests", run: "^TestARunIsBegunOnce$",
	},
	{
		name: "a state is believed from anybody", never: "a copied input makes a second executor of a run",
		file: "workflows/input.go", old: "\tif !handed {", new: "\tif handed {",
		pkg: "./workflows", run: "^TestInvalidInputDoesNothing$",
	},
	{
		name: "a fold has another moment when it is done again", never: "a batch that fired fires at another time, with other rows",
		file: "activities/fold.go", old: "in.At, f.repeats = int64(record.At), true", new: "f.repeats = record.At > 0",
		pkg: "./tests/resume", run: ticksTest, tier: night,
	},
	{
		name: "a fold may come before the one before it", never: "a clock that was set back fails a run for as long",
		file: "activities/fold.go", old: "f.in.At = max(f.in.At, f.held.at)", new: "f.held.at = f.in.At",
		pkg: "./activities", run: "^TestNoBatchFiresBeforeItIsOpened$",
	},
	{
		name: "deadlines that were acted on are forgotten", never: "a run that was resumed decides otherwise than it did", again: forgottenHolding,
		file: "activities/resumepoint/count.go", old: "w.Redo.Ticks = append(w.Redo.Ticks, tick.Tick)", new: "_ = tick",
		pkg: "./tests/resume", run: ticksTest, tier: night,
	},
	{
		name: "a barrier of a run that is resumed starts empty", never: "rows that waited when a process died are lost", again: forgottenHolding,
		file: "activities/fold.go", old: "if saved.Digest != \"\" {", new: "if saved.Digest != \"\" && f.in.Epoch == 0 {",
		pkg: "./tests/resume", run: deathsTest, flags: seldom, tier: night,
	},
	{
		name: "a source is read on from its beginning", never: "rows are read twice when a run is resumed",
		file: "activities/resumepoint/count.go", old: "source.Cursor = end\n", new: "_ = end\n",
		pkg: "./tests/resume", run: deathsTest, flags: seldom, tier: night,
	},
	{
		name: "rows that came out of a barrier are counted before they went on", never: "rows of a batch are lost when a process dies behind it", again: forgottenHolding,
		file: "activities/resumepoint/recorded.go", old: "!taken || !d.cameOut(barrier, fold)", new: "!taken && !d.cameOut(barrier, fold)",
		pkg: "./tests/resume", run: deathsTest, flags: seldom, tier: night,
	},
	{
		name: "a run that cannot be resumed is stopped", never: "a refusal changes the run that it is about",
		file: "activities/finish.go",
		old: "err == nil && on.Epoch < in.Epoch:\n\t\treturn a.labels(ctx), a.forget(in.Run)\n" +
			"\t}\n\tif err == nil {\n",
		new: "err == nil && on.Epoch < 0:\n\t\treturn a.labels(ctx), a.forget(in.Run)\n" +
			"\t}\n\tif err == nil && on.Epoch >= in.Epoch {\n",
		pkg: "./tests/resume", run: "^TestARefusedResumeWritesNothing$",
	},
	{
		name: "an order is recorded by every attempt", never: "the record says that somebody cancelled a run twice",
		file: "landscape/run.go", old: "a.Why == why && a.At >= since {", new: "a.Why == why && a.At >= since && false {",
		pkg: "./tests/resume", run: "^TestAnOrderIsOnRecordOnce$",
	},
	{
		name: "a paused run reads on", never: "somebody pauses a run to save what is left, and it continues",
		file: "workflows/flow.go", old: "f.inFlight < f.window() && f.state.Paused == nil", new: "f.inFlight < f.window()",
		pkg: "./tests/resume", run: "^TestAPausedRunBeginsNothing$",
	},
	{
		name: "a paused run empties its barriers", never: "somebody pauses a run before its sums are made, and they are made",
		file: "workflows/barriers.go", old: "if err := f.unpaused(ctx); err != nil || !f.running() {", new: "if err := error(nil); err != nil || !f.running() {",
		pkg: "./tests/resume", run: "^TestAPausedRunBeginsNothing$",
	},
}

// epochs is mutants of who may write into the record of a run, and when it may be resumed.
var epochs = []mutant{
	{
		name: "commits of an epoch are not guarded", never: "a process that was away writes into the run of another one",
		file: "landscape/epoch.go", old: "\ttx.Guard = &Guard{Run: g.guard.Run, Epoch: g.guard.Epoch, Running: true}\n", new: "\ttx.Guard = nil\n",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Guards$",
	},
	{
		name: "a guard is not looked at within the transaction", never: "a run is resumed between the look and the write",
		file: "landscape/sqlitestore/commit.go", old: "err := w.pass.check(ctx, tx)", new: "err := ctx.Err()",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Guards$",
	},
	{
		name: "an epoch may be claimed by two", never: "two processes continue with one run",
		file: "landscape/run_resume.go", old: "winner.Claim != r.Claim", new: "false",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Resume$",
	},
	{
		name: "a run that was ended permanently is resumed", never: "a run continues of which the outputs were given up",
		file: "landscape/run_resume.go", old: "case h.Final:", new: "case false:",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Resume$",
	},
	{
		name: "a run with a blocked effect is resumed", never: "a run continues as if somebody had looked at the target",
		file: "landscape/run_resume.go", old: "if err == nil && why != \"\" {", new: "if err == nil && why != \"\" && false {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Resolve$",
	},
	{
		name: "what a person said of one attempt counts for others", never: "a part is written twice",
		file: "landscape/resolve.go", old: "fence-1)", new: "fence)",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Resolve$",
	},
	{
		name: "an attempt that is not the latest may finish", never: "an attempt that comes late says that a part is delivered", again: earlyCompletion,
		file: "landscape/effect.go", old: "if old.Fence == by.Fence && old.Fence > 0 {", new: "if old.Fence >= by.Fence && old.Fence > 0 {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Effects$",
	},
	{
		name: "an output is published before its parts are written", never: "a run is complete and rows of its outputs are missing", again: earlyCompletion,
		file: "landscape/publish.go", old: "if e.Kind == WriteEffect && e.State != Finalized {", new: "if e.Kind == WriteEffect && e.State == Blocked {",
		pkg: "./landscape/sqlitestore", run: "^TestDriver$/^Effects$",
	},
	{
		name: "a target that cannot tell is taken at its word", never: "a part is written twice, or not at all",
		file: "activities/write.go", old: "if answer == plugin.Unknown {", new: "if answer == plugin.Unknown && false {",
		pkg: "./activities", run: "^TestTargetThatCannotTellBlocksTheEffect$",
	},
	{
		name: "a second process may work in the state folder", never: "two processes continue with one run",
		file: "internal/temporal/embedded/lock.go", old: "err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)", new: "err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)",
		pkg: "./internal/temporal/embedded", run: "^TestOneServer$",
	},
	{
		name: "an order is obeyed before it is recorded", never: "a run stands still and the record does not say who wanted it",
		file: "workflows/commands.go",
		old:  "if err := local(ctx, summary, act.RecordAction, action, &labelled, schedule); err != nil {\n\t\treturn err\n\t}\n",
		new:  "_ = local(ctx, summary, act.RecordAction, action, &labelled, schedule)\n",
		pkg:  "./workflows", run: "^TestAnOrderThatIsNotOnRecordIsNotObeyed$",
	},
	{
		name: "a full disk is a failure", never: "a run gives up because somebody was slow to make space",
		file: "activities/attempt.go", old: "if !Full(err) {", new: "if true {",
		pkg: "./activities", run: "^TestAFullDiskIsWaitedFor$",
	},
	{
		name: "a full quota is no full disk", never: "a run gives up because somebody was slow to make space",
		file: "activities/attempt.go", old: "errors.Is(err, syscall.EDQUOT)", new: "false",
		pkg: "./activities", run: "^TestAFullDiskIsWaitedFor$",
	},
	{
		name: "a landscape that is full is not told from a broken one", never: "a run gives up because somebody was slow to make space",
		file: "landscape/sqlitestore/errors.go", old: "\tcase sqlite3.SQLITE_FULL:\n\t\treturn noSpace(path, e)\n", new: "",
		pkg: "./landscape/sqlitestore", run: "^TestFullDisk$",
	},
}

// refusals is mutants of what a run refuses to do because something changed.
var refusals = []mutant{
	{
		name: "a source that changed is no reason to refuse", never: "half of a run is of one file, half of another",
		file: "activities/resume.go", old: "then := r.pins[node.Name]; !reflect.DeepEqual(now, then)", new: "then := r.pins[node.Name]; !reflect.DeepEqual(now, then) && false",
		pkg: "./tests/resume", run: "^TestARefusedResumeWritesNothing$",
	},
	{
		name: "a plan that changed is no reason to refuse", never: "half of a run is of one plan, half of another",
		file: "activities/runs.go", old: "digest != record.PlanSHA256 {", new: "digest != record.PlanSHA256 && false {",
		pkg: "./activities", run: "^TestPlanThatChangesUnderARun$",
	},
	{
		name: "another version of a plugin is the same plan", never: "half of a run is of one parser, half of another",
		file: "activities/runs.go", old: "digest != record.PlanSHA256 {", new: "digest != record.PlanSHA256 && len(compiled.JSON()) == len(record.Plan) {",
		pkg: "./activities", run: "^TestResumeNeedsSamePluginVersion$",
	},
	{
		name: "chunks need not begin where the ones before end", never: "a history continues with a record that is not its own, and rows are lost",
		file: "activities/read.go", old: "if !reflect.DeepEqual(at, in.Cursor) {", new: "if !reflect.DeepEqual(at, in.Cursor) && false {",
		pkg: "./activities", run: "^TestContradictingHistoryWritesNothing$",
	},
	{
		name: "the chunk before need not be recorded", never: "a history continues with an older record, and rows are lost",
		file: "activities/read.go", old: "if in.Chunk > 0 {", new: "if in.Chunk > 1<<40 {",
		pkg: "./activities", run: "^TestContradictingHistoryWritesNothing$",
	},
	{
		name: "where chunks end is not checked against the history", never: "a run continues with the record of another copy",
		file: "workflows/recovery/record.go", old: "if !reflect.DeepEqual(at, end) {", new: "if !reflect.DeepEqual(at, end) && false {",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
	{
		name: "chunks that went through the steps are not checked against the history", never: "a run continues with an older record",
		file: "workflows/recovery/compare.go", old: "if !passed[in.Chunk] {", new: "if !passed[in.Chunk] && false {",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
	{
		name: "parts that were written are not checked against the history", never: "parts are written a second time on the word of an older record",
		file: "workflows/recovery/compare.go", old: "effect.State != landscape.Finalized || ", new: "",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
	{
		name: "the state that a history began with is not checked against the record", never: "a run that continued as new continues with an older record",
		file: "workflows/recovery/compare.go", old: "if source.Chunk == 0 {", new: "if source.Chunk >= 0 {",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
	{
		name: "folds are not checked against the history", never: "a barrier continues without rows that it had",
		file: "workflows/recovery/compare.go", old: "err == nil && found < folds", new: "err == nil && found < folds && false",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
	{
		name: "outputs are not checked against the history", never: "an output is published a second time on the word of an older record",
		file: "workflows/recovery/compare.go", old: "err == nil && !published[in.Sink]", new: "err == nil && !published[in.Sink] && false",
		pkg: "./workflows/recovery", run: "^TestContradictions$",
	},
}

// retries is mutants of how refused records are retried.
var retries = []mutant{
	{
		name: "a record of which a branch arrived is retried", never: "a row is in the outputs twice",
		file: "activities/retry.go", old: "case wentOn:\n\t\treturn", new: "case wentOn && false:\n\t\treturn",
		pkg: "./tests/resume", run: "^TestRetryLeavesArrivedBranches$",
	},
	{
		name: "nobody asks which records others retry", never: "a refused record is retried twice",
		file: "activities/retry.go", old: "if row.Run != f.run {", new: "if row.Run != f.run && false {",
		pkg: "./activities", run: "^TestASecondRetryFindsNothingLeft$",
	},
	{
		name: "what is too large is parsed as it is", never: "half of a record passes for a whole one",
		file: "activities/retry_source.go", old: "mark.Code == plugin.RowTooLarge", new: "mark.Code == plugin.RowTooLarge && false",
		pkg: "./tests/resume", run: "^TestAmbiguousRecordsAreParsedAgain$",
	},
	{
		name: "verify does not look where a record that is retried was", never: "a record passes for another one",
		file: "audit/verify_retry.go", old: "placed(record, now, i) != placed(", new: "false && placed(record, now, i) != placed(",
		pkg: "./tests/resume", run: "^TestVerifyFindsWhatIsNotWhatWasFedAgain$",
	},
	{
		name: "what a small run did is not compared with the record", never: "a run continues on a record that somebody put back",
		file: "workflows/recovery/compare.go", old: "return compare(ctx, r, input, result, r.holdsSmall)", new: "return nil",
		pkg: "./workflows/recovery", run: "",
	},
	{
		name: "a run with values that must be unique is done as a whole", never: "a value comes twice",
		file: "activities/resumepoint/plan.go", old: "out.Spread() &&", new: "out.Barriers == nil &&",
		pkg: "./activities", run: "^TestWhatIsSmall$",
	},
}
