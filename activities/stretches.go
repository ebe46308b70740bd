package activities

import (
	"context"
	"sync/atomic"
	"time"
)

// stretches counts what a process does that keeps it busy for long: reading for runs that are split, and sending
// several chunks of a run through the steps.
type stretches struct {
	reads  atomic.Int64
	passes atomic.Int64 // chunks
	read   atomic.Int64 // when the last reading ended, in nanoseconds since 1970
}

const (
	// between is how long after a read the next one may begin: the workflow asks for it.
	between = 150 * time.Millisecond

	// lookAgain is how often AwaitStretches looks.
	lookAgain = 5 * time.Millisecond
)

// reading says that something is read until the function that it returns is called.
func (s *stretches) reading() (end func()) {
	s.reads.Add(1)
	return func() {
		s.read.Store(time.Now().UnixNano())
		s.reads.Add(-1)
	}
}

// passing notes that this many chunks begin to go through the steps. Call done after each of them, and end after the
// last.
func (s *stretches) passing(chunks int) (done, end func()) {
	var left atomic.Int64
	left.Store(int64(chunks))
	s.passes.Add(int64(chunks))
	done = func() {
		if left.Add(-1) >= 0 {
			s.passes.Add(-1)
		}
	}
	return done, func() { s.passes.Add(-max(left.Swap(0), 0)) }
}

// InStretch reports whether the process of these activities reads for a run that is split, or will do so in a moment,
// or sends several chunks through the steps: others do better what comes now.
func InStretch(a *Activities) bool {
	s := a.stretches
	return s.reads.Load()+s.passes.Load() > 0 || time.Since(time.Unix(0, s.read.Load())) < between
}

// AwaitStretches waits until InStretch says no, or ctx ends.
func AwaitStretches(ctx context.Context, a *Activities) {
	for InStretch(a) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAgain):
		}
	}
}
