package landscape

import (
	"context"
	"time"
)

// Log is the landscape of a program that writes it: what its Reader reads, and what is recorded. It is safe for concurrent use.
type Log struct {
	*Reader
	driver writer // plain, or with a guard
	plain  Driver
	clock  func() time.Time
	recent *recent // nil: nothing

	sealer Sealer             // nil: the landscape's log is left alone
	under  *ApprovedExecution // the order that is executed; nil: orders are given by one person
}

// A writer is what of a Driver stores.
type writer interface {
	Commit(ctx context.Context, tx Tx) error
}

// New returns a Log over driver. clock gives the time; nil is time.Now.
func New(driver Driver, clock func() time.Time) *Log {
	if clock == nil {
		clock = time.Now
	}
	return &Log{Reader: NewReader(driver), driver: driver, plain: driver, clock: clock, recent: newRecent()}
}

// now returns the time to the microsecond.
func (l *Log) now() Micros { return MicrosOf(l.clock()) }

// Release says that others may record something of a run from now on: what a driver has of it in hand is put down.
func (l *Log) Release(run string) {
	if d, ok := capable[interface{ Release(run string) }](l.plain); ok {
		d.Release(run)
	}
}
