package resumepoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
)

// TestAContradictionOfARunThatGoesOn: what contradicts itself because something came on record while it was read is
// read again, and what still does so when nothing comes is a contradiction.
func TestAContradictionOfARunThatGoesOn(t *testing.T) {
	log := landscape.New(blank.New(t), time.Now)
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
	reads := 0
	read := func(right int) func() (int, error) {
		return func() (int, error) {
			if reads++; reads == right {
				return reads, nil
			}
			return 0, Diverged("read %d", reads)
		}
	}
	value, err := whole(t.Context(), log.Reader, "r", read(2))
	require.NoError(t, err)
	require.Equal(t, 2, value)

	reads = 0
	_, err = whole(t.Context(), log.Reader, "r", read(9))
	require.ErrorContains(t, err, "STATE_DIVERGED: read 2", "nothing came meanwhile")

	reads = 0
	value, err = whole(t.Context(), log.Reader, "r", func() (int, error) {
		if reads == 1 { // something comes while it is read again
			require.NoError(t, log.StopRun(t.Context(), "r", pipeline.Interrupted, "power"))
		}
		return read(3)()
	})
	require.NoError(t, err)
	require.Equal(t, 3, value)
}
