package landscape_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestEveryEventIsDocumented holds the page for receivers against the kinds of events.
func TestEveryEventIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/webhooks.md")
	require.NoError(t, err)
	for _, kind := range landscape.EventKinds() {
		require.Contains(t, string(page), "`"+string(kind)+"`")
	}
}
