package api

import (
	"context"
	"sync"
	"time"

	"waymark/internal/defect"
)

// endings tells requests when it is time to look whether the run that they wait for has ended. However many wait, one look at the record serves all.
type endings struct {
	inFlight func(context.Context) (map[string]bool, error) // the runs that have not ended

	mutex   sync.Mutex
	waiting map[*waiter]struct{}
}

// waiter is one request that waits for the end of one run.
type waiter struct {
	run string
	due chan struct{} // closed when it is to look
}

// of returns a channel that is closed when the run has probably ended. leave is to be called by who waits no more.
func (e *endings) of(run string) (due <-chan struct{}, leave func()) {
	w := &waiter{run: run, due: make(chan struct{})}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.waiting == nil { // nobody watches
		e.waiting = map[*waiter]struct{}{}
		go defect.Guard("endings", e.watch)() //nolint:gosec // it outlasts the request: others wait too
	}
	e.waiting[w] = struct{}{}
	return w.due, func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		delete(e.waiting, w)
	}
}

// How often the record is looked at while somebody waits: it costs no more than a fifth of one core.
const (
	shortestLook = 20 * time.Millisecond
	lookShare    = 4 // how many times as long as a look the pause is
)

// watch looks at the record while there are waiters.
func (e *endings) watch() {
	for {
		began := time.Now()
		var flying map[string]bool
		err := defect.Catch("endings", func() (err error) {
			flying, err = e.inFlight(context.Background())
			return err
		})
		if !e.tell(flying, err != nil) {
			return
		}
		time.Sleep(max(shortestLook, lookShare*time.Since(began)))
	}
}

// tell lets those look whose run is not in flight, or all: they see themselves what is wrong. It returns false, and watch is over, if none waits.
func (e *endings) tell(flying map[string]bool, all bool) (more bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if len(e.waiting) == 0 {
		e.waiting = nil
		return false
	}
	for w := range e.waiting {
		if all || !flying[w.run] {
			delete(e.waiting, w)
			close(w.due)
		}
	}
	return true
}
