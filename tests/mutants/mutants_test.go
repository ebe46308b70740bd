package main

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutantsFitTheCode keeps the list alive without trying it: what a mutant changes is in its file exactly once, and
// Go is what it is changed to.
func TestMutantsFitTheCode(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			changed, err := m.change("../..")
			require.NoError(t, err)
			require.NotContains(t, string(changed), m.old+m.new, "it must change something")
			if strings.HasSuffix(m.file, ".go") {
				_, err = format.Source(changed)
				require.NoError(t, err)
			}
			require.False(t, names[m.name], "two mutants have this name")
			names[m.name] = true
			require.NotEmpty(t, m.never)
			require.DirExists(t, "../../"+m.pkg)
		})
	}
}

// TestTiers requires that a mutant which is to die by day is noticed by a test that runs by day, as `go test ./...`
// runs it.
func TestTiers(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if m.tier == night {
				flags, err := m.flagsOf("../..")
				require.NoError(t, err)
				require.NotEmpty(t, flags, "no flag makes a difference between day and night: let its tier be the day")
				require.NotContains(t, m.flags, everyCase, "the tier says so")
				return
			}
			rare, err := m.rare("../..")
			require.NoError(t, err)
			require.False(t, rare, "by day %s is skipped: name another test, or let its tier be the night", m.run)
			for _, flag := range m.flags {
				require.True(t, slices.ContainsFunc(byDay, func(is string) bool { return strings.HasPrefix(flag, is) }),
					"`go test ./...` has no flag %s: let its tier be the night", flag)
			}
		})
	}
	for _, c := range []struct {
		pkg, run string
		rare     bool
	}{
		{"./tests/pages", "^TestCrawl$", true},
		{"./cmd/waymark", "^TestScripts$/^orders$", true},
		{"./audit", "^TestCompare$", false},
		{"./cmd/waymark", "^TestScripts$/^run$", false},
		{"./landscape/sqlitestore", "^TestDriver$/^Admission$", false},
	} {
		rare, err := mutant{pkg: c.pkg, run: c.run}.rare("../..")
		require.NoError(t, err)
		require.Equal(t, c.rare, rare, c.run)
	}
}

// byDay is how flags begin that do not change what a test tries.
var byDay = []string{"-tags=", "-ldflags=", "-rapid.nofailfile", "-timeout="}

// rare reports whether `go test` skips the mutant's test unless it runs with -every 1. root is the folder of the
// module.
func (m mutant) rare(root string) (bool, error) {
	name, below, _ := strings.Cut(strings.TrimPrefix(m.run, "^"), "$")
	if name == "TestScripts" {
		script, err := os.ReadFile(filepath.Join(root, "tests/cli", strings.Trim(below, "/^$")+".txtar"))
		return bytes.HasPrefix(script, []byte("[!nightly] skip")), err
	}
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if _, test, found := bytes.Cut(text, []byte("\nfunc "+name+"(t *testing.T) {\n")); found {
			body, _, _ := bytes.Cut(test, []byte("\n}\n"))
			body = append([]byte("\n"), body...)
			return bytes.Contains(body, []byte("\n\tsample.Rarely(t)")), nil // not that of a case
		}
	}
	return false, err
}

// TestEveryOldBugIsPutBack keeps the list of old bugs whole: each has as many mutants as it is to have.
func TestEveryOldBugIsPutBack(t *testing.T) {
	found := map[lesson]int{}
	for _, m := range mutants {
		if m.again != "" {
			require.Contains(t, lessons, m.again, m.name)
			found[m.again]++
		}
	}
	for again, least := range lessons {
		require.GreaterOrEqual(t, found[again], least, again)
	}
}
