package expr

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// strikes are the fields of the rows in most tests: one of each kind, required and optional.
var strikes = []Field{
	{Name: "airport", Kind: row.String}, {Name: "damage", Kind: row.String, Optional: true},
	{Name: "cost_total", Kind: row.Int}, {Name: "speed", Kind: row.Int, Optional: true},
	{Name: "ratio", Kind: row.Float}, {Name: "height", Kind: row.Float, Optional: true},
	{Name: "fatal", Kind: row.Bool}, {Name: "reported", Kind: row.Bool, Optional: true},
	{Name: "flight_date", Kind: row.Date}, {Name: "repair_date", Kind: row.Date, Optional: true},
	{Name: "seen_at", Kind: row.Timestamp}, {Name: "closed_at", Kind: row.Timestamp, Optional: true},
	{Name: "fee", Kind: row.Decimal}, {Name: "rebate", Kind: row.Decimal, Optional: true},
	{Name: "details", Kind: row.JSON}, {Name: "extra", Kind: row.JSON, Optional: true},
	{Name: "Airport Name", Kind: row.String},
}

// tester is a *testing.T, *testing.B or *rapid.T.
type tester interface {
	require.TestingT
	Helper()
}

// strike is a row of strikes whose optional fields are null.
func strike(t tester) row.Row {
	return rowOf(t, strikes, map[string]string{
		"airport": "JFK", "cost_total": "150000", "ratio": "1.5", "fatal": "true", "flight_date": "2001-02-03",
		"seen_at": "2001-02-03T04:05:06.5Z", "fee": "10.10", "Airport Name": "JOHN F KENNEDY",
		"details": `{"birds":[1,2.5,"many"],"weather":{"sky":"clear"},"big":12345678901234567890,"none":null}`,
	})
}

// rowOf returns a row with all fields, whose values are read from texts or null.
func rowOf(t tester, fields []Field, texts map[string]string) row.Row {
	t.Helper()
	var names []string
	var values []row.Value
	for _, f := range fields {
		value := row.NullValue()
		if text, ok := texts[f.Name]; ok {
			value = parse(t, f.Kind, text)
		}
		names, values = append(names, f.Name), append(values, value)
	}
	return row.Row{Shape: row.NewShape(names), Values: values}
}

func parse(t tester, kind row.Kind, text string) row.Value {
	t.Helper()
	value, err := row.Parse(kind, text)
	require.NoError(t, err)
	return value
}

func strikesEnv(t tester) *Env {
	t.Helper()
	env, err := NewEnv(strikes, false, map[string]row.Value{
		"limit": row.IntValue(100000), "pattern": row.StringValue("^J.K$"), "since": parse(t, row.Date, "2000-01-01"),
		"rate": parse(t, row.Decimal, "0.19"), "odd-name": row.BoolValue(true),
	})
	require.NoError(t, err)
	return env
}

func compile(t tester, env *Env, source string) *Program {
	t.Helper()
	program, err := env.Compile(source, Any)
	require.NoError(t, err, source)
	return program
}

// text evaluates source for a strike and returns the kind and text of the result.
func text(t tester, source string) string {
	t.Helper()
	value, err := compile(t, strikesEnv(t), source).Eval(strike(t))
	require.NoError(t, err, source)
	return value.Kind().String() + " " + string(row.AppendText(nil, value))
}

// code evaluates source for a strike and returns the code of the error.
func code(t tester, source string) string {
	t.Helper()
	_, err := compile(t, strikesEnv(t), source).Eval(strike(t))
	var failure *EvalError
	require.ErrorAs(t, err, &failure, source)
	return failure.Code
}

func TestResultsOfEveryKind(t *testing.T) {
	for source, want := range map[string]string{
		"row.airport": "string JFK", "row.cost_total": "int 150000", "row.ratio": "float 1.5", "row.fatal": "bool true",
		"row.flight_date": "date 2001-02-03", "row.seen_at": "timestamp 2001-02-03T04:05:06.5Z", "row.fee": "decimal 10.10",
		"row.speed": "null ", "row.extra": "null ",
		"row.details.weather":                 `json {"sky":"clear"}`,
		"row.details.birds[1]":                "decimal 2.5",
		"row.details.big":                     "decimal 12345678901234567890",
		"row.details.none":                    "null ",
		`row["Airport Name"]`:                 "string JOHN F KENNEDY",
		"row.`Airport Name`":                  "string JOHN F KENNEDY",
		"param.limit":                         "int 100000",
		"param['odd-name']":                   "bool true",
		"param.since":                         "date 2000-01-01",
		"7u":                                  "int 7",
		"[row.fee, 1, null]":                  "json [10.10,1,null]",
		"{'b': row.seen_at, 'a': [1.0]}":      `json {"a":[1.0],"b":"2001-02-03T04:05:06.5Z"}`,
		"row.fatal ? row.speed : 1":           "null ",
		"row.fatal ? 'yes' : null":            "string yes",
		"row.cost_total > param.limit":        "bool true",
		"row.cost_total < 150000.5":           "bool true",
		"row.airport in ['JFK', 'LGA']":       "bool true",
		"row.details.birds.exists(b, b==2.5)": "bool true",
		"row.airport.matches(param.pattern)":  "bool true",
	} {
		require.Equal(t, want, text(t, source), source)
	}
}

