package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestAProcessAttestsWhatItSees: to a process that does not see the files of a run its outputs would be missing.
func TestAProcessAttestsWhatItSees(t *testing.T) {
	w := outputsWatch{process: &process{Config: Config{Files: "here"}}}
	require.True(t, w.sees(audit.DueRun{Host: "here", Local: true}))
	require.False(t, w.sees(audit.DueRun{Host: "there", Local: true}))
	require.True(t, w.sees(audit.DueRun{Host: "there"}), "anybody sees a bucket or a table")
	w.Alone = true
	require.True(t, w.sees(audit.DueRun{Host: "there", Local: true}), "the host may have another name now")
}
