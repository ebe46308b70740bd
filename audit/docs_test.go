package audit_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOperationsPageTellsWhatExplainTells: the texts on the page are those of the graph's second row.
func TestOperationsPageTellsWhatExplainTells(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	told, err := os.ReadFile("testdata/graph-merged.txt")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```text\n((?:decide|came of it).*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		require.Contains(t, strings.ReplaceAll(string(told), "FOLDER/", ""), string(block[1]))
	}
}
