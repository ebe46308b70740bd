package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// flights are runs that have not ended, of which somebody asks.
type flights struct {
	mutex sync.Mutex
	runs  map[string]bool
	err   error
	asked int
}

func (f *flights) now(context.Context) (map[string]bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.asked++
	flying := map[string]bool{}
	for run := range f.runs {
		flying[run] = true
	}
	return flying, f.err
}

func (f *flights) set(err error, runs ...string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.err, f.runs, f.asked = err, map[string]bool{}, 0
	for _, run := range runs {
		f.runs[run] = true
	}
}

// looks is how often somebody asked since the runs were set.
func (f *flights) looks() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.asked
}

// isDue reports whether a waiter is to look.
func isDue(due <-chan struct{}) bool {
	select {
	case <-due:
		return true
	default:
		return false
	}
}

// TestOneLookServesAllThatWait checks that a thousand waiting requests read the record no more often than a single one does, and that each returns when its own run ends.
func TestOneLookServesAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flights{}
		f.set(nil, "a", "b")
		e := &endings{inFlight: f.now}
		var due []<-chan struct{}
		for i := range 1000 {
			waits, leave := e.of([]string{"a", "b"}[i%2])
			defer leave()
			due = append(due, waits)
		}
		time.Sleep(time.Second)
		require.LessOrEqual(t, f.looks(), int(time.Second/shortestLook)+1)
		f.set(nil, "b")
		time.Sleep(2 * shortestLook)
		for i, waits := range due {
			require.Equal(t, i%2 == 0, isDue(waits), i)
		}
		f.set(errors.New("the database is away"), "b")
		time.Sleep(2 * shortestLook)
		require.True(t, isDue(due[1]), "a waiter is to see itself what is wrong")
	})
}

// TestNobodyWaitsNobodyLooks checks that the record is left alone once the last waiter has left, and is looked at again for the next one.
func TestNobodyWaitsNobodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flights{}
		e := &endings{inFlight: f.now}
		for i := range 3 {
			run := fmt.Sprint(i)
			f.set(nil, run)
			waits, leave := e.of(run)
			time.Sleep(time.Second)
			require.False(t, isDue(waits))
			require.Positive(t, f.looks())
			leave()
			time.Sleep(2 * shortestLook)
			f.set(nil)
			time.Sleep(time.Minute)
			require.Zero(t, f.looks())
			require.False(t, isDue(waits), "it left")
		}
	})
}
