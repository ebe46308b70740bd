package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
)

// TestJourneyOfALostRecord: of a row whose record nobody has any more, its page does not say that it was computed
// again, and offers no proof of a forgotten one.
func TestJourneyOfALostRecord(t *testing.T) {
	const recomputed, proof = "✓ recomputed now, and equal to the record", "Take its dossier"
	for state, says := range map[audit.Availability]string{
		audit.Stored:    recomputed,
		audit.Purged:    "◌ not recomputed: the record is purged",
		audit.Forgotten: "◌ not recomputed: the record is forgotten",
		audit.Missing:   "✗ something differs from the record, or is missing",
	} {
		story := &audit.Explanation{Run: "r", Token: "in:1", Source: audit.Origin{Name: "in", Row: 1, State: state}}
		page, err := Render(Page{Body: Journey{Explanation: story}})
		require.NoError(t, err)
		require.Contains(t, string(page), says, state)
		require.Equal(t, state == audit.Stored, strings.Contains(string(page), recomputed), state)
		require.Equal(t, state != audit.Forgotten, strings.Contains(string(page), proof), state)
	}
}
