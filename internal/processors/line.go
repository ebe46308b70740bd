package processors

import (
	"context"
	"slices"
	"sync"
)

// line is some places, and those who wait for one.
type line struct {
	mu      sync.Mutex
	free    int
	waiting []*waiter // in the order in which they came; nobody waits while a place is free
}

// waiter waits for a place.
type waiter struct {
	*Share
	has chan struct{} // closed when it has one
}

// wait waits for a place. The error is the cause of the end of ctx.
func (l *line) wait(ctx context.Context, s *Share) error {
	l.mu.Lock()
	if l.free > 0 {
		l.free--
		l.mu.Unlock()
		return nil
	}
	w := &waiter{s, make(chan struct{})}
	l.waiting = append(l.waiting, w)
	l.mu.Unlock()
	select {
	case <-w.has:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 { // it was given one meanwhile
		l.give()
	}
	return context.Cause(ctx)
}

// give gives a place to the run that has computed least, of long runs to the one that came first.
func (l *line) give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	next, _ := l.least()
	close(l.waiting[next].has)
	l.waiting = slices.Delete(l.waiting, next, next+1)
}

// waitsFor reports whether a run waits that has computed for less than so many nanoseconds.
func (l *line) waitsFor(used int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, least := l.least()
	return least < used
}

// least returns which waiter is next, and how long its run has computed; a second if that is longer, or nobody waits.
func (l *line) least() (next int, used int64) {
	used = int64(short)
	for i, w := range l.waiting {
		if u := w.used.Load(); u < used {
			next, used = i, u
		}
	}
	return next, used
}
