package expr

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/row"
)

// Whatever the argument of a function is, it is compiled as if it stood alone.
func TestArgumentsAreExpressions(t *testing.T) {
	env := strikesEnv(t)
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]row.Kind{row.Bool, row.Int, row.Float, row.String, row.Date}).Draw(t, "kind")
		argument, r := drawExpr(t, kind, 3), drawStrike(t)
		form := rapid.SampledFrom([][2]string{
			{"first(", ")"}, {"quantile( ", ", 0.5)"}, {"1 + size(collect((", ")\n))"}, {"[ ')' ].map(x, max(", "// ),\n))"}, {"quantile(", "// ),\n, 1)"},
		}).Draw(t, "form")
		program, err := env.CompileBatch(form[0]+argument+form[1], Any)
		require.NoError(t, err, argument)
		require.Len(t, program.Calls(), 1)
		require.Equal(t, outcome(compile(t, env, argument), r), outcome(program.Calls()[0].Arg, r), argument)
	})
}

var readOfRow = regexp.MustCompile(`has\(row\.[a-z_]+\)|row\.[a-z_]+|row\['[A-Za-z ]+'\]`)

// Of a batch of one row, an expression over the first row has the value or error that it has for the row.
func TestBatchOfOneRow(t *testing.T) {
	env := strikesEnv(t)
	rapid.Check(t, func(t *rapid.T) {
		source, r := drawExpr(t, rapid.SampledFrom([]row.Kind{row.Bool, row.Int, row.String}).Draw(t, "kind"), 3), drawStrike(t)
		program, err := env.CompileBatch(readOfRow.ReplaceAllString(source, "first($0)"), Any)
		require.NoError(t, err, source)
		var results []row.Value
		for _, call := range program.Calls() {
			value, err := call.Arg.Eval(r)
			require.NoError(t, err, call.Source)
			results = append(results, value)
		}
		over := row.Row{Shape: program.shape, Values: results}
		require.Equal(t, outcome(compile(t, env, source), r), outcome(program.outside, over), source)
	})
}
