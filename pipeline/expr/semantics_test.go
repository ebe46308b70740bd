package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

func TestNull(t *testing.T) {
	for source, want := range map[string]string{
		"row.speed == null":                  "bool true",
		"row.speed != null":                  "bool false",
		"row.speed == 5":                     "bool false",
		"row.repair_date == null":            "bool true",
		"row.rebate == null":                 "bool true",
		"row.extra == null":                  "bool true",
		"row.details.none == null":           "bool true",
		"has(row.speed)":                     "bool false",
		"has(row.cost_total)":                "bool true",
		"has(row.extra)":                     "bool false",
		"has(row.details.none)":              "bool true", // the key is there
		"has(row.details.nothing)":           "bool false",
		"has(row.speed) && row.speed > 5":    "bool false",
		"row.speed == null || row.speed > 5": "bool true",
		"row.speed > 5 || row.fatal":         "bool true", // the other side decides
		"has(row.damage) ? row.damage : '-'": "string -",
		"row.fatal ? null : row.flight_date": "null ",
		"[row.speed, row.damage]":            "json [null,null]",
	} {
		require.Equal(t, want, text(t, source), source)
	}
}

func TestNullOperandIsNamed(t *testing.T) {
	for source, operand := range map[string]string{
		"row.speed + 1":                        "row.speed",
		"1 + row.speed > 5":                    "row.speed",
		"row.speed > 5":                        "row.speed",
		"row.damage.startsWith('x')":           "row.damage",
		"row.airport + row.damage":             "row.damage",
		"!row.reported":                        "row.reported",
		"row.reported || !row.fatal":           "row.reported",
		"row.fatal && row.reported":            "row.reported",
		"row.reported ? 1 : 2":                 "row.reported",
		"-row.rebate":                          "row.rebate",
		"row.rebate * 2":                       "row.rebate",
		"row.repair_date > date('2001-01-01')": "row.repair_date",
		"row.closed_at > row.seen_at":          "row.closed_at",
		"row.details.none + 1":                 "row.details.none",
		"row.extra.all(x, x > 1)":              "row.extra",
		"(has(row.speed) && row.speed > 1) || row.height > 1.0":      "row.height",
		"row.fatal ? row.speed + 1 : row.height + 1.0 > 1.0 ? 1 : 2": "row.speed",
	} {
		_, err := compile(t, strikesEnv(t), source).Eval(strike(t))
		require.EqualError(t, err, operand+" is null; test it with has(…) or == null first (NULL_OPERAND)", source)
	}
}

func TestErrorCodes(t *testing.T) {
	for source, want := range map[string]string{
		"row.details.nothing":             CodeNoSuchKey,
		"row.details['nothing'] == 1":     CodeNoSuchKey,
		"row.details.birds[3]":            CodeNoSuchKey,
		"row.airport.charAt(17)":          CodeNoSuchKey,
		"row.details.birds[2] > 5":        CodeNoSuchOverload,
		"row.details.birds.all(b, b > 0)": CodeNoSuchOverload,
		"int(row.airport)":                CodeEval,
		"date(row.airport)":               CodeEval,
		"decimal(row.airport)":            CodeEval,
		"timestamp(row.airport)":          CodeEval,
		"timestamp('2001-02-03T04:05:06.1234567891Z' + (row.fatal ? '' : ' '))": CodeEval,
		"timestamp(dyn(row.fatal))":                          CodeNoSuchOverload,
		"row.fee.round(row.cost_total)":                      CodeEval,
		"row.flight_date + 4000000":                          CodeOverflow,
		"timestamp('9999-12-31T23:59:59Z') + duration('1h')": CodeOverflow,
		"int(row.fee * 1000000000000000000)":                 CodeOverflow,
	} {
		require.Equal(t, want, code(t, source), source)
	}
}