// The kind that Compile promises is the kind that Eval gives, for every field and every operation on it.
func TestKindIsKnownBeforeARowIsRead(t *testing.T) {
	for source, want := range map[string]result{
		"row.airport":                          {kind: row.String},
		"row.damage":                           {kind: row.String, nullable: true},
		"row.speed":                            {kind: row.Int, nullable: true},
		"row.repair_date":                      {kind: row.Date, nullable: true},
		"row.fee":                              {kind: row.Decimal},
		"row.fee * 2":                          {kind: row.Decimal},
		"row.flight_date - row.flight_date":    {kind: row.Int},
		"row.details":                          {kind: row.JSON, nullable: true},
		"row.details.birds":                    dynamicResult,
		"[row.repair_date][0]":                 {kind: row.Date, nullable: true},
		"[row.speed][0]":                       {kind: row.Int, nullable: true},
		"row.fatal ? row.speed : 1":            {kind: row.Int, nullable: true},
		"row.fatal ? row.fee : null":           {kind: row.Decimal, nullable: true},
		"row.fatal ? null : null":              {kind: row.Null, nullable: true},
		"null":                                 {kind: row.Null, nullable: true},
		"row.fatal ? row.details.a : 'x'":      dynamicResult,
		"[1]":                                  {kind: row.JSON},
		"row.airport.split('F')":               {kind: row.JSON},
		"has(row.speed)":                       {kind: row.Bool},
		"double(row.fee)":                      {kind: row.Float},
		"string(row.flight_date)":              {kind: row.String},
		"timestamp(row.flight_date)":           {kind: row.Timestamp},
		"row.airport.size()":                   {kind: row.Int},
		"row.fatal ? row.fatal : row.reported": {kind: row.Bool, nullable: true},
	} {
		program := compile(t, strikesEnv(t), source)
		require.Equal(t, want, result{program.Kind(), program.Nullable(), program.Dynamic()}, source)
		value, err := program.Eval(strike(t))
		if err == nil && !program.Dynamic() && !value.IsNull() {
			require.Equal(t, program.Kind(), value.Kind(), source)
		}
	}
}

func TestWant(t *testing.T) {
	env := strikesEnv(t)
	for _, c := range []struct {
		source string
		want   Want
		err    string // of Compile; "" if it compiles
	}{
		{"row.fatal", Bool, ""},
		{"row.airport", Bool, "1:1: the expression gives string, and must give true or false"},
		{"row.airport", BoolOrString, ""},
		{"row.speed", BoolOrString, "1:1: the expression gives int?, and must give true, false or a string"},
		{"null", Bool, "1:1: the expression gives null, and must give true or false"},
		{"row.fatal ? 'x' : null", Bool, "1:1: the expression gives string?, and must give true or false"},
		{"row.details.flag", Bool, ""},
	} {
		_, err := env.Compile(c.source, c.want)
		if c.err == "" {
			require.NoError(t, err, c.source)
		} else {
			require.EqualError(t, err, c.err, c.source)
		}
	}
}

// What Compile cannot know is refused for the row, never taken for false.
func TestWantHoldsForRows(t *testing.T) {
	for source, want := range map[string]string{
		"row.reported":            "the expression must give true or false, and gave null (RESULT_TYPE)",
		"row.details.birds[0]":    "the expression must give true or false, and gave int (RESULT_TYPE)",
		"row.details.birds":       "the expression must give true or false, and gave json (RESULT_TYPE)",
		"row.fatal ? null : true": "the expression must give true or false, and gave null (RESULT_TYPE)",
	} {
		program, err := strikesEnv(t).Compile(source, Bool)
		require.NoError(t, err, source)
		_, err = program.Eval(strike(t))
		require.EqualError(t, err, want, source)
	}
}

