package expr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// Each function promises the kind of its results before a row is read, and whether they may be null.
func TestAggregateKinds(t *testing.T) {
	for source, want := range map[string]result{
		"count()":                             {kind: row.Int},
		"sum(row.cost_total)":                 {kind: row.Int},
		"sum(row.speed)":                      {kind: row.Int, nullable: true},
		"sum(row.ratio)":                      {kind: row.Float},
		"sum(row.fee)":                        {kind: row.Decimal},
		"sum(row.details.x)":                  dynamicResult,
		"mean(row.cost_total)":                {kind: row.Float},
		"mean(row.height)":                    {kind: row.Float, nullable: true},
		"mean(row.fee)":                       {kind: row.Decimal},
		"mean(row.details.x)":                 dynamicResult,
		"min(row.airport)":                    {kind: row.String},
		"max(row.repair_date)":                {kind: row.Date, nullable: true},
		"max(row.seen_at)":                    {kind: row.Timestamp},
		"min(row.fatal)":                      {kind: row.Bool},
		"first(row.details)":                  {kind: row.JSON, nullable: true},
		"last(row.fee)":                       {kind: row.Decimal},
		"last(null)":                          {kind: row.Null, nullable: true},
		"collect(row.damage)":                 {kind: row.JSON},
		"collect(row.details.x)":              {kind: row.JSON},
		"count_distinct(row.details)":         {kind: row.Int},
		"quantile(row.cost_total, 0.5)":       {kind: row.Int},
		"quantile(row.height, 1)":             {kind: row.Float, nullable: true},
		"sum(row.fatal ? 1 : 0)":              {kind: row.Int},
		"sum(row.fatal ? row.fee : null)":     {kind: row.Decimal, nullable: true},
		"max(row.airport + param.pattern)":    {kind: row.String},
		"count_distinct(row['Airport Name'])": {kind: row.Int},
	} {
		program, err := strikesEnv(t).CompileBatch(source, Any)
		require.NoError(t, err, source)
		require.Len(t, program.Calls(), 1, source)
		call := program.Calls()[0]
		require.Equal(t, want, result{call.Kind, call.Nullable, call.Dynamic}, source)
		require.Equal(t, want, result{program.Kind(), program.Nullable(), program.Dynamic()}, source)
		require.Equal(t, source, call.Source)
	}
}

// Calls of one function with one text as argument are one call, in the order of the source.
func TestCallsAreDistinct(t *testing.T) {
	program, err := strikesEnv(t).CompileBatch(
		"count() + sum(row.cost_total) + sum( row.cost_total ) + sum(row.speed) + count() + quantile(row.speed, 0.5) + quantile(row.speed, // half\n .5) + quantile(row.speed, 1)", Any)
	require.NoError(t, err)
	var sources []string
	for _, call := range program.Calls() {
		sources = append(sources, call.Source)
	}
	require.Equal(t, []string{"count()", "sum(row.cost_total)", "sum(row.speed)", "quantile(row.speed, 0.5)", "quantile(row.speed, 1)"}, sources)
	require.Nil(t, program.Calls()[0].Arg)
	require.Equal(t, []string{"speed"}, program.Calls()[2].Arg.Fields())
	require.Equal(t, 0.5, program.Calls()[3].Quantile)
	value, err := program.Eval(ints(1, 10, 100, 1000, 10000))
	require.NoError(t, err)
	require.Equal(t, row.IntValue(1+10+10+100+1+1000+1000+10000), value)
}

func ints(numbers ...int64) []row.Value {
	var values []row.Value
	for _, n := range numbers {
		values = append(values, row.IntValue(n))
	}
	return values
}

// The results of the calls are combined by all of CEL.
func TestBatchEval(t *testing.T) {
	one := func(values ...row.Value) []row.Value { return values }
	list := parse(t, row.JSON, `["a","b"]`)
	for _, c := range []struct {
		source  string
		results []row.Value
		want    string
	}{
		{"sum(row.cost_total) / count()", ints(7, 2), "int 3"},
		{"double(sum(row.cost_total)) / double(count())", ints(7, 2), "float 3.5"},
		{"sum(row.cost_total) > param.limit ? 'high' : 'low'", ints(100001), "string high"},
		{"sum(row.speed) == null ? 0 : sum(row.speed)", one(row.NullValue()), "int 0"},
		{"sum(row.speed) == null ? 0 : sum(row.speed)", ints(5), "int 5"},
		{"sum(row.speed)", one(row.NullValue()), "null "},
		{"(sum(row.fee) * param.rate).round(2)", one(parse(t, row.Decimal, "10.10")), "decimal 1.92"},
		{"collect(row.airport)", one(list), `json ["a","b"]`},
		{"size(collect(row.airport))", one(list), "int 2"},
		{"collect(row.airport).map(a, a + '!')", one(list), `json ["a!","b!"]`},
		{"[1, 2].map(x, x * max(row.cost_total))", ints(5), "json [5,10]"},
		{"{'least': min(row.ratio), 'n': count()}", one(row.FloatValue(1.5), row.IntValue(2)), `json {"least":1.5,"n":2}`},
		{"max(row.flight_date) - min(row.flight_date)", one(row.DateValue(9), row.DateValue(2)), "int 7"},
		{"max(row.details.x) + 1", ints(4), "int 5"},
		{"max(row.details.x)", one(row.StringValue("z")), "string z"},
		{"first(row.details)", one(parse(t, row.JSON, `{"a":1}`)), `json {"a":1}`},
		{"param.limit", nil, "int 100000"},
	} {
		program, err := strikesEnv(t).CompileBatch(c.source, Any)
		require.NoError(t, err, c.source)
		value, err := program.Eval(c.results)
		require.NoError(t, err, c.source)
		require.Equal(t, c.want, value.Kind().String()+" "+string(row.AppendText(nil, value)), c.source)
	}
}