func TestDecimalsAreExact(t *testing.T) {
	for source, want := range map[string]string{
		"row.fee + row.fee":               "decimal 20.20",
		"row.fee - 1":                     "decimal 9.10",
		"1 - row.fee":                     "decimal -9.10",
		"row.fee * param.rate":            "decimal 1.9190",
		"(row.fee * param.rate).round(2)": "decimal 1.92",
		"decimal('2.345').round(2)":       "decimal 2.35",
		"decimal('-2.345').round(2)":      "decimal -2.35",
		"-row.fee":                        "decimal -10.10",
		"decimal('0.1') + decimal('0.2')": "decimal 0.3",
		"decimal(0.1)":                    "decimal 0.1",
		"decimal(1e21)":                   "decimal 1000000000000000000000",
		"decimal(7)":                      "decimal 7",
		"row.fee == decimal('10.1')":      "bool true",
		"row.fee != decimal('10.1')":      "bool false",
		"row.fee > 10":                    "bool true",
		"10 >= row.fee":                   "bool false",
		"row.fee <= decimal('10.10')":     "bool true",
		"row.details.big == decimal('12345678901234567890')": "bool true",
		"string(row.fee)":                            "string 10.10",
		"double(row.fee)":                            "float 10.1",
		"int(row.fee)":                               "int 10",
		"int(decimal('-10.9'))":                      "int -10",
		"row.fee in [decimal('10.1')]":               "bool true",
		"[row.fee, decimal('12345678901234567890')]": "json [10.10,12345678901234567890]",
	} {
		require.Equal(t, want, text(t, source), source)
	}
}

// TestJSONOperands calculates with and compares values that are fields, and the same ones out of JSON, whose kinds
// are known only when a row is read: the result is the same, and so is the refusal.
func TestJSONOperands(t *testing.T) {
	kinds := []row.Kind{row.Int, row.Decimal, row.Float, row.String, row.Date, row.JSON}
	fields := make([]Field, len(kinds))
	for i, kind := range kinds {
		fields[i] = Field{Name: kind.String(), Kind: kind}
	}
	env, err := NewEnv(fields, false, nil)
	require.NoError(t, err)
	r := rowOf(t, fields, map[string]string{
		"int": "2", "decimal": "12345678901234567890", "float": "2.5", "string": "2", "date": "2001-02-03",
		"json": `{"int":2,"decimal":12345678901234567890,"float":2.5,"string":"2",
			"big":9007199254740993,"long":1.20000000000000000000000000005,"far":1.2E-21}`,
	})
	result := func(source string) string {
		program, err := env.Compile(source, Any)
		if err != nil {
			return CodeNoSuchOverload
		}
		value, err := program.Eval(r)
		if err != nil {
			var failure *EvalError
			require.ErrorAs(t, err, &failure, source)
			return failure.Code
		}
		return value.Kind().String() + " " + string(row.AppendText(nil, value))
	}
	asField := func(kind row.Kind) string { // JSON has no floats
		if kind == row.Float {
			return "decimal(row.float)"
		}
		return "row." + kind.String()
	}
	for _, operation := range []string{"%s + %s", "%s - %s", "%s * %s", "%s < %s", "%s >= %s"} {
		for _, left := range kinds[:5] {
			for _, right := range kinds[:4] {
				want := result(fmt.Sprintf(operation, asField(left), asField(right)))
				for _, operands := range [][2]string{{"row.", "row.json."}, {"row.json.", "row."}, {"row.json.",
					"row.json."}} {
					if left == row.Date && operands[0] != "row." {
						continue
					}
					source := fmt.Sprintf(operation, operands[0]+left.String(), operands[1]+right.String())
					source = strings.ReplaceAll(source, "row.float", asField(row.Float))
					require.Equal(t, want, result(source), source)
				}
			}
		}
	}
	for source, want := range map[string]string{
		"row.json.float * 2":                           "decimal 5.0",
		"row.json.float + row.float":                   CodeNoSuchOverload,
		"row.json.float == row.float":                  "bool true",
		"row.float == row.json.float":                  "bool true",
		"row.json.float in [row.float]":                "bool true",
		"row.json.float < 2.6":                         "bool true",
		"2.5 >= row.json.float":                        "bool true",
		"row.decimal > 1e300":                          "bool false",
		"row.json.big == dyn(9007199254740992.0)":      "bool false",
		"dyn(9007199254740992.0) == row.json.big":      "bool false",
		"row.json.long":                                "decimal 1.20000000000000000000000000005",
		"row.json.far":                                 "decimal 0.0000000000000000000012",
		"row.json.int == decimal('2.0')":               "bool true",
		"decimal('2.0') == row.json.int":               "bool true",
		"row.json.int != decimal('2.0')":               "bool false",
		"row.json.int in [decimal('2.0')]":             "bool true",
		"row.json.int in [2]":                          "bool true",
		"'int' in row.json":                            "bool true",
		"[row.json.int] == [decimal('2.0')]":           "bool true",
		"{'a': [row.json.int]} == {'a': [dyn(2)]}":     "bool true",
		"{'a': row.json.int} == {'b': decimal('2.0')}": "bool false",
		"row.json.int in row.json.string":              CodeNoSuchOverload,
	} {
		require.Equal(t, want, result(source), source)
	}
}

