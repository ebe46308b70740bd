package expr

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// documentedRun returns the figures of docs/policies.md, and what they are.
func documentedRun(t *testing.T) (*RunEnv, map[string]row.Value) {
	t.Helper()
	values := map[string]row.Value{
		"run.read": row.IntValue(900), "run.refused": row.IntValue(15), "run.bytes": row.IntValue(0), "sinks.by-state.rows": row.IntValue(885),
		"edges.triage.review": row.IntValue(0), "errors.CONVERT": row.IntValue(15),
	}
	var figures []Field
	for name := range values {
		figures = append(figures, Field{Name: name, Kind: row.Int})
	}
	env, err := NewRunEnv(figures, map[string]row.Value{"most": row.IntValue(2), "later": row.NullValue()})
	require.NoError(t, err)
	values[MedianOf(20, "run.read")], values[MedianOf(50, "run.read")] = row.FloatValue(850.5), row.NullValue()
	return env, values
}

func valuesOf(a *Assertion, values map[string]row.Value) []row.Value {
	var all []row.Value
	for _, name := range a.Figures() {
		all = append(all, values[name])
	}
	return all
}

// TestPoliciesPage executes the examples of docs/policies.md.
func TestPoliciesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	require.NoError(t, err)
	env, values := documentedRun(t)
	examples := eachExample(t, string(page), regexp.MustCompile("(?s)```cel-run\n(.*?)```"), func(source string) string {
		a, err := env.Compile(source)
		if err != nil {
			return shownError(err)
		}
		holds, err := a.Holds(valuesOf(a, values))
		switch {
		case err != nil:
			return shownError(err)
		case holds:
			return a.Shown(valuesOf(a, values)) + " is true"
		default:
			return a.Shown(valuesOf(a, values)) + " is false"
		}
	})
	require.Greater(t, examples, 10)
}

func TestAssertionsThatAreRefused(t *testing.T) {
	env, _ := documentedRun(t)
	for source, want := range map[string]string{
		"run.raed > 1":              `1:5: a run has no figure run.raed (did you mean "run.read"?); its figures: `,
		"sinks > 2":                 "1:1: sinks is no figure; name one of its figures: sinks.by-state.rows",
		"sinks['by-state'] > 2":     "1:6: sinks.by-state is no figure; name one of its figures: sinks.by-state.rows",
		"run.read.x > 1":            `1:10: a run has no figure run.read.x (did you mean "run.read"?)`,
		"last(3) > 2":               "1:1: last() is followed by a figure, as in last(20).run.read",
		"last(101).run.read > 2.0":  "1:1: last() takes a number from 1 to 100",
		"last('3').run.read > 2.0":  "1:1: last() takes a number from 1 to 100",
		"last(1, 2).run.read > 2.0": "1:1: last() takes a number from 1 to 100",
		"last(2).run.rad > 2.0":     `1:13: a run has no figure run.rad (did you mean "run.read"?)`,
		"[1].exists(run, run > 2)":  `1:5: "run" begins the names of figures: choose another name for the item`,
		"row.x > 1":                 `1:1: unknown name "row": an expression sees figures of the run, such as run.read and param.NAME`,
		"run.read > 'a'":            "1:10: > does not take int and string: write the number without quotes, or convert with int(…) or string(…)",
		"param.mots > 1": `1:7: no parameter is named "mots" (did you mean "most"?); ` +
			`the parameters: later, most`,
		"has(run.read)":                         "1:5: run is no figure; name one of its figures: ",
		"count() > 1":                           "1:1: count() is an aggregate function",
		"true ? run.read : run.read":            "1:1: the expression gives int, and must give true or false",
		"last(20).run.read > 1.0 && run.x == 1": "1:32: a run has no figure run.x",
	} {
		_, err := env.Compile(source)
		require.ErrorContains(t, err, want, source)
	}
}

// TestAssertionIsShownWhole: every figure and parameter is shown by its value, and the rest as it was written, in one line.
func TestAssertionIsShownWhole(t *testing.T) {
	env, values := documentedRun(t)
	for source, want := range map[string]string{
		"run.read>run.refused":                                     "900>15",
		"(run . read) == sinks.`by-state`.rows\n  || false":        "(900) == 885 || false",
		"[run.read, 2].exists(x, x > run.refused)":                 "[900, 2].exists(x, x > 15)",
		"last( 20 ).run.read > double(param['most'])":              "850.5 > double(2)",
		"run.read > 0 /* no comment */ ? true : run.refused == 15": "",
		"'run.read' != string(run.read)":                           "'run.read' != string(900)",
		"run.read > param.later":                                   "900 > param.later",
	} {
		a, err := env.Compile(source)
		if want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err, source)
		require.Equal(t, want, a.Shown(valuesOf(a, values)))
	}
	for name, want := range map[string]bool{"last(20).run.read": true, "run.read": false, "last.read": false} {
		n, figure, ok := Median(name)
		require.Equal(t, want, ok, name)
		if ok {
			require.Equal(t, []any{20, "run.read"}, []any{n, figure})
		}
	}
}
