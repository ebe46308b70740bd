package main

import (
	"bytes"
	"os"
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
	require.Len(t, documents, 3)
	t.Chdir(t.TempDir())
	folder, err := os.Getwd()
	require.NoError(t, err)
	imports := strings.NewReplacer(`"in/`, `"`+folder+`/in/`, `"out/`, `"`+folder+`/out/`).Replace(documents[0][1]) // a deployed document has no folder
	require.NoError(t, os.WriteFile("imports.yaml", []byte(imports), 0o600))
	require.NoError(t, os.WriteFile("tenants.yaml", []byte(documents[1][1]), 0o600))
	require.NoError(t, os.WriteFile("tenants.csv", []byte("name\nacme\numbrella\n"), 0o600))
	require.NoError(t, os.WriteFile("weekly.yaml", []byte(documents[2][1]), 0o600))
	require.NoError(t, os.Mkdir("in", 0o700))
	for _, day := range []string{"2026-11-19", "2026-11-20"} {
		require.NoError(t, os.WriteFile("in/"+day+".csv", []byte("id,total\n1,50\n2,500\n3,5000\n"), 0o600))
	}
	commands := 0
	for _, block := range blocks("console") {
		for _, command := range strings.Split(block[1], "$ waymark ")[1:] {
			commands++
			line, want, _ := strings.Cut(command, "\n")
			var stdout, stderr bytes.Buffer
			code := execute(words(line), &stdout, &stderr, func(string) (string, bool) { return "", false })
			require.Zero(t, code, "%s: %s", line, &stderr)
			if want != "" {
				require.Equal(t, want, stdout.String(), line)
			}
		}
	}
	require.Equal(t, 12, commands)
	all := "id,total\n1,50\n2,500\n3,5000\n"
	for day, want := range map[string]string{
		"2026-11-20": "id,total\n2,500\n3,5000\n", "2026-11-19": "id,total\n3,5000\n", "acme/2026-11-20": all, "umbrella/2026-11-20": all,
	} {
		content, err := os.ReadFile("out/" + day + ".csv")
		require.NoError(t, err)
		require.Equal(t, want, string(content), day)
	}
}

// words are those of a command line, in which a text in quotes is one.
func words(line string) (words []string) {
	for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, `"`))
	}
	return words
}