// What goes wrong with a batch is told in the words of the document.
func TestBatchEvalErrors(t *testing.T) {
	for _, c := range []struct {
		source  string
		results []row.Value
		err     string
	}{
		{"1 + sum(row.speed)", []row.Value{row.NullValue()}, "sum(row.speed) is null; test it with has(…) or == null first (NULL_OPERAND)"},
		{"max( row.details.x ) + 1", []row.Value{row.StringValue("z")},
			"+ got string and int, in max( row.details.x ) + 1: " +
				"write int(max( row.details.x )) or decimal(max( row.details.x )), " +
				"or declare the field with its type (NO_SUCH_OVERLOAD)"},
		{"sum(row.cost_total) / (count() - 1)", ints(5, 1), "division by zero (DIVISION_BY_ZERO)"},
	} {
		program, err := strikesEnv(t).CompileBatch(c.source, Any)
		require.NoError(t, err, c.source)
		_, err = program.Eval(c.results)
		require.EqualError(t, err, c.err, c.source)
	}
	program, err := strikesEnv(t).CompileBatch("sum(row.cost_total) + count()", Any)
	require.NoError(t, err)
	_, err = program.Eval(ints(1))
	require.ErrorContains(t, err, "internal error")
}

// An argument of a kind that the function does not take is refused with the row where it was not known before.
func TestAggregateArgumentsOfRows(t *testing.T) {
	for source, want := range map[string]string{
		"sum(row.details.birds[2])":            "the expression must give a number, and gave string (RESULT_TYPE)",
		"mean(row.details.weather)":            "the expression must give a number, and gave json (RESULT_TYPE)",
		"min(row.details.birds)":               "the expression must give a bool, number, text, date or time, and gave json (RESULT_TYPE)",
		"quantile(row.details.birds, 0.5)":     "the expression must give a bool, number, text, date or time, and gave json (RESULT_TYPE)",
		"sum(row.speed + 1)":                   "row.speed is null; test it with has(…) or == null first (NULL_OPERAND)",
		"sum(row.details.birds[1])":            "",
		"sum(row.details.big)":                 "",
		"sum(row.details.none)":                "",
		"max(row.details.birds[2])":            "",
		"collect(row.details)":                 "",
		"count_distinct(row.details.birds[2])": "",
		"sum(row.speed)":                       "",
	} {
		program, err := strikesEnv(t).CompileBatch(source, Any)
		require.NoError(t, err, source)
		_, err = program.Calls()[0].Arg.Eval(strike(t))
		if want == "" {
			require.NoError(t, err, source)
		} else {
			require.EqualError(t, err, want, source)
		}
	}
}

