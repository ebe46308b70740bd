package pipeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestRunIDs(t *testing.T) {
	for _, id := range []string{"0199c7a4-5a3e-7c43-9d0e-0a3b7e2f6c11", "a", "7", "Nightly_2026-11-20T06.00", "last-2", "lastly", "LAST", strings.Repeat("x", 64)} {
		require.NoError(t, pipeline.CheckRunID(id), id)
	}
	for _, id := range []string{
		"", "last", strings.Repeat("x", 65), "a/b", "q/../y", "../../../../evil", "..", ".hidden", "-v", "_a", `a\b`, "a b", "a\n", "\na", "a\x1b[2J", "a\x00", "ü",
		"a:b", "a%2fb", "a?b", "a*",
	} {
		require.ErrorContains(t, pipeline.CheckRunID(id), "cannot be the id of a run: write up to 64 of", "%q", id)
	}
	err := pipeline.CheckRunID("a\x1b\n" + strings.Repeat("x", 300))
	require.ErrorContains(t, err, `"a\x1b\nxxx`)
	require.Less(t, len(err.Error()), 250, "what is refused is not repeated at any length")
}
