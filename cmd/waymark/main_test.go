package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOutputThatCannotBeWrittenIsAnErrorSaidOnce, whoever writes it.
func TestOutputThatCannotBeWrittenIsAnErrorSaidOnce(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	for _, args := range [][]string{{}, {"help"}, {"run", "--help"}, {"version"}, {"--version"}, {"schema"}, {"completion", "bash"}} {
		var said bytes.Buffer
		code := execute(args, full, &said, func(string) (string, bool) { return "", false })
		require.Equal(t, exitFailed, code, args)
		require.Equal(t, "waymark: write /dev/full: no space left on device: make space there, and do the same again\n",
			said.String(), args)
	}
}

func TestUnknownCommandsAreNamedInOneLine(t *testing.T) {
	for message, args := range map[string][]string{
		`unknown command "rnu" for "waymark" (did you mean "run"?)`:       {"rnu"},
		`unknown command "frobnicate" for "waymark"`:                      {"frobnicate"},
		`unknown command "lits" for "waymark env" (did you mean "list"?)`: {"env", "lits"},
	} {
		var said bytes.Buffer
		code := execute(args, &said, &said, func(string) (string, bool) { return "", false })
		require.Equal(t, exitUsage, code)
		require.Equal(t, "waymark: "+message+"\n", said.String())
	}
}
