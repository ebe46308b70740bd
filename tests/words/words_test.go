// Package words holds pages, comments and messages to the list of words in CONTRIBUTING.md.
package words

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// A list is one pattern of all phrases, and what to write in the place of each.
type list struct {
	pattern *regexp.Regexp
	instead map[string]string // by the phrase in lower case
}

// phrases reads the table "not | write" of CONTRIBUTING.md.
func phrases(t *testing.T, page string) list {
	t.Helper()
	_, table, found := strings.Cut(page, "| not | write |\n| --- | --- |\n")
	require.True(t, found, "CONTRIBUTING.md has no table of words")
	table, _, _ = strings.Cut(table, "\n\n")
	all := list{instead: map[string]string{}}
	var patterns []string
	for line := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
		cells := strings.Split(line, "|")
		require.Len(t, cells, 4, line)
		quoted := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1)
		require.NotEmpty(t, quoted, line)
		for _, one := range quoted {
			all.instead[one[1]] = strings.TrimSpace(cells[2])
			patterns = append(patterns, strings.Join(strings.Fields(regexp.QuoteMeta(one[1])), `[\s/]+`))
		}
	}
	all.pattern = regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)
	return all
}

// mistakes names each phrase of the list in a text, with its line and what to write instead.
func mistakes(path string, text []byte, not list) ([]string, error) {
	prose, err := proseOfMarkdown(text), error(nil)
	if strings.HasSuffix(path, ".go") {
		prose, err = proseOfGo(path, text)
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, at := range not.pattern.FindAllIndex(prose, -1) {
		line := 1 + bytes.Count(prose[:at[0]], []byte("\n"))
		said := strings.Join(strings.FieldsFunc(string(prose[at[0]:at[1]]), func(r rune) bool { return strings.ContainsRune(" \t\n/", r) }), " ")
		found = append(found, fmt.Sprintf("%s:%d: %q: write %s", path, line, said, not.instead[strings.ToLower(said)]))
	}
	return found, nil
}

// TestWords goes through the pages and the code of the module. Tests may quote what they like.
func TestWords(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	list, files := phrases(t, string(page)), 0
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if path != "." && strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "testdata", "tests", "node_modules", "out"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".md", ".go"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		files++
		found, err := mistakes(path, text, list)
		for _, mistake := range found {
			t.Error(mistake)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
}

// TestMistakes feeds the check what it must find, and what it must leave alone.
func TestMistakes(t *testing.T) {
	list := phrases(t, "| not | write |\n| --- | --- |\n| `anew`, `on its way` | again; in flight |\n\n")
	for name, test := range map[string]struct {
		path, text string
		want       []string
	}{
		"page":           {"a.md", "one\n\nIt is\nOn its\nway.\n", []string{`a.md:4: "On its way": write again; in flight`}},
		"comment":        {"a.go", "package a\n\n// It is read\n// anew,\n//\n// on its\n// way.\nvar x int\n", []string{`a.go:4: "anew": write again; in flight`, `a.go:6: "on its way": write again; in flight`}},
		"message":        {"a.go", "package a\n\nvar x = \"it is read anew\"\n", []string{`a.go:3: "anew": write again; in flight`}},
		"quotes in page": {"a.md", "a `waymark anew` [b](anew.md)\n\n```\nanew\n```\n\n    anew\n", nil},
		"names in code":  {"a.go", "package a\n\nimport \"anew\"\n\n//go:generate anew\nvar anew struct{ x int `db:\"anew\"` }\n", nil},
		"other words":    {"a.go", "package a\n\n// renewed, on it, way\nvar x = \"on its\" + \"way\"\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := mistakes(test.path, []byte(test.text), list)
			require.NoError(t, err)
			require.Equal(t, test.want, found)
		})
	}
}
