package audit

import (
	"context"
	"fmt"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/landscape"
)

// Fields returns what can be disclosed of the rows of a chunk, computed again from the records as they were read. The error says why they are not to be had.
func (a *Auditor) Fields(ctx context.Context, run landscape.Run, chunk landscape.Chunk) ([]landscape.FieldValues, error) {
	compiled, problem, err := a.plan(ctx, run)
	if err == nil && compiled == nil {
		err = &QuestionError{Message: fmt.Sprintf("the values of its rows cannot be computed again: %s", problem)}
	}
	if err != nil {
		return nil, err
	}
	in, err := recompute.Stored(ctx, a.log, a.payloads, compiled, chunk)
	if err != nil {
		return nil, err
	}
	recompute.LeaveOutBlank(&in)
	in.Hashes = &engine.Hashes{} // of which none is made
	if in.Firsts, err = recompute.Repeats(ctx, a.log, compiled, run.ID, chunk.Chunk, in); err != nil {
		return nil, err
	}
	runner, err := engine.NewRunner(compiled)
	if err != nil {
		return nil, err
	}
	result, err := runner.Run(in)
	if err != nil {
		return nil, err
	}
	return recompute.PassageOf(compiled, run.ID, chunk.Source, chunk.Chunk, in.Chunk, result).Fields, nil
}
