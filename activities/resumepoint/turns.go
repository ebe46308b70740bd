package resumepoint

import (
	"context"

	"waymark/engine/plan"
	"waymark/landscape"
)

// PassedInTurn returns the chunks of a run that went through the steps, in the order of their turns.
func PassedInTurn(ctx context.Context, log *landscape.Reader, p *plan.Plan, run string) ([]landscape.Chunk, error) {
	sum, err := PlanOf(p, nil)
	if err != nil {
		return nil, err
	}
	return whole(ctx, log, run, func() ([]landscape.Chunk, error) {
		done, err := read(ctx, log, run, sum)
		if err != nil {
			return nil, err
		}
		return done.passedInTurn(sum)
	})
}

// passedInTurn returns the chunks that went through the steps, in the order of their turns: that of the sources, each
// followed by what came out of the barriers that it fed, between them what came out for deadlines, and what came out at
// the end.
func (d *done) passedInTurn(plan Plan) ([]landscape.Chunk, error) {
	s := finishedWork{done: d, State: NewState(plan)}
	order, err := s.order()
	if err != nil {
		return nil, err
	}
	var passed []landscape.Chunk
	ticks := d.ticks
	for turn := 0; turn <= len(order); turn++ {
		for ; len(ticks) > 0 && ticks[0].Turns == int64(turn); ticks = ticks[1:] {
			passed = d.appendOut(passed, ticks[0].barrier, ticks[0].fold)
		}
		if turn < len(order) {
			passed = d.appendPassed(passed, order[turn])
		}
	}
	for _, barrier := range plan.Barriers {
		folds := d.folds[barrier.Name]
		if last := len(folds) - 1; last >= 0 && folds[last].Kind == landscape.EndFold {
			passed = d.appendOut(passed, barrier.Name, folds[last].Fold)
		}
	}
	return passed, nil
}

// appendPassed appends a chunk, if it went through the steps, and what came of it.
func (d *done) appendPassed(passed []landscape.Chunk, key landscape.ChunkKey) []landscape.Chunk {
	chunk := d.chunks[key]
	if !chunk.passed {
		return passed
	}
	passed = append(passed, chunk.Chunk)
	for _, barrier := range chunk.barriers {
		if fold, taken := d.taken[partKey{key, barrier}]; taken {
			passed = d.appendOut(passed, barrier, fold)
		}
	}
	return passed
}

// appendOut appends what came out in a fold, and what came of that.
func (d *done) appendOut(passed []landscape.Chunk, barrier string, fold int64) []landscape.Chunk {
	for _, key := range d.out[foldKey{barrier, fold}] {
		passed = d.appendPassed(passed, key)
	}
	return passed
}
