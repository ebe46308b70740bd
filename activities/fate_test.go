package activities_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"waymark/landscape"
	"waymark/tests/blank"
)

// fated is a landscape that can lose the request or the reply of every write.
type fated struct {
	landscape.Driver
	blank   *blank.Driver
	onBatch func(landscape.Tx) // sees every batch before its fate, and may change its records

	writes atomic.Int64
	mu     sync.Mutex     // held while kinds is used
	kinds  map[string]int // writes by kind
	broken int64          // ordinal of the write that meets its fate; -1: none
	keep   bool           // it is kept, only its reply is lost
}

var errLost = errors.New("connection reset")

func newFated(t testing.TB) *fated { return fatedIn(blank.Lend(t)) }

func fatedIn(driver *blank.Driver) *fated {
	f := &fated{Driver: driver, blank: driver, kinds: map[string]int{}, broken: -1}
	driver.OnCommit = func(b landscape.Tx) (bool, error) {
		if f.onBatch != nil {
			f.onBatch(b)
		}
		return f.fate("commit")
	}
	return f
}

// fate counts a write and decides it.
func (f *fated) fate(kind string) (keep bool, err error) {
	f.mu.Lock()
	f.kinds[kind]++
	f.mu.Unlock()
	if f.writes.Add(1)-1 == f.broken {
		return f.keep, errLost
	}
	return true, nil
}
