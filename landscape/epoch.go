package landscape

import (
	"context"
	"errors"
)

// InEpoch returns a Log of which everything that it stores is guarded: if the run was resumed meanwhile, and is not in
// this epoch any more, nothing is stored and the error wraps ErrSuperseded. A run that is not recorded is in epoch 0. What
// it reads is not guarded. Both logs may be used at the same time.
//
// What is stored of a run after its end, by attempts that no workflow waited for, is sealed again with it.
func (l *Log) InEpoch(run string, epoch int64) *Log {
	plain := &Log{Reader: l.Reader, driver: l.plain, plain: l.plain, clock: l.clock, sealer: l.sealer, recent: l.recent}
	in := *plain
	in.Reader = l.unarchived(run)
	in.driver = guarded{log: plain, guard: Guard{Run: run, Epoch: epoch}}
	return &in
}

// guarded is a writer that guards every write.
type guarded struct {
	log   *Log
	guard Guard
}

// Commit does what Driver says, guarded.
func (g guarded) Commit(ctx context.Context, tx Tx) error {
	tx.Guard = &g.guard
	if tx.Seal != nil || g.ends(tx) {
		return g.log.plain.Commit(ctx, tx)
	}
	tx.Guard = &Guard{Run: g.guard.Run, Epoch: g.guard.Epoch, Running: true}
	err := g.log.plain.Commit(ctx, tx)
	if errors.Is(err, ErrEnded) {
		err = settle("run_seals", func() error { return g.afterEnd(ctx, tx) })
	}
	return err
}

// ends reports whether a transaction ends the run, or what ended otherwise.
func (g guarded) ends(tx Tx) bool {
	for _, m := range tx.Move {
		if head, ok := m.To.(RunHead); ok && head.ID == g.guard.Run {
			return true
		}
	}
	return false
}

// afterEnd commits what comes after the run's end, with a seal that binds it if the run was sealed.
func (g guarded) afterEnd(ctx context.Context, tx Tx) error {
	tx.Guard = &g.guard
	head, err := get[RunHead](ctx, g.log, g.guard.Run)
	if err == nil && head.Epoch == g.guard.Epoch {
		err = g.log.sealAgain(ctx, &tx, head)
	}
	if err != nil {
		return err
	}
	return g.log.plain.Commit(ctx, tx)
}
