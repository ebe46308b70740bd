package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/blank"
)

// TestOneProcessLeads: of two processes one leads, and the other one only when the first one has been silent for so
// long that it knows itself that it does not lead any more, or has ended. How long that is each measures, from what it
// saw: that the clock of one is an hour ahead, and that of the other an hour behind, changes nothing.
func TestOneProcessLeads(t *testing.T) {
	driver := blank.New(t)
	shifted := func(by time.Duration) *landscape.Log {
		return landscape.New(driver, func() time.Time { return time.Now().Add(by) })
	}
	one, two := &lead{log: shifted(time.Hour)}, &lead{log: shifted(-time.Hour)}
	look := func(l *lead) bool {
		t.Helper()
		require.NoError(t, l.look(t.Context()))
		return l.has()
	}
	passes := func(l *lead) { l.since = l.since.Add(-leadLease) } // so long since it saw the turn move
	require.True(t, look(one), "nobody has led before")
	require.False(t, look(two))
	require.True(t, look(one))
	passes(two)
	require.False(t, look(two), "the turn has moved since")

	passes(one)
	passes(two)
	require.False(t, one.has(), "it was frozen")
	require.True(t, look(two))
	require.False(t, look(one), "it goes on, and sees that another one leads")
	require.True(t, look(two))

	two.leave(t.Context())
	require.True(t, look(one), "the other one has ended")
	require.False(t, look(two), "a process that starts there")
	alone := &lead{log: landscape.New(driver, nil), alone: true}
	require.True(t, alone.has(), "no other process can lead")
	require.True(t, look(alone))
	before, err := alone.log.Watch(t.Context(), "")
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), before.Changed.Time(), time.Minute, "it says that somebody looks after triggers")
}
