package inprocess

import (
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/workflows"
)

// Resume resumes a run that is recorded, in a new process, and brings it to its end. listen and the error are as for Run.
func (r *Record) Resume(t testing.TB, id string, listen func(*testsuite.TestWorkflowEnvironment)) error {
	t.Helper()
	on, err := r.Log.Run(t.Context(), id)
	require.NoError(t, err)
	return r.execute(t, workflows.RunInput{
		OpenInput: activities.OpenInput{Run: id}, Resume: &activities.ResumeInput{Epoch: on.Epoch + 1, Actor: "tester", Why: "the test says so"},
	}, listen)
}

// Death is the end of a process at one of its deeds. Whatever it does later is not done.
type Death struct {
	at    int64
	done  bool
	deeds atomic.Int64
}

// DiesAt returns the death of a process at the deed with this ordinal, from 0. done says that the deed itself is done, and only
// the process does not learn of it.
func DiesAt(ordinal int64, done bool) *Death { return &Death{at: ordinal, done: done} }

// Lives returns the death of a process that lives as long as there is something to do.
func Lives() *Death { return DiesAt(math.MaxInt64, true) }

// Fate is a Fate.
func (d *Death) Fate(Deed) (done bool, err error) {
	switch n := d.deeds.Add(1) - 1; {
	case n < d.at:
		return true, nil
	case n == d.at:
		return d.done, ErrGone
	default:
		return false, ErrGone
	}
}

// Deeds returns how many deeds there were before the death.
func (d *Death) Deeds() int64 { return min(d.deeds.Load(), d.at) }

// Died reports whether it came to pass.
func (d *Death) Died() bool { return d.deeds.Load() > d.at }
