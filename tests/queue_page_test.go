package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client/local"
	"waymark/tests/manual"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)

// shownAlike is what a command prints without what differs: moments, who, and how wide columns are.
func shownAlike(text string) string {
	text = strings.ReplaceAll(moments.ReplaceAllString(text, "TIME"), local.User(), "ann")
	return strings.TrimSpace(regexp.MustCompile(` +`).ReplaceAllString(text, " "))
}

// TestConcurrencyPage executes the commands of docs/concurrency.md on its document beside `waymark serve`, and compares what they print.
func TestConcurrencyPage(t *testing.T) {
	sample.Rarely(t)
	text := manual.Page(t, "concurrency.md")
	documents, console := manual.Blocks(text, "yaml"), manual.Blocks(text, "console")
	require.Len(t, documents, 1)
	require.Len(t, console, 1)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.yaml"), []byte(documents[0]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "orders.csv"), []byte("id,total\n1,5\n"), 0o600))
	s := serving.Start(t, folder)
	begun := make(chan string, 2)
	commands := strings.Split(console[0], "$ waymark ")[1:]
	for _, command := range commands {
		line, want, _ := strings.Cut(command, "\n")
		line, behind := strings.CutSuffix(line, " &")
		args := arguments(line)
		if !behind {
			if line == "limit list" { // when the run that waited has ended
				require.Contains(t, <-begun+<-begun, "orders: completed")
			}
			require.Equal(t, shownAlike(want), shownAlike(s.Waymark(t, args...)), line)
			continue
		}
		run := args[len(args)-1]
		go func() {
			out, _ := s.Try(t.Context(), args...)
			begun <- out
		}()
		require.Eventually(t, func() bool {
			_, err := s.Try(t.Context(), "status", run)
			return err == nil
		}, patience, 100*time.Millisecond)
	}
	require.Len(t, commands, 8)
}

// arguments splits a line of a shell, in which quotes hold texts with spaces.
func arguments(line string) (args []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}
