package activities

import (
	"context"
	"slices"

	"waymark/activities/resumepoint"
)

// SmallRunInput says where a run stands that holds little.
type SmallRunInput struct {
	Run   string            `json:"run"`
	State resumepoint.State `json:"state"`
}

// SmallRunResult is what SmallRun did, in order.
type SmallRunResult struct {
	Reads  []Done[ReadInput, ReadResult]   `json:"reads,omitempty"`
	Passes []Done[PassInput, PassResult]   `json:"passes,omitempty"`
	Writes []Done[WriteInput, WriteResult] `json:"writes,omitempty"`
}

// Done is a piece of work that was done, and what came of it.
type Done[In, Out any] struct {
	In  In  `json:"in"`
	Out Out `json:"out"`
}

// mostReads bounds SmallRun: what is begun must be finished before a command counts. What a source holds beyond that,
// or beyond what was expected of it, is left to Read, Pass and Write.
const mostReads = 32

// SmallRun reads the sources of a run that holds little, sends what they hold through the steps, and writes what comes
// out: to schedule an activity for each takes Temporal longer than to do it. It does what Read, Pass and Write do, in
// the same order and with the same record. A run that dies here is resumed from its record like any other.
//
// It may run twice, as they may.
func (a *Activities) SmallRun(ctx context.Context, in SmallRunInput) (SmallRunResult, error) {
	return attempt(ctx, a, in.Run, in.State.Epoch, in, (*Activities).smallRun)
}

func (a *Activities) smallRun(ctx context.Context, in SmallRunInput) (did SmallRunResult, err error) {
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return did, err
	}
	state := in.State // what it leads to is not changed: the same may be done again
	state.Sources, state.Outputs = slices.Clone(state.Sources), slices.Clone(state.Outputs)
	for range mostReads {
		source := state.Next()
		if source == nil {
			break
		}
		read := ReadInput{Source: source.Source, Chunk: source.Chunk, Cursor: source.Cursor}
		found, err := a.read(ctx, r, read)
		if err != nil {
			return did, err
		}
		did.Reads = append(did.Reads, Done[ReadInput, ReadResult]{read, found})
		source.Advance(found.Cursor, int64(len(found.Chunks())))
		if found.Done {
			continue
		}
		if err := a.passSmall(ctx, r, &state, &did, PassInput{Mode: PassNow, Source: read.Source, Chunk: read.Chunk}); err != nil {
			return did, err
		}
	}
	return did, nil
}

// passSmall sends a chunk that was read through the steps, and writes its parts to their places.
func (a *Activities) passSmall(ctx context.Context, r *run, state *resumepoint.State, did *SmallRunResult, chunk PassInput) error {
	passed, err := a.pass(ctx, r, chunk, func() {})
	if err != nil {
		return err
	}
	did.Passes = append(did.Passes, Done[PassInput, PassResult]{chunk, passed})
	writes := make([]Done[WriteInput, WriteResult], len(passed.Parts))
	for i, part := range passed.Parts {
		writes[i].In = chunk.Write(part, state.Place(part.Sink, part.Rows, part.Bytes))
	}
	err = eachPiece(ctx, len(writes), inPassing, func(ctx context.Context, i int) (err error) {
		writes[i].Out, err = a.write(ctx, r, writes[i].In)
		return err
	})
	did.Writes = append(did.Writes, writes...)
	return err
}
