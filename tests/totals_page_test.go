package tests

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/manual"
	"waymark/tests/system"
)

// TestTotalsPageRuns runs the document of docs/totals.md: the accounts are those of the page.
func TestTotalsPageRuns(t *testing.T) {
	text := manual.Page(t, "totals.md")
	s := system.Start(t, nil)
	s.Write(t, map[string]string{"orders.csv": manual.Blocks(manual.Page(t, "pipelines.md"), "csv")[0]})
	_, err := s.Run(t, "ledger", manual.Blocks(text, "yaml")[0])
	require.NoError(t, err)
	require.NotEmpty(t, s.Read(t, "out/all.jsonl"), "the policy passed")
	totals, err := s.Log.Totals(t.Context(), "ledger")
	require.NoError(t, err)
	var lines []string
	for _, n := range totals.Nodes {
		unreadable := "0"
		if n.Kind == landscape.SourceNode {
			unreadable = "1"
		}
		lines = append(lines, strings.Join([]string{n.Node, n.In, n.Revalued, n.Out, n.Dropped, unreadable}, " "))
	}
	var shown []string
	for _, line := range strings.Split(strings.TrimSpace(manual.Blocks(text, "text")[0]), "\n")[1:] {
		shown = append(shown, strings.Join(strings.Fields(line), " "))
	}
	require.Equal(t, shown, lines)
	s.Verify(t, "ledger")
}