func TestKindsThatDoNotFitAreNamed(t *testing.T) {
	for source, message := range map[string]string{
		"2.5 * row.details.birds[1]": "* got float and decimal, in 2.5 * row.details.birds[1]: write decimal(2.5)",
		"row.details.birds[0] * 1.5": "* got int and float, in row.details.birds[0] * 1.5: write double(row.details.birds[0])",
		"row.details.birds[1] / 2": "/ got decimal and int, in row.details.birds[1] / 2: " +
			"write double(row.details.birds[1]) / double(2)",
		"row.fee + row.details.birds[2]": "+ got decimal and string, in row.fee + row.details.birds[2]: " +
			"write int(row.details.birds[2]) or decimal(row.details.birds[2]), or declare the field with its type",
		"-row.details.birds[2]": "- got string, in -row.details.birds[2]: write " +
			"int(row.details.birds[2]) or decimal(row.details.birds[2]), or declare the field with its type",
		"row.details.birds - row.details.weather":  "- got list and object, in row.details.birds - row.details.weather",
		"row.details.birds[0] < row.flight_date":   "< got int and date, in row.details.birds[0] < row.flight_date",
		"row.details.birds[0] + duration('1h')":    "+ got int and duration, in row.details.birds[0] + duration('1h')",
		"row.details.birds[2].lowerAscii() + 'x' ": "",
	} {
		_, err := compile(t, strikesEnv(t), source).Eval(strike(t))
		if message == "" {
			require.NoError(t, err, source)
			continue
		}
		require.EqualError(t, err, message+" (NO_SUCH_OVERLOAD)", source)
	}
}

func TestDecimalsStopAt1000Digits(t *testing.T) {
	digits := strings.Repeat("9", 600)
	require.Equal(t, CodeOverflow, code(t, "row.fee * decimal('"+digits+"') * decimal('"+digits+"')"))
	_, err := strikesEnv(t).Compile("decimal('1e999999999')", Any)
	require.ErrorContains(t, err, "1:9: ")
}

func TestDates(t *testing.T) {
	for source, want := range map[string]string{
		"row.flight_date > date('2001-01-01')":                "bool true",
		"row.flight_date == date('2001-02-03')":               "bool true",
		"row.flight_date >= param.since":                      "bool true",
		"row.flight_date in [date('2001-02-03')]":             "bool true",
		"row.flight_date + 26":                                "date 2001-03-01",
		"row.flight_date - 34":                                "date 2000-12-31",
		"row.flight_date - date('2000-02-29')":                "int 340",
		"row.flight_date.year()":                              "int 2001",
		"row.flight_date.month()":                             "int 2",
		"row.flight_date.day()":                               "int 3",
		"date('1969-12-31').day()":                            "int 31",
		"date(row.seen_at)":                                   "date 2001-02-03",
		"date(timestamp('1969-12-31T23:00:00Z'))":             "date 1969-12-31",
		"timestamp(row.flight_date)":                          "timestamp 2001-02-03T00:00:00Z",
		"timestamp('2001-02-03 04:05:06+02')":                 "timestamp 2001-02-03T02:05:06Z",
		"timestamp(dyn('2001-02-03t04:05:06z'))":              "timestamp 2001-02-03T04:05:06Z",
		"timestamp(dyn(row.flight_date))":                     "timestamp 2001-02-03T00:00:00Z",
		"timestamp(dyn(86400))":                               "timestamp 1970-01-02T00:00:00Z",
		"string(row.flight_date)":                             "string 2001-02-03",
		"string(date('0001-01-01'))":                          "string 0001-01-01",
		"date('9999-12-31')":                                  "date 9999-12-31",
		"row.seen_at.getHours()":                              "int 4",
		"row.seen_at - row.seen_at < duration('1s')":          "bool true",
		"row.seen_at + duration('1h')":                        "timestamp 2001-02-03T05:05:06.5Z",
		"row.seen_at > timestamp('2001-02-03T04:05:06.499Z')": "bool true",
	} {
		require.Equal(t, want, text(t, source), source)
	}
	require.Equal(t, CodeOverflow, code(t, "date('9999-12-31') + row.cost_total"))
	require.Equal(t, CodeOverflow, code(t, "row.flight_date - (-9223372036854775807 - 1)"))
}

