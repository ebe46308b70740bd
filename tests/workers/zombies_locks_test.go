package workers_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"waymark/tests/sample"
)

// TestLockHolders stops processes in the middle of a transaction: SQLite lets nobody else write then. The next attempts fail
// until the process continues, or dies. Then the run does too, and ends as if nothing had happened.
func TestLockHolders(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	server := startTemporal(t)
	u := observe(t, server)
	moments := slices.DeleteFunc(slices.Clone(u.moments), func(m moment) bool { return !m.locking() })
	sideBySide(t, deal(choose(moments, max(1, *wanted/4)), 1), func(t *testing.T, chain []moment) {
		s, m := newScene(t, server), chain[0]
		decider := s.decider()
		s.begin()
		holder := s.worker("holder", m.String()+"=stop", 1)
		require.True(t, s.meets(holder, m, visit{}))
		waiting := s.worker("waiting", "", 3)
		s.awaitNextAttempt()
		if m.at%2 == 0 {
			holder.signal(syscall.SIGKILL)
		} else {
			holder.end()
		}
		s.finish()
		waiting.end()
		decider.end()
		require.Equal(t, u.outputs, s.outputs())
		s.verify()
	})
}

// awaitNextAttempt waits until somebody is at work on what another process began.
func (s *scene) awaitNextAttempt() {
	s.t.Helper()
	await(s.t, "the next attempt", func() bool {
		description, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), s.latest.Workflow, "")
		require.NoError(s.t, err)
		for _, activity := range description.GetPendingActivities() {
			if activity.GetAttempt() > 1 && activity.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
				return true
			}
		}
		return false
	})
}
