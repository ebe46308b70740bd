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

// TestAdviceToWaive names the policies, each as one word of a command.
func TestAdviceToWaive(t *testing.T) {
	const waive = "waive what did not pass, waymark waive r 'it'\\''s few' --why TEXT, waymark waive r all --why TEXT, then waymark resume r"
	const cancel = "waymark cancel r --final --why TEXT"
	for want, cures := range map[string][]client.Cure{
		"": {client.WaivePolicy},
		"; or mend the document, then waymark resume r --fork": {client.WaivePolicy, client.Fork},
		"; or deploy a mended document, then " + cancel + ": another run reads what this one took": {
			client.WaivePolicy, client.GiveUp,
		},
		"; or mend the document, send the rows of this run with a new request, and cancel it: " + cancel: {
			client.WaivePolicy, client.SendAgain,
		},
	} {
		require.Equal(t, waive+want, adviceText(client.Advice{Cures: cures, Policies: []string{"it's few", "all"}}, "r"))
	}
}