func TestReplaceAndJoin(t *testing.T) {
	for source, want := range map[string]string{
		"'hello hello'.replace('he', 'we')":     "wello wello",
		"'hello hello'.replace('he', 'we', -1)": "wello wello",
		"'hello hello'.replace('he', 'we', 1)":  "wello hello",
		"'hello hello'.replace('he', 'we', 0)":  "hello hello",
		"'hello hello'.replace('', '_')":        "_h_e_l_l_o_ _h_e_l_l_o_",
		"'hello hello'.replace('h', '')":        "ello ello",
		"['a', '', 'c'].join()":                 "ac",
		"['', 'b', ''].join('-')":               "-b-",
		"[].join('/')":                          "",
	} {
		require.Equal(t, "string "+want, text(t, source), source)
	}
	require.Equal(t, CodeNoSuchOverload, code(t, "row.details.birds.join('-')"))
	require.Equal(t, CodeNoSuchOverload, code(t, "dyn('a').replace(row.details.birds[0], 'x')"))
}

func TestCostIsCountedOnlyWhereItCanMatter(t *testing.T) {
	env := strikesEnv(t)
	for source, want := range map[string]guard{
		"row.cost_total > 100000 ? 'major' : 'minor'":                never,
		"row.airport == 'JFK'":                                       never,
		"row.airport.startsWith('J')":                                never,
		"row.fee * 2 > 10":                                           never,
		"row.airport.contains('FK')":                                 never,
		"row.airport.contains('JOHN F KENNEDY INTERNATIONAL')":       onLargeCell,
		"row.airport.lowerAscii() == 'jfk'":                          onLargeCell,
		"row.airport.matches('^J')":                                  never,
		"row.airport.matches('^JFK|^LGA')":                           onLargeCell,
		"row.airport.matches(param.pattern)":                         onLargeCell,
		"row.details.birds.all(a, row.details.birds.all(b, a != b))": always,
	} {
		require.Equal(t, want, compile(t, env, source).guard, source)
	}
	program := compile(t, env, "row.airport.contains('xyz') || row.airport.lowerAscii() == 'x'")
	small := rowOf(t, strikes, map[string]string{"airport": strings.Repeat("a", smallCellBytes)})
	large := rowOf(t, strikes, map[string]string{"airport": strings.Repeat("a", maxCellBytes)})
	value, err := program.Eval(small)
	require.NoError(t, err)
	require.Equal(t, row.BoolValue(false), value)
	_, err = program.Eval(large)
	require.EqualError(t, err, "the evaluation passed the cost limit of 100000 (COST)")
	direct := compile(t, env, "row.airport.contains('JOHN F KENNEDY INTERNATIONAL')")
	require.NotNil(t, direct.direct)
	_, err = direct.Eval(large)
	require.EqualError(t, err, "the evaluation passed the cost limit of 100000 (COST)")
}

// An int that no float holds is not the float next to it, in any operand and whether kinds are known or not.
func TestIntsAndFloatsCompareExactly(t *testing.T) {
	for _, numbers := range [][2]string{
		{"9007199254740992.0", "9007199254740993"}, {"9007199254740993", "9007199254740994.0"},
		{"9223372036854775807", "9223372036854775808.0"}, {"18446744073709551615u", "18446744073709551616.0"},
		{"9007199254740992.0", "9007199254740993u"}, {"-9007199254740993", "-9007199254740992.0"},
		{"9223372036854775807", "1.0 / 0.0"}, {"-1.0 / 0.0", "-9223372036854775808"},
	} {
		less, more := numbers[0], numbers[1]
		for _, form := range []string{"%s %s %s", "dyn(%s) %s dyn(%s)", "dyn(%s) %s %s"} {
			for operator, want := range map[string]string{"<": "bool true", "<=": "bool true", ">": "bool false", ">=": "bool false"} {
				source := fmt.Sprintf(form, less, operator, more)
				require.Equal(t, want, text(t, source), source)
				source = fmt.Sprintf(form, more, map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[operator], less)
				require.Equal(t, want, text(t, source), source)
			}
		}
	}
	for _, source := range []string{"row.cost_total <= row.cost_total * 1", "2 >= 2.0", "2.0 <= 2", "0 <= -0.0"} {
		require.Equal(t, "bool true", text(t, source), source)
	}
	for _, source := range []string{"1 < 0.0 / 0.0", "0.0 / 0.0 > row.fee", "dyn(1) >= 0.0 / 0.0"} {
		require.Equal(t, CodeEval, code(t, source), source)
	}
}

