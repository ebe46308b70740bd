package landscape

import (
	"sync"
	"time"
)

// Log is the audit record. It is safe for concurrent use.
type Log struct {
	driver Driver // plain, or with a guard
	plain  Driver
	clock  func() time.Time
	lanes  *sync.Map // run to its lanes
}

// New returns a Log over driver. clock gives the time; nil is time.Now.
func New(driver Driver, clock func() time.Time) *Log {
	if clock == nil {
		clock = time.Now
	}
	return &Log{driver: driver, plain: driver, clock: clock, lanes: &sync.Map{}}
}

// now returns the time to the microsecond.
func (l *Log) now() Micros { return MicrosOf(l.clock()) }
