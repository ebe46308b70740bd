package expr

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// The cases of expressions in the catalogue of bad inputs, by number.

func compileError(t *testing.T, source string) string {
	t.Helper()
	_, err := strikesEnv(t).Compile(source, Bool)
	var failure *CompileError
	require.ErrorAs(t, err, &failure, "%.80s", source)
	return failure.Error()
}

func TestBI196SyntaxErrorHasAColumn(t *testing.T) {
	require.Equal(t, "1:18: syntax error: the expression ends too early", compileError(t, "row.cost_total >= "[:17]))
	require.Equal(t, "2:10: syntax error: unexpected \")\"", compileError(t, "row.fatal &&\nrow.fatal)"))
}

func TestBI197UnknownFieldIsNeverFalse(t *testing.T) {
	require.Contains(t, compileError(t, "row.fatl"), `1:5: the row has no field "fatl" (did you mean "fatal"?); its fields: airport, damage`)
	open, err := NewEnv(strikes, true, nil)
	require.NoError(t, err)
	_, err = compile(t, open, "row.fatl == true").Eval(strike(t))
	var failure *EvalError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, CodeNoSuchKey, failure.Code)
}

func TestBI198ResultIsNotBool(t *testing.T) {
	require.Equal(t, "1:1: the expression gives int, and must give true or false", compileError(t, "row.cost_total"))
}

func TestBI199IntAgainstString(t *testing.T) {
	require.Equal(t, "1:16: == does not take int and string: write the number without quotes, or convert with int(…) or string(…)",
		compileError(t, "row.cost_total == '5'"))
}

func TestBI200IntPlusDouble(t *testing.T) {
	require.Equal(t, "1:16: + does not take int and double: convert the int with double(…)", compileError(t, "row.cost_total + 1.5 > 2.0"))
}

func TestBI201Overflow(t *testing.T) {
	require.Equal(t, CodeOverflow, code(t, "row.cost_total + 9223372036854775807"))
	require.Equal(t, CodeOverflow, code(t, "row.cost_total * 9223372036854775807"))
	require.Equal(t, CodeOverflow, code(t, "-9223372036854775807 - row.cost_total"))
	require.Equal(t, CodeOverflow, code(t, "int(row.ratio * 1e300)"))
}

func TestBI202DivisionByZero(t *testing.T) {
	require.Equal(t, CodeDivisionByZero, code(t, "row.cost_total / (row.cost_total - 150000)"))
	require.Equal(t, CodeDivisionByZero, code(t, "row.cost_total % (row.cost_total - 150000)"))
}

func TestBI203NaNDoesNotEnterARow(t *testing.T) {
	require.Equal(t, CodeResultType, code(t, "0.0 / 0.0"))
	require.Equal(t, CodeResultType, code(t, "{'a': 0.0 / 0.0}"))
}

func TestBI204NestedLoopsAreStopped(t *testing.T) {
	env := strikesEnv(t)
	list := "[" + strings.Repeat("1,", 999) + "1]"
	program := compile(t, env, list+".all(a, row.details.birds.all(b, "+list+".all(c, "+list+".all(d, row.cost_total != a))))")
	start := time.Now()
	_, err := program.Eval(strike(t))
	var failure *EvalError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, CodeCost, failure.Code)
	require.Less(t, time.Since(start), time.Minute, "10 ms on an idle machine")
}

func TestBI205FiveHundredParentheses(t *testing.T) {
	require.Equal(t, "1:1: the expression is nested deeper than 250 levels: compute parts of it in steps before",
		compileError(t, strings.Repeat("(", 500)+"row.fatal"+strings.Repeat(")", 500)))
	compileError(t, strings.Repeat("(", 500)+"row.fatal")
	compileError(t, strings.Repeat("[", 500)+strings.Repeat("]", 500)+"== []")
}

func TestBI206ExpressionOf16KiB(t *testing.T) {
	require.Equal(t, "1:1: the expression has 16385 bytes; the limit is 16384: compute parts of it in steps before",
		compileError(t, "row.fatal"+strings.Repeat(" ", 16385-9)))
	program := compile(t, strikesEnv(t), "row.airport == ''"+strings.Repeat(" || row.airport == 'ABC'", 680)+" || row.fatal")
	value, err := program.Eval(strike(t))
	require.NoError(t, err)
	require.Equal(t, row.BoolValue(true), value)
	require.NotEmpty(t, program.Explain(strike(t)))
}

func TestBI207CatastrophicPattern(t *testing.T) {
	r := rowOf(t, strikes, map[string]string{"airport": strings.Repeat("a", 50000) + "!"})
	value, err := compile(t, strikesEnv(t), "row.airport.matches('(a+)+$')").Eval(r)
	require.NoError(t, err)
	require.Equal(t, row.BoolValue(false), value)
}

func TestBI208PatternsFromData(t *testing.T) {
	require.Equal(t, "1:25: the pattern of matches() must be a literal text or a parameter", compileError(t, "row.airport.matches('a' + row.airport)"))
	require.Contains(t, compileError(t, "row.airport.matches('(a{1000}){1000}')"), "1:21: error parsing regexp: invalid repeat count")
	r := rowOf(t, strikes, map[string]string{"airport": strings.Repeat("a", 1<<20)})
	start := time.Now()
	_, err := compile(t, strikesEnv(t), "row.airport.matches('(a{500}b?){2}$')").Eval(r)
	var failure *EvalError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, CodeCost, failure.Code)
	require.Less(t, time.Since(start), time.Minute)
}

func TestBI209NoClockAndNoChance(t *testing.T) {
	for _, source := range []string{"now() > row.seen_at", "random() > 0.5", "uuid() == 'x'"} {
		require.Contains(t, compileError(t, source), "an expression gives the same value whenever it is evaluated")
	}
}

func TestBI210GrowingTexts(t *testing.T) {
	grow := "row.airport" + strings.Repeat(".replace('J', '"+strings.Repeat("J", 1000)+"')", 3)
	require.Equal(t, CodeCost, code(t, grow))
	require.Equal(t, CodeCost, code(t, "size("+grow+") > 5"))
	big := rowOf(t, strikes, map[string]string{"airport": strings.Repeat("a", 1<<20)})
	_, err := compile(t, strikesEnv(t), "[row.airport, row.airport]").Eval(big)
	require.EqualError(t, err, "the result is larger than 1048576 bytes (RESULT_SIZE)")
	for _, source := range []string{
		"row.airport + row.airport",
		"[row.airport, row.airport].join()",
		"row.airport.replace('', row.airport)",
		"row.airport.split('').map(x, row.airport).size()",
		"[1,2,3,4,5,6,7,8,9].map(x, row.airport + row.airport).size() > 1",
	} {
		start := time.Now()
		_, err := compile(t, strikesEnv(t), source).Eval(big)
		var failure *EvalError
		require.ErrorAs(t, err, &failure, source)
		require.Contains(t, []string{CodeCost, CodeResultSize}, failure.Code, source)
		require.Less(t, time.Since(start), time.Minute, source)
	}
}
