package main

import (
	"go/format"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutantsFitTheCode keeps the list alive without trying it: what a mutant changes is in its file exactly once, and Go
// is what it is changed to.
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

// TestRareTests knows tests and scripts that are skipped unless every case is tried, and others: who judges mutants by a test that is skipped finds that all survive.
func TestRareTests(t *testing.T) {
	for _, c := range []struct {
		pkg, run string
		rare     bool
	}{
		{"./tests/pages", "^TestCrawl$", true}, {"./cmd/waymark", "^TestScripts$/^orders$", true},
		{"./audit", "^TestCompare$", false}, {"./cmd/waymark", "^TestScripts$/^forget$", false}, {"./landscape/memdriver", "^TestDriver$/^Admission$", false},
	} {
		rare, err := mutant{pkg: c.pkg, run: c.run}.rare("../..")
		require.NoError(t, err)
		require.Equal(t, c.rare, rare, c.run)
	}
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
