package landscape

import "context"

// InEpoch returns a Log of which everything that it stores is guarded: if the run was resumed meanwhile, and is not in
// this epoch any more, nothing is stored and the error wraps ErrSuperseded. A run that is not recorded is in epoch 0. What
// it reads is not guarded. Both logs may be used at the same time.
func (l *Log) InEpoch(run string, epoch int64) *Log {
	guard := guarded{writer: l.plain, guard: Guard{Run: run, Epoch: epoch}}
	return &Log{Reader: l.Reader, driver: guard, plain: l.plain, clock: l.clock, sealer: l.sealer}
}

// guarded is a driver that guards every write.
type guarded struct {
	writer
	guard Guard
}

// Commit does what Driver says, guarded.
func (g guarded) Commit(ctx context.Context, tx Tx) error {
	tx.Guard = &g.guard
	return g.writer.Commit(ctx, tx)
}

// Claim does what Driver says, guarded.
func (g guarded) Claim(ctx context.Context, c Claims) (map[Token]Token, error) {
	c.Guard = &g.guard
	return g.writer.Claim(ctx, c)
}
