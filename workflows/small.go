package workflows

import (
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// passSmall lets one activity read what the sources hold, send it through the steps and write what comes out. If a
// source holds more than was expected, the rest is left.
func (f *flow) passSmall(ctx workflow.Context) error {
	var did activities.SmallRunResult
	in := activities.SmallRunInput{Run: f.id, State: f.state.State}
	schedule := func(ctx workflow.Context) workflow.Future { return f.perform(ctx, f.state.Sticky, act.SmallRun, in) }
	if err := local(ctx, "read, process and write everything", act.SmallRun, in, &did, schedule); err != nil {
		return err
	}
	for _, read := range did.Reads {
		f.wasRead(f.state.Next(), read.Out)
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
