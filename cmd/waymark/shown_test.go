package main

import (
	"bytes"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/serve/ui"
)

var (
	shownBlock = regexp.MustCompile(`(?s)<pre>(waymark .*?)</pre>`)
	shownWord  = regexp.MustCompile(`"[^"]*"|\S+`)
)

// TestCommandsOfPages executes, one after the other in an empty folder, the commands that pages show to somebody who has nothing yet, as they stand.
func TestCommandsOfPages(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, page := range []any{ui.Home{}, ui.Login{}} {
		text, err := ui.Render(ui.Page{Body: page})
		require.NoError(t, err)
		blocks := shownBlock.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks)
		for _, block := range blocks {
			for line := range strings.Lines(html.UnescapeString(block[1])) {
				var args []string
				for _, word := range shownWord.FindAllString(line, -1)[1:] {
					args = append(args, strings.Trim(word, `"`))
				}
				var out, said bytes.Buffer
				code := execute(args, &out, &said, func(string) (string, bool) { return "", false })
				require.Contains(t, []int{exitDone, exitRefused}, code, "%s: %s", line, said.String())
			}
		}
	}
	require.FileExists(t, "hello/out/orders.jsonl")
	_, err := os.Stat(".waymark/landscape.db")
	require.NoError(t, err)
}
