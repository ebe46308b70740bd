package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzCompileBatch checks that any text is refused at a place within it, or is a program whose calls are compiled.
func FuzzCompileBatch(f *testing.F) {
	for _, seed := range []string{
		"sum(row.cost_total) / count()", "quantile((row.ratio), // a, b\n 0.5)", "[1].map(x, max(row.airport + ')'))", "first(row['Airport Name'])", "sum(max(row.speed))",
		"has(row.speed)", "count(", "sum(]", "quantile(,)", "sum(row.`cost_total`)", "max(r'\\')", "min('''\n''')", "{'a': count()}.a", "(sum)(1)", ".sum(row.speed)", "sum.x(1)", "sum(1).sum(2)",
	} {
		f.Add(seed)
	}
	env := strikesEnv(f)
	f.Fuzz(func(t *testing.T, source string) {
		program, err := env.CompileBatch(source, Any)
		if failure, ok := errors.AsType[*CompileError](err); ok {
			lines := strings.Split(source, "\n")
			require.LessOrEqual(t, failure.Line, len(lines)+1)
			return
		}
		require.NoError(t, err)
		for _, call := range program.Calls() {
			require.Equal(t, call.Func == Count, call.Arg == nil)
		}
	})
}

// As many calls as a source has room for are compiled in time.
func TestBatchOfManyCalls(t *testing.T) {
	var calls []string
	for i := 100; len(calls) < maxSourceBytes/len("sum(row.speed*100),"); i++ {
		calls = append(calls, fmt.Sprintf("sum(row.speed*%d)", i))
	}
	start := time.Now()
	program, err := strikesEnv(t).CompileBatch("["+strings.Join(calls, ",")+"]", Any)
	require.NoError(t, err)
	require.Len(t, program.Calls(), len(calls))
	require.Less(t, time.Since(start), 5*time.Minute, "half a second on an idle machine")
}
