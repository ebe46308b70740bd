package activities_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/landscape"
)

// TestAFullDiskIsWaitedFor has no space for the next write of one kind. The attempt that met it continues when there is some.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	for name, full := range map[string]struct {
		kind string // of the write
		err  error
	}{
		"for payloads":      {"payload", syscall.ENOSPC},
		"within a quota":    {"payload", fmt.Errorf("write: %w", syscall.EDQUOT)},
		"for the landscape": {"commit", fmt.Errorf("landscape: %w", landscape.ErrFull)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
			call[resumepoint.Plan](r, act.OpenRun, r.open())
			rejected := 0
			refuse := func(kind string) (bool, error) {
				if kind == full.kind && rejected == 0 {
					rejected++
					return false, full.err
				}
				return true, nil
			}
			r.driver.blank.OnCommit = func(landscape.Tx) (bool, error) { return refuse("commit") }
			r.objects.OnWrite = func(string) (bool, error) { return refuse("payload") }
			read, err := try[activities.ReadResult](r, act.Read, readInput)
			require.NoError(t, err)
			require.Equal(t, 2, read.Rows)
			require.Equal(t, 1, rejected)
			require.Len(t, r.records()["chunks"], 1)
		})
	}
}
