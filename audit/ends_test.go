package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/pipeline"
)

// TestEndsInWords: what people read of ends leads back to them.
func TestEndsInWords(t *testing.T) {
	words := audit.EndWords("good (default_flow) and large (gate_routed)")
	require.Equal(t, "good (reached its sink) and large (routed to its sink)", words)
	for _, path := range pipeline.Paths() {
		end := audit.EndName("n", path)
		require.Equal(t, end, audit.StoredEnd(audit.EndWords(end)))
		require.Equal(t, end, audit.StoredEnd(end))
	}
	require.Equal(t, "nowhere", audit.EndWords(audit.Together(nil)))
}
