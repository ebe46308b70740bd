package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSchedulesPage executes the commands of docs/schedules.md on its document, and compares what they print.
func TestSchedulesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/schedules.md")
	require.NoError(t, err)
	blocks := func(language string) [][]string {
		return regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	}
	documents := blocks("yaml")
	require.Len(t, documents, 1)
	file := filepath.Join(t.TempDir(), "imports.yaml")
	require.NoError(t, os.WriteFile(file, []byte(documents[0][1]), 0o600))
	commands := blocks("console")
	require.Len(t, commands, 3)
	for _, block := range commands {
		command, want, _ := strings.Cut(block[1], "\n")
		args := strings.Fields(strings.Replace(strings.TrimPrefix(command, "$ waymark "), "imports.yaml", file, 1))
		var stdout bytes.Buffer
		require.Zero(t, execute(args, &stdout, io.Discard, func(string) (string, bool) { return "", false }), command)
		require.Equal(t, want, stdout.String(), command)
	}
}
