package activities

import (
	"context"
	"slices"

	"waymark/activities/resumepoint"
)

// A run whose sources hold little does in two activities what others do in many: to schedule one takes Temporal longer than to do it. Each does what the
// activities for one chunk, part or output do, in the same order, with the same record: a run that dies in one of them is resumed from its record like any other.

// SmallInput says where a run stands that holds little.
type SmallInput struct {
	Run   string            `json:"run"`
	State resumepoint.State `json:"state"`
}

// SmallResult is what PassSmall did, in order.
type SmallResult struct {
	Reads  []Deed[ReadInput, ReadResult]       `json:"reads,omitempty"`
	Passes []Deed[ProcessInput, ProcessResult] `json:"passes,omitempty"`
	Writes []Deed[WriteInput, WriteResult]     `json:"writes,omitempty"`
}

// Deed is something that an activity did, and what the activity for it alone would have been asked and answered.
type Deed[In, Out any] struct {
	In  In  `json:"in"`
	Out Out `json:"out"`
}

// mostReads bounds PassSmall: what is begun must be finished before an order counts. A source that holds more than was expected is left to other activities.
const mostReads = 32

// PassSmall reads the sources of a run that holds little, sends what they hold through the steps, and writes what comes out.
//
// It may run twice, as ReadChunk, ProcessChunk and WriteChunk may.
func (a *Activities) PassSmall(ctx context.Context, in SmallInput) (SmallResult, error) {
	return attempt(ctx, a, in.Run, in.State.Epoch, in, (*Activities).passSmall)
}

func (a *Activities) passSmall(ctx context.Context, in SmallInput) (did SmallResult, err error) {
	state := in.State // what it leads to is not changed: the same may be done again
	state.Sources, state.Outputs = slices.Clone(state.Sources), slices.Clone(state.Outputs)
	for range mostReads {
		source := state.Next()
		if source == nil {
			break
		}
		read := ReadInput{Run: in.Run, Epoch: state.Epoch, Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
		found, err := a.readChunk(ctx, read)
		if err != nil {
			return did, err
		}
		did.Reads = append(did.Reads, Deed[ReadInput, ReadResult]{read, found})
		source.Cursor, source.AtEnd = found.Cursor, found.Done
		if found.Done {
			continue
		}
		source.Chunk++
		if err := a.passOne(ctx, &state, &did, ProcessInput{Run: in.Run, Epoch: state.Epoch, Source: read.Source, Chunk: read.Chunk}); err != nil {
			return did, err
		}
	}
	return did, nil
}

// passOne sends a chunk that was read through the steps, and writes its parts to their places.
func (a *Activities) passOne(ctx context.Context, state *resumepoint.State, did *SmallResult, chunk ProcessInput) error {
	passed, err := a.processChunk(ctx, chunk)
	if err != nil {
		return err
	}
	did.Passes = append(did.Passes, Deed[ProcessInput, ProcessResult]{chunk, passed})
	for _, part := range passed.Parts {
		place := state.Place(part.Sink, part.Rows, part.Bytes)
		write := WriteInput{
			Run: chunk.Run, Epoch: chunk.Epoch, Source: chunk.Source, Chunk: chunk.Chunk, Sink: part.Sink, Ordinal: place.Ordinal, Offset: place.Offset,
		}
		written, err := a.writeChunk(ctx, write)
		if err != nil {
			return err
		}
		did.Writes = append(did.Writes, Deed[WriteInput, WriteResult]{write, written})
	}
	return nil
}

// ConcludeInput says which run is to be concluded.
type ConcludeInput struct {
	FinishInput
	Sinks []string `json:"sinks"` // that are published first
}

// ConcludeRun publishes the outputs of a run that holds little, and concludes it.
//
// It may run twice, as PublishSink and FinishRun may.
func (a *Activities) ConcludeRun(ctx context.Context, in ConcludeInput) (FinishResult, error) {
	conclude := func(a *Activities, ctx context.Context, in ConcludeInput) (FinishResult, error) {
		failed := make([]error, len(in.Sinks))
		for i, sink := range in.Sinks {
			failed[i] = a.publishSink(ctx, SinkInput{Run: in.Run, Epoch: in.Epoch, Sink: sink})
		}
		if err := joined(failed); err != nil {
			return FinishResult{}, err
		}
		return a.finishRun(ctx, in.FinishInput)
	}
	return attempt(ctx, a, in.Run, in.Epoch, in, conclude)
}
