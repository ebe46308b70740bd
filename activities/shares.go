package activities

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
)

// ofShares ends the name of a queue of shares.
const ofShares = "#shares"

// SharesQueue returns the task queue of the shares of runs that are split, beside the queue of everything else that the
// same workers do. A process takes few of them at once: they keep no place from others, nor from each other.
func SharesQueue(queue string) string { return queue + ofShares }

// shares counts what a process does for runs that are split.
type shares struct {
	reads    atomic.Int64
	read     atomic.Int64 // when the last read ended, in nanoseconds since 1970
	computed atomic.Int64 // shares all of whose chunks went through the steps, and that are not recorded yet
}

const (
	// between is how long after a read the next one may begin: the workflow asks for it.
	between = 150 * time.Millisecond

	// lookAgain is how often AwaitShare looks.
	lookAgain = 5 * time.Millisecond

	// mostBehind bounds how long a process that reads takes no share: a source may be slow, and who reads it alone.
	mostBehind = 10 * time.Second
)

// reading says that something is read until the function that it returns is called.
func (s *shares) reading() (end func()) {
	s.reads.Add(1)
	return func() {
		s.read.Store(time.Now().UnixNano())
		s.reads.Add(-1)
	}
}

// passing counts a share whose chunks begin to go through the steps. The caller calls passed after each chunk, and end
// after the last is recorded. An activity that is not from a queue of shares is not counted.
func (s *shares) passing(ctx context.Context, chunks int) (passed, end func()) {
	if !strings.HasSuffix(activity.GetInfo(ctx).TaskQueue, ofShares) {
		return func() {}, func() {}
	}
	var left atomic.Int64
	left.Store(int64(chunks))
	passed = func() {
		if left.Add(-1) == 0 {
			s.computed.Add(1)
		}
	}
	return passed, func() {
		if left.Load() <= 0 {
			s.computed.Add(-1)
		}
	}
}

// MayShare reports whether the process of these activities can take another share. It holds has shares, and may
// compute at most most of them at the same time. While it reads for a split run, or is about to, other processes should
// take the share.
func MayShare(a *Activities, has, most int64) bool {
	return a.shares.free(has, most) && !a.shares.busy()
}

// free reports whether the process still computes fewer than most of the shares that it holds.
func (s *shares) free(has, most int64) bool { return has-s.computed.Load() < most }

// busy reports whether the process reads for a split run, or did so a moment ago and will go back to it.
func (s *shares) busy() bool {
	return s.reads.Load() > 0 || time.Since(time.Unix(0, s.read.Load())) < between
}

// AwaitShare waits until MayShare reports true, or ctx ends. After ten seconds it disregards that the process reads.
func AwaitShare(ctx context.Context, a *Activities, has func() int64, most int64) error {
	for began := time.Now(); ; {
		if a.shares.free(has(), most) && (!a.shares.busy() || time.Since(began) > mostBehind) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}