// A number out of JSON finds what is equal to it among the keys of a map and the indices of a list, however it is written.
func TestDecimalsAreKeys(t *testing.T) {
	env, err := NewEnv([]Field{{Name: "j", Kind: row.JSON}}, false, nil)
	require.NoError(t, err)
	for source, want := range map[string]string{
		"{1: 'x'}[row.j.one]": "x", "{1u: 'x'}[row.j.one]": "x", "['a', 'b'][row.j.one]": "b", "row.j.list[row.j.one]": "b",
		"{1: 'x'}[dyn(1.0)]": "x", "{1: {2: 'x'}}[row.j.one][row.j.two]": "x", "{'1': 'x'}[row.j.one]": CodeNoSuchKey,
		"{1.5: 'x'}[row.j.half]": "x", "row.j.half in {1.5: true}": "true", "{1.5: 'x'}[row.j.tiny]": CodeNoSuchKey,
		"row.j.one in {1: true}": "true", "row.j.one in {2: true}": "false", "row.j.half in {1: true}": "false",
		"{1: 'x'}[row.j.half]": CodeNoSuchKey, "['a'][row.j.half]": CodeEval, "['a'][row.j.one]": CodeNoSuchKey,
		"{1: 'x'}[row.j.large]": CodeNoSuchKey,
	} {
		program, err := env.Compile(source, Any)
		require.NoError(t, err, source)
		doc, err := row.ParseJSON(`{"one":1.0,"two":2.00,"half":1.5,"tiny":0.1000000000000000055,"large":100000000000000000000,"list":["a","b"]}`)
		require.NoError(t, err)
		value, err := program.Eval(row.Row{Shape: row.NewShape([]string{"j"}), Values: []row.Value{doc}})
		if failed, ok := errors.AsType[*EvalError](err); ok {
			require.Equal(t, want, failed.Code, "%s: %v", source, err)
			require.NotContains(t, failed.Message, "qualifier")
			continue
		}
		require.NoError(t, err, source)
		require.Equal(t, want, string(row.AppendText(nil, value)), source)
	}
}

// The greatest and the least number are those by value, in any order, in a list, and whether kinds are known or not.
func TestExtremesAreThoseByValue(t *testing.T) {
	for _, numbers := range [][2]string{
		{"9007199254740992.0", "9007199254740993"}, {"9007199254740993", "9007199254740994.0"},
		{"9223372036854775807", "9223372036854775808.0"}, {"-9007199254740993", "-9007199254740992.0"},
		{"9007199254740992.0", "decimal('9007199254740992.5')"}, {"9007199254740993", "decimal('9007199254740993.1')"},
		{"1", "row.fee"}, {"decimal('1.5')", "row.fee"},
	} {
		least, greatest := numbers[0], numbers[1]
		for _, form := range []string{
			"(%s, %s)", "(%[2]s, %[1]s)", "(dyn(%s), dyn(%s))", "(dyn(%[2]s), %[1]s)", "([%s, %s])", "(%s, %s, %[1]s)",
		} {
			for function, want := range map[string]string{"math.least": least, "math.greatest": greatest} {
				source := function + fmt.Sprintf(form, least, greatest)
				require.Equal(t, text(t, want), text(t, source), source)
			}
		}
	}
	for source, want := range map[string]string{
		"math.greatest(2, 2.0)":                "int 2",
		"math.least(2.0, 2)":                   "float 2.0",
		"math.greatest(row.fee)":               text(t, "row.fee"),
		"math.least([decimal('2.50'), 3, 2u])": "int 2",
	} {
		require.Equal(t, want, text(t, source), source)
	}
	for source, want := range map[string]string{
		"math.greatest(1, 0.0 / 0.0)":      CodeEval,
		"math.least([0.0 / 0.0, 1])":       CodeEval,
		"math.least(range(0))":             CodeEval,
		"math.greatest(dyn('1'), 2)":       CodeNoSuchOverload,
		"math.least([dyn('1'), dyn('2')])": CodeNoSuchOverload,
	} {
		require.Equal(t, want, code(t, source), source)
	}
	_, err := strikesEnv(t).Compile("math.greatest(row.airport, 2)", Any)
	require.ErrorContains(t, err, "math.greatest() does not take (string, int)")
}
