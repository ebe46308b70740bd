package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
)

// TestAsPublished refuses a file that is not what the run of another pipeline published, and says nothing of one that no run is known to have published.
func TestAsPublished(t *testing.T) {
	pin := plugin.SourceInfo{
		Files:   []plugin.FileInfo{{Path: "a"}, {Path: "b"}},
		Outputs: []plugin.OutputOf{{}, {Run: "r1", Sink: "review", SHA256: "22"}},
	}
	require.NoError(t, asPublished(plugin.SourceInfo{Files: pin.Files}, []string{"11", "22"}))
	require.NoError(t, asPublished(pin, []string{"other", "22"}))
	for _, digests := range [][]string{{"11", "33"}, {"11"}} {
		err := asPublished(pin, digests)
		require.Equal(t, &plugin.SourceError{Code: "SOURCE_CHANGED", File: "b"}, err)
		pin.Trigger = "default/b/after"
		require.ErrorContains(t, aboutArrival(err, "r2", pin), "b: SOURCE_CHANGED: is not what sink review of run r1 published, or was written again since the run began: see that what was published is there, and give the run up: waymark cancel r2 --final --why TEXT;")
	}
}