// Mistakes are found where they stand, also in arguments and after line ends, and come with their cure.
func TestBatchCompileErrors(t *testing.T) {
	for source, want := range map[string]string{
		"row.speed":                        "1:5: row.speed belongs to one row, and a batch has many: write first(row.speed), or another aggregate function of it",
		"count() > 1 && has(row.speed)":    "1:16: has(row.speed) belongs to one row, and a batch has many: write first(has(row.speed)), or another aggregate function of it",
		`1 + row["Airport Name"]`:          `1:8: row["Airport Name"] belongs to one row, and a batch has many: write first(row["Airport Name"]), or another aggregate function of it`,
		"size(row)":                        `1:6: "row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`,
		"sum(row)":                         `1:5: "row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`,
		"sum(max(row.speed))":              "1:5: max() is an aggregate function: it belongs into the compute of an aggregate, and not inside another one",
		"sum(row.airport)":                 "1:9: sum() takes a number, and row.airport is string",
		"sum(has(row.speed))":              "1:5: sum() takes a number, and has(row.speed) is bool",
		"1 +\n max( row.details )":         "2:11: max() takes a bool, number, text, date or time, and row.details is json?",
		"count(row.speed)":                 "1:1: count() counts rows and takes no argument; write sum(has(row.x) ? 1 : 0) for the rows that have a value",
		"1 + sum()":                        "1:5: sum() takes one argument, such as sum(row.x)",
		"min(row.speed, row.cost_total)":   "1:1: min() takes one argument, such as min(row.x)",
		"quantile(row.speed)":              "1:1: quantile() takes a value and a number from 0 to 1, such as quantile(row.x, 0.95)",
		"quantile(row.speed, 1.5)":         "1:21: the second argument of quantile() must be a literal from 0 to 1, such as 0.95",
		"quantile(row.speed, -0.5)":        "1:21: the second argument of quantile() must be a literal from 0 to 1, such as 0.95",
		"quantile(row.speed, param.rate)":  "1:27: the second argument of quantile() must be a literal from 0 to 1, such as 0.95",
		"1 +\n\tsum(row.cots)":             `2:10: the row has no field "cots"; its fields: airport, `,
		"count() + sum(row.airport - 1)":   "1:27: - does not take string and int: write the number without quotes, or convert with int(…) or string(…)",
		"sum(duration('1h'))":              "1:5: the expression gives duration, which a row cannot hold; use string(…), or a number such as .getSeconds()",
		"avg(row.speed)":                   "1:1: there is no function avg(); the aggregate functions are count, sum, min, max, mean, first, last, collect, count_distinct, quantile",
		"summ(row.speed)":                  "1:1: there is no function summ() (did you mean sum()?)",
		"sizes(collect(row.speed))":        "1:1: there is no function sizes() (did you mean size()?)",
		"now()":                            "1:1: there is no function now(): an expression gives the same value whenever it is evaluated; pass such a value as a parameter",
		"cost > 1":                         "1:1: unknown name \"cost\": an expression sees aggregate functions over row.FIELD and param.NAME; texts stand in quotes",
		"sum(speed)":                       `1:5: unknown name "speed": write row.speed for the field`,
		"has(sum(row.speed))":              "1:5: has() takes a field, such as has(row.x); test other values with == null",
		"[1].map(x, sum(row.speed * x))":   `1:28: unknown name "x": an expression sees row.FIELD and param.NAME; texts stand in quotes`,
		"count() > 'x'":                    "1:9: > does not take int and string: write the number without quotes, or convert with int(…) or string(…)",
		"sum(row.cost_total) +":            "1:22: syntax error: the expression ends too early",
		"sum(row.seen_at - row.closed_at)": "1:5: the expression gives duration, which a row cannot hold; use string(…), or a number such as .getSeconds()",
	} {
		_, err := strikesEnv(t).CompileBatch(source, Any)
		var failure *CompileError
		require.ErrorAs(t, err, &failure, source)
		require.Contains(t, err.Error(), want, source)
	}
	_, err := strikesEnv(t).CompileBatch("  count()", Bool)
	require.EqualError(t, err, "1:3: the expression gives int, and must give true or false")
}

// Where there is no batch, aggregate functions are explained.
func TestAggregatesElsewhere(t *testing.T) {
	_, err := strikesEnv(t).Compile("row.cost_total > mean(row.cost_total)", Bool)
	require.EqualError(t, err, "1:18: mean() is an aggregate function: it belongs into the compute of an aggregate, and not inside another one")
	_, err = batchEnv(t).Compile("count() > 5", Bool)
	require.EqualError(t, err, "1:1: count() is an aggregate function: compute it as a field of the aggregate, and test the field")
}

func batchEnv(t *testing.T) *Env {
	env, err := NewBatchEnv([]Field{{Name: "n", Kind: row.Int}, {Name: "total", Kind: row.Decimal, Optional: true}, {Name: "rows", Kind: row.Int}}, false,
		map[string]row.Value{"limit": row.IntValue(100)})
	require.NoError(t, err)
	return env
}

// In a trigger, the fields of the batch stand behind `batch`.
func TestBatchEnv(t *testing.T) {
	shape := row.NewShape([]string{"rows", "n", "total"})
	for source, want := range map[string]string{
		"batch.n > param.limit && batch.rows > 5":           "bool true",
		`batch["n"] == 100`:                                 "bool false",
		"has(batch.total) && batch.total > 5":               "bool false",
		"batch.total == null ? batch.n - batch.rows : null": "int 95",
	} {
		value, err := compile(t, batchEnv(t), source).Eval(row.Row{Shape: shape, Values: []row.Value{row.IntValue(6), row.IntValue(101), row.NullValue()}})
		require.NoError(t, err, source)
		require.Equal(t, want, value.Kind().String()+" "+string(row.AppendText(nil, value)), source)
	}
	require.Equal(t, []string{"rows", "n"}, compile(t, batchEnv(t), "batch.rows > batch.n || batch.rows == 1").Fields())
	for source, want := range map[string]string{
		"batch.m > 1":  `1:7: the batch has no field "m"; its fields: n, total, rows`,
		"row.n > 1":    `1:1: unknown name "row": an expression sees batch.FIELD and param.NAME; texts stand in quotes`,
		"n > 1":        `1:1: unknown name "n": write batch.n for the field`,
		"size(batch)":  `1:6: "batch" is used through its fields: batch.NAME, or batch["NAME"] with the name in quotes`,
		"batch.n":      "1:1: the expression gives int, and must give true or false",
		"batch.n == 1": "",
	} {
		_, err := batchEnv(t).Compile(source, Bool)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want, source)
		}
	}
	_, err := strikesEnv(t).Compile("batch.n > 1", Bool)
	require.EqualError(t, err, `1:1: unknown name "batch": an expression sees row.FIELD and param.NAME; texts stand in quotes`)
}
