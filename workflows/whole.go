package workflows

import (
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// whole reports whether the run is read, processed and written in one activity, and published and concluded in another
// one, because it holds little.
func (s *State) whole() bool { return s.Plan.Whole && s.Redo == nil }

// passWhole reads what the sources hold, sends it through the steps and writes what comes out, in one activity. If a source holds more than was expected,
// the rest is left.
func (f *flow) passWhole(ctx workflow.Context) error {
	var did activities.SmallResult
	in := activities.SmallInput{Run: f.id, State: f.state.State}
	const summary = "read, process and write everything"
	here := activities.Here[activities.SmallInput]{Queue: f.state.Plan.Queue, In: in}
	done, err := within(ctx, summary, act.PassSmallHere, here, &did)
	if !done {
		err = f.perform(withActivity(ctx, summary), f.state.Home, act.PassSmall, in).Get(ctx, &did)
	}
	if err != nil {
		return err
	}
	for _, read := range did.Reads {
		f.at(read.Out.Worker)
		source := f.state.Next()
		source.Cursor, source.AtEnd = read.Out.Cursor, read.Out.Done
		if !read.Out.Done {
			source.Chunk++
			f.state.Read += int64(read.Out.Rows)
			f.state.Bytes += read.Out.Bytes
		}
	}
	for _, passed := range did.Passes {
		f.place(passed.In, passed.Out)
		f.state.Done += int64(passed.Out.Rows)
		f.state.Refused += int64(passed.Out.Refused)
	}
	for _, written := range did.Writes {
		f.state.Refused += written.Out.Refused
	}
	f.turns, f.passed = f.state.chunks(), f.state.chunks()
	f.show(ctx)
	return nil
}

// concludeWhole publishes every sink and concludes the run.
func concludeWhole(ctx workflow.Context, in RunInput) (RunResult, error) {
	in.State.Joiners = joiners(ctx, in.State)
	concluded := activities.ConcludeInput{FinishInput: activities.FinishInput{Run: in.Run, Epoch: in.epoch(), Joiners: in.State.Joiners}}
	for _, sink := range in.State.Plan.Sinks {
		concluded.Sinks = append(concluded.Sinks, sink.Name)
	}
	var finished activities.FinishResult
	const summary = "publish, balance and conclude"
	here := activities.Here[activities.ConcludeInput]{Queue: in.queue(), In: concluded}
	done, err := within(ctx, summary, act.ConcludeRunHere, here, &finished)
	if !done {
		err = workflow.ExecuteActivity(onQueue(withActivity(ctx, summary), in.queue()), act.ConcludeRun, concluded).Get(ctx, &finished)
	}
	if err != nil {
		return RunResult{}, err
	}
	return in.finished(ctx, finished), nil
}
