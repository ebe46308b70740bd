package daemon

import (
	"context"
	"math/rand/v2"
	"time"

	"waymark/workflows/recovery"
)

const (
	// lookInterval is the time between two looks for runs whose workflow was terminated. A look is one question to Temporal.
	lookInterval = 20 * time.Second
	// lookBack is how far a look goes back. What Temporal knows of closed workflows may come late.
	lookBack = 5 * time.Minute
)

// watchAbandoned puts on record that runs are interrupted whose workflow was terminated, until ctx ends: first those of before, at once, and
// then those that follow. Every worker does so, each at other moments.
func (d *process) watchAbandoned(ctx context.Context, runs recovery.Abandoned) {
	look := func() ([]string, error) { return runs.All(ctx) }
	told := map[string]bool{}
	for {
		begun := time.Now()
		found, err := look()
		for _, run := range found {
			d.logger.Warn("run interrupted, or its start refused: its workflow was closed", "run", run)
		}
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot look for runs whose workflow was closed", "error", err)
		}
		if err == nil {
			look = func() ([]string, error) { return runs.Since(ctx, begun.Add(-lookBack)) }
		}
		d.tellUnworkable(ctx, runs, told)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookInterval/2 + rand.N(lookInterval)): //nolint:gosec // no secret
		}
	}
}

// tellUnworkable names workflows that wait for ever, each once.
func (d *process) tellUnworkable(ctx context.Context, runs recovery.Abandoned, told map[string]bool) {
	ids, err := recovery.Unworkable(ctx, runs.Client)
	if err != nil {
		return // the next look asks again
	}
	for _, id := range ids {
		if !told[id] {
			told[id] = true
			d.logger.Warn("a workflow never starts, because its id is not printable ASCII: terminate it, and start the run with another id", "workflow", id)
		}
	}
}