func TestResultsThatARowCannotHold(t *testing.T) {
	for source, want := range map[string]string{
		"row.seen_at - row.seen_at": "1:1: the expression gives duration, which a row cannot hold; use string(…), or a number such as .getSeconds()",
		"b'abc'":                    "1:1: the expression gives bytes, which a row cannot hold; use string(…)",
		"type(1)":                   "1:1: the expression gives type(int), which a row cannot hold",
	} {
		_, err := strikesEnv(t).Compile(source, Any)
		require.EqualError(t, err, want)
	}
	for _, source := range []string{"1.0 / 0.0", "[0.0 / 0.0]", "dyn(duration('1s'))", "[duration('1s')]", "{1: 2}", "dyn(b'a')"} {
		require.Equal(t, CodeResultType, code(t, source), source)
	}
	require.Equal(t, CodeOverflow, code(t, "18446744073709551615u"))
}

// Rows of other shapes find their fields by name, in whatever order the rows come.
func TestRowsOfDifferentShapes(t *testing.T) {
	env, err := NewEnv([]Field{{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.Int, Optional: true}}, true, nil)
	require.NoError(t, err)
	program := compile(t, env, "string(row.a) + (has(row.b) ? string(row.b) : '-') + (has(row.c) ? string(row.c) : '-')")
	rows := []row.Row{
		{Shape: row.NewShape([]string{"a", "b"}), Values: []row.Value{row.IntValue(1), row.IntValue(2)}},
		{Shape: row.NewShape([]string{"c", "a"}), Values: []row.Value{row.IntValue(3), row.IntValue(1)}},
		{Shape: row.NewShape([]string{"b", "a", "c"}), Values: []row.Value{row.NullValue(), row.IntValue(1), row.NullValue()}},
	}
	for range 3 {
		for i, want := range []string{"12-", "1-3", "1--"} {
			value, err := program.Eval(rows[i])
			require.NoError(t, err)
			require.Equal(t, want, value.Text())
		}
	}
}

func TestOpenRowsHaveUndeclaredFields(t *testing.T) {
	env, err := NewEnv(nil, true, nil)
	require.NoError(t, err)
	r := row.Row{Shape: row.NewShape([]string{"n", "s"}), Values: []row.Value{row.IntValue(5), row.StringValue("5")}}
	program := compile(t, env, "row.n")
	require.True(t, program.Dynamic())
	value, err := program.Eval(r)
	require.NoError(t, err)
	require.Equal(t, row.IntValue(5), value)
	_, err = compile(t, env, "row.missing == 5").Eval(r)
	require.EqualError(t, err, `the row has no field "missing"; ask has(row.missing) first if that is expected (NO_SUCH_KEY)`)
	_, err = compile(t, env, "row.s > 5").Eval(r)
	require.EqualError(t, err, "> got string and int, in row.s > 5: "+
		"write int(row.s) or decimal(row.s), or declare the field with its type (NO_SUCH_OVERLOAD)")
	_, err = compile(t, env, "row.n.lowerAscii() == 'x'").Eval(r)
	require.EqualError(t, err, "lowerAscii() got values of kinds that it does not take, in row.n.lowerAscii() (NO_SUCH_OVERLOAD)")
}

func TestProgramsAreSafeForConcurrentUse(t *testing.T) {
	env := strikesEnv(t)
	a, b := strike(t), rowOf(t, strikes, map[string]string{"cost_total": "1", "airport": "LGA"})
	sources := []string{"row.cost_total > 5", "row.airport.lowerAscii()", "row.speed + 1", "row.extra.x", "row.airport.matches('J')",
		"row.details.birds.map(x, x)"}
	var wait sync.WaitGroup
	for _, source := range sources {
		program := compile(t, env, source)
		for range 4 {
			wait.Go(func() {
				for i := range 100 {
					r := []row.Row{a, b}[i%2]
					first, err1 := program.Eval(r)
					again, err2 := program.Eval(r)
					if first != again || (err1 == nil) != (err2 == nil) {
						t.Errorf("%s: %v, %v, then %v, %v", source, first, err1, again, err2)
					}
					program.Explain(r)
					compile(t, env, source)
				}
			})
		}
	}
	wait.Wait()
}

func TestPanicsBecomeErrors(t *testing.T) {
	broken := row.Row{Shape: strike(t).Shape} // no values: against the contract of Row
	for _, source := range []string{"row.airport + 'x'", "row.airport == 'x'"} {
		_, err := compile(t, strikesEnv(t), source).Eval(broken)
		var failure *EvalError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, CodeEval, failure.Code)
	}
}

func TestMessagesAreOneCleanLine(t *testing.T) {
	r := rowOf(t, strikes, map[string]string{"airport": "evil\x1b[2J\nline\u2028" + strings.Repeat("é", 5000)})
	_, err := compile(t, strikesEnv(t), "int(row.airport)").Eval(r)
	var failure *EvalError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, CodeEval, failure.Code)
	require.NotContains(t, failure.Message, "\n")
	require.NotContains(t, failure.Message, "\x1b")
	require.NotContains(t, failure.Message, "\u2028")
	require.Less(t, len(failure.Message), maxMessageBytes+20)
}
