package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// flow moves the chunks of one run: it reads them in order, sends several through the steps side by side, gives each part
// its place in its sink in chunk order, and lets no more than a window of chunks be on their way.
type flow struct {
	id     string
	state  *State
	going  int   // chunks on their way
	placed int64 // chunks before this ordinal have their places in the sinks
	err    error // the first failure; nothing new begins after it
}

func newFlow(id string, state *State) *flow {
	return &flow{id: id, state: state, placed: state.Chunk}
}

func (f *flow) progress() (Progress, error) { return f.state.Progress, nil }

// run reads to the end of the source, or until the history is long enough to be continued as new; then no chunk is on its
// way any more.
func (f *flow) run(ctx workflow.Context) error {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	for f.err == nil && !f.state.AtEnd && !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		if err := f.read(ctx); err != nil {
			f.fail(err)
		}
		if err := workflow.Await(ctx, func() bool { return f.going < windowChunks || f.err != nil }); err != nil {
			f.fail(err)
		}
	}
	if f.err != nil {
		cancel() // what is on its way need not be finished; what it has written is on record
	}
	drained, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(drained, func() bool { return f.going == 0 }); err != nil {
		f.fail(err)
	}
	return f.err
}

func (f *flow) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// read reads the next chunk and sends it on its way.
func (f *flow) read(ctx workflow.Context) error {
	chunk, source := f.state.Chunk, f.state.Plan.Source
	var read activities.ReadResult
	in := activities.ReadInput{Run: f.id, Source: source, Chunk: chunk, Cursor: f.state.Cursor}
	if err := workflow.ExecuteActivity(withActivity(ctx, "read %s · chunk %d", source, chunk), act.ReadChunk, in).Get(ctx, &read); err != nil {
		return err
	}
	f.state.Cursor = read.Cursor
	if read.Done {
		f.state.AtEnd = true
		return nil
	}
	f.state.Chunk++
	f.state.Read += int64(read.Rows)
	f.state.Bytes += read.Bytes
	f.going++
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := f.process(ctx, chunk, read.Rows); err != nil {
			f.fail(err)
		}
		f.going--
		workflow.SetCurrentDetails(ctx, f.details())
	})
	return nil
}

// process sends a chunk through the steps and writes its parts.
func (f *flow) process(ctx workflow.Context, chunk int64, rows int) error {
	source := f.state.Plan.Source
	if f.state.Plan.Ordered {
		if err := f.turn(ctx, chunk); err != nil {
			return err
		}
	}
	var result activities.ProcessResult
	in := activities.ProcessInput{Run: f.id, Source: source, Chunk: chunk}
	if err := workflow.ExecuteActivity(withActivity(ctx, "process %s · chunk %d · %d rows", source, chunk, rows), act.ProcessChunk, in).Get(ctx, &result); err != nil {
		return err
	}
	if err := f.turn(ctx, chunk); err != nil {
		return err
	}
	writes := f.place(ctx, chunk, result.Parts)
	f.placed++
	for _, write := range writes {
		if err := write.Get(ctx, nil); err != nil {
			return err
		}
	}
	f.state.Done += int64(result.Rows)
	f.state.Refused += int64(result.Refused)
	return nil
}

// turn waits until all earlier chunks have their places. It returns the error that ended the run, if one did.
func (f *flow) turn(ctx workflow.Context, chunk int64) error {
	if err := workflow.Await(ctx, func() bool { return f.placed == chunk || f.err != nil }); err != nil {
		return err
	}
	return f.err
}

// place gives every part its place behind the parts of earlier chunks and begins to write it there.
func (f *flow) place(ctx workflow.Context, chunk int64, parts []activities.PartSize) []workflow.Future {
	var writes []workflow.Future
	for _, part := range parts {
		output := f.output(part.Sink)
		in := activities.WriteInput{
			Run: f.id, Source: f.state.Plan.Source, Chunk: chunk, Sink: part.Sink, Ordinal: output.Ordinal, Offset: output.Offset,
		}
		output.Ordinal++
		output.Offset += part.Bytes
		output.Rows += part.Rows
		summary := withActivity(ctx, "write %s · chunk %d · %d rows", part.Sink, chunk, part.Rows)
		writes = append(writes, workflow.ExecuteActivity(summary, act.WriteChunk, in))
	}
	return writes
}

func (f *flow) output(sink string) *Output {
	for i := range f.state.Plan.Sinks {
		if f.state.Plan.Sinks[i].Name == sink {
			return &f.state.Outputs[i]
		}
	}
	panic("no sink named " + sink + " in the plan of run " + f.id)
}

// details is the table that Temporal's UI shows for the running workflow.
func (f *flow) details() string {
	table := fmt.Appendf(nil, "**%s** · %d rows read · %d done · %d refused\n\n| sink | rows | parts |\n|---|---|---|\n",
		f.state.Plan.Pipeline, f.state.Read, f.state.Done, f.state.Refused)
	for i, sink := range f.state.Plan.Sinks {
		table = fmt.Appendf(table, "| %s | %d | %d |\n", sink.Name, f.state.Outputs[i].Rows, f.state.Outputs[i].Ordinal)
	}
	return string(table)
}
