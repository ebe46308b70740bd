package activities

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/processors"
)

// Runs that execute at once each have moments in which nothing is being done for them. What is known of them must outlive those, and
// must not outlive the runs for long.
func TestIdleRunsAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs{places: processors.NewPlaces(1)}
		work := func(id string) {
			leave := r.enter(id)
			if r.of(id).run.Load() == nil {
				r.of(id).run.Store(new(run))
			}
			require.NoError(t, leave())
		}
		known := func(id string) bool { return r.byID[id] != nil && r.byID[id].run.Load() != nil }
		for i := range maxIdleRuns {
			work(fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		for i := range maxIdleRuns {
			require.True(t, known(fmt.Sprint(i)), i)
		}
		work("one more")
		require.False(t, known("0"), "the one that was idle longest makes room")
		require.True(t, known("1"))

		leave := r.enter("1")
		time.Sleep(maxIdleTime + time.Second)
		work("later")
		require.True(t, known("1"), "it is not idle")
		require.True(t, known("later"))
		require.Len(t, r.byID, 2)
		require.NoError(t, leave())
		require.True(t, known("1"), "it is idle from now on")
	})
}
