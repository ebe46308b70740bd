package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTestsThatShowNothingDoNotPass reads what tests print that did not fail.
func TestTestsThatShowNothingDoNotPass(t *testing.T) {
	for _, c := range []struct {
		run, printed string
		want         result
	}{
		{"^TestX$", "=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\n", passed},
		{"^TestX$", "--- PASS: TestX (0.00s)\n--- SKIP: TestXY (0.00s)\nPASS\n", passed},
		{"^TestX$", "=== RUN   TestX\n--- SKIP: TestX (0.00s)\nPASS\n", skipped},
		{"^TestX$", "testing: warning: no tests to run\nPASS\n", failed},
		{"^TestX$/^a$", "--- PASS: TestX (0.00s)\n    --- PASS: TestX/a (0.00s)\nPASS\n", passed},
		{"^TestX$/^a$", "--- PASS: TestX (0.00s)\n    --- SKIP: TestX/a (0.00s)\nPASS\n", skipped},
		{"^TestX$/^a$", "--- PASS: TestX (0.00s)\nPASS\n", failed},
	} {
		got, err := unit{run: c.run}.read(strings.NewReader(c.printed))
		require.Equal(t, c.want, got, c.printed)
		require.Equal(t, c.want == failed, err != nil)
	}
}

func TestRepeat(t *testing.T) {
	u := tests("x", 30, "./p", "^TestX$/^a b$", "-seed=7")
	u.build = []string{"-race"}
	require.Equal(t, "go test -race ./p -count=1 -timeout=1h30m0s -run '^TestX$/^a b$' -seed=7", u.repeat(0))
	require.Equal(t, `'it'\''s'`, quote("it's"))
	require.Equal(t, "mutants-what-a-row-is", slug("mutants/what a row is"))
}
