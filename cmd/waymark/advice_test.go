package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
)

// TestExitCodesOfKinds: errors end the program with the codes that the page about them promises.
func TestExitCodesOfKinds(t *testing.T) {
	text, err := os.ReadFile("../../docs/go.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .* \\| ([0-9]+) \\| [0-9]+ \\| [A-Z_]+ \\|$").FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, 8)
	for _, row := range rows {
		require.Equal(t, row[2], strconv.Itoa(exitOf(client.Kind(row[1]))), row[1])
	}
}
