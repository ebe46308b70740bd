package activities

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTableOfFailures: docs/temporal.md has the words of every failure.
func TestTheTableOfFailures(t *testing.T) {
	page, err := os.ReadFile("../docs/temporal.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "| type | what it means | cure |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	require.Len(t, rows, len(problemKinds))
	for kind, words := range problemKinds {
		title := strings.ToLower(words[0][:1]) + words[0][1:]
		require.Contains(t, rows, "| `"+kind+"` | "+title+" | "+words[1]+" |")
	}
}
