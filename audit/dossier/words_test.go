package dossier

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestCodesOfRowsHaveWords: the report says what each code means with which a row can be refused.
func TestCodesOfRowsHaveWords(t *testing.T) {
	page, err := os.ReadFile("../../docs/codes.md")
	require.NoError(t, err)
	rows, _, found := strings.Cut(string(page), "## Faults that stop a run")
	require.True(t, found)
	codes := regexp.MustCompile("`([A-Z][A-Z0-9_]+)`")
	known := map[string]bool{}
	for _, line := range strings.Split(rows, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, code := range codes.FindAllStringSubmatch(cells[1], -1) {
				known[code[1]] = true
				require.Contains(t, refusals, code[1])
			}
		}
	}
	require.Greater(t, len(known), 40)
	for code := range refusals {
		require.True(t, known[code], "docs/codes.md has no code %s", code)
	}
}

func TestWords(t *testing.T) {
	require.Equal(t, "UNIQUE: a value that an earlier row has", refusal("UNIQUE"))
	require.Equal(t, "SOME", refusal("SOME"))
	require.Equal(t, "a = 1, b = x y", given(`{"b":"x y","a":"1"}`))
	require.Empty(t, given("{}"))
	require.Equal(t, "in quarantine", place(pipeline.QuarantineSink))
	require.Equal(t, "discarded", place(pipeline.DiscardSink))
	require.Equal(t, "sent to review", place("review"))
	require.Equal(t, "at the command line", door("cli"))
	require.Equal(t, "some thing", door("some_thing"))
}
