package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableFitsTheTree holds that each unit has tests, and that these know its flags: a unit that tries nothing would
// pass for ever.
func TestTableFitsTheTree(t *testing.T) {
	tree, err := look("../..")
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, c := range table(tree, []string{"a mutant"}) {
		require.NotEmpty(t, c.units, c.name)
		for _, u := range c.units {
			require.False(t, keys[u.key()], u.key())
			keys[u.key()] = true
			require.NotZero(t, u.guess, u.key())
			if u.pkg != "" {
				requireFits(t, tree, u)
			}
		}
	}
	require.True(t, keys["cases/./cmd/waymark orders"], "a script that is skipped by day")
	require.True(t, keys["cases/./tests/serve TestOutputsInPartsArrive"], "a test that is skipped by day")
	require.False(t, keys["cases/./tests/pages TestCrawl"], "another campaign has it")
}

// TestPropertiesFailAgain: what failed is tried again with the same seed, and what passed with another one.
func TestPropertiesFailAgain(t *testing.T) {
	tree, err := look("../..")
	require.NoError(t, err)
	for _, u := range properties(tree) {
		require.Equal(t, u.flags(1), u.flags(1), u.name)
		require.NotEqual(t, u.flags(1), u.flags(2), u.name)
		require.Contains(t, u.repeat(1), " -rapid.seed=2", u.name)
	}
}

var ownFlag = regexp.MustCompile(`^-([a-z-]+)=|^-([a-z-]+)$`)

func requireFits(t *testing.T, tree *tree, u unit) {
	t.Helper()
	f := tree.find(u.pkg)
	require.NotNil(t, f, "%s: %s has no tests", u.key(), u.pkg)
	for part := range strings.SplitSeq(u.run, "|^") {
		name, _, _ := strings.Cut(part, "/")
		pattern := regexp.MustCompile(name)
		found := slices.ContainsFunc(f.tests(), pattern.MatchString)
		require.True(t, found, "%s: %s has no test %s", u.key(), u.pkg, name)
	}
	for _, flag := range u.flags(0) {
		if found := ownFlag.FindStringSubmatch(flag); found != nil {
			require.True(t, f.knows(t, u.pkg, found[1]+found[2]), "%s: %s has no flag %s", u.key(), u.pkg, flag)
		}
	}
}

// knows reports whether a test of the package has a flag.
func (f *folder) knows(t *testing.T, pkg, flag string) bool {
	t.Helper()
	if flag == "every" && f.uses(samples) {
		return true
	}
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(text), `"`+flag+`", `) {
			return true
		}
	}
	return false
}

// TestReaching finds the tests that use a package by a function, a method, a variable or a type that is declared beside
// them.
func TestReaching(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "x_test.go"), []byte(`package x

import (
	"testing"

	"waymark/tests/sample"
	other "waymark/tests/fixtures"
)

func TestMain(m *testing.M) { sample.All() }
func TestItself(t *testing.T) { sample.Rarely(t) }
func TestByFunction(t *testing.T) { t.Run("", helper) }
func TestByMethod(t *testing.T) { thing{}.long() }
func TestByVariable(t *testing.T) { _ = cases }
func TestOther(t *testing.T) { other.Write(t); thing{}.short() }

func helper(t *testing.T) { deeper(t) }
func deeper(t *testing.T) { sample.Of(3, []int{1}) }

type thing struct{}
func (thing) long() { sample.Step(3) }
func (thing) short() {}

var cases = sample.Of(2, []int{1, 2})
`), 0o600))
	tree, err := look(folder)
	require.NoError(t, err)
	reaching := tree.find("./.").reaching(samples)
	require.Equal(t, []string{"TestByFunction", "TestByMethod", "TestByVariable", "TestItself"}, reaching)
	require.Equal(t, []string{"TestOther"}, tree.find("./.").reaching("waymark/tests/fixtures"))
}
