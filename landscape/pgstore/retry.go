package pgstore

import (
	"context"
	"time"
)

const (
	// tries is how often work is begun that may be begun again. With pauses that double from firstPause it spans the restart of a
	// server: three seconds.
	tries      = 7
	firstPause = 50 * time.Millisecond
)

// again does work until it succeeds, or fails in a way that does not pass. work must leave nothing behind when it fails.
func again(ctx context.Context, work func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := work()
		if err == nil || try == tries || !passing(err) && (try > 1 || !raced(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// raced reports whether two transactions may have inserted the same record at the same moment. Postgres then finds the key taken, and lets the record
// that is there be, unless it comes first to another unique index of the table: then it fails, and finds the record the next time.
func raced(err error) bool { return codeOf(err) == uniqueViolation }
