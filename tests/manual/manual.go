// Package manual reads the pages of docs, whose examples tests execute.
package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Page returns the text of a page.
func Page(t *testing.T, name string) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for !isModule(folder) {
		require.NotEqual(t, filepath.Dir(folder), folder, "the test is in no module")
		folder = filepath.Dir(folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, "docs", name))
	require.NoError(t, err)
	return string(text)
}

// isModule reports whether a folder is the root of a module.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// Blocks returns the code blocks of the language.
func Blocks(text, language string) []string {
	var found []string
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, block[1])
	}
	return found
}
