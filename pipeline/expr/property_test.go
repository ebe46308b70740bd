package expr

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/row"
)

// drawExpr draws an expression of the kind over the fields of strikes, nested up to depth.
func drawExpr(t *rapid.T, kind row.Kind, depth int) string {
	pick := func(options ...string) string { return rapid.SampledFrom(options).Draw(t, "option") }
	sub := func(k row.Kind) string { return drawExpr(t, k, depth-1) }
	if forms := compound[kind]; depth > 0 && len(forms) > 0 && rapid.IntRange(0, 3).Draw(t, "compound") > 0 {
		return rapid.SampledFrom(forms).Draw(t, "form")(sub, pick)
	}
	return pick(simple[kind]...)
}

var simple = map[row.Kind][]string{
	row.Bool:   {"row.fatal", "row.reported", "true", "has(row.speed)", "row.speed == null", "row.repair_date != null"},
	row.Int:    {"row.cost_total", "row.speed", "param.limit", "7", "-3", "9223372036854775807"},
	row.Float:  {"row.ratio", "row.height", "1.5", "double(row.cost_total)"},
	row.String: {"row.airport", "row.damage", "'J)'", `"\"(F"`, "row['Airport Name']"},
	row.Date:   {"row.flight_date", "row.repair_date", "date('2001-02-03')", "param.since"},
}

type form func(sub func(row.Kind) string, pick func(...string) string) string

var compound = map[row.Kind][]form{
	row.Bool: {
		func(sub func(row.Kind) string, pick func(...string) string) string {
			return sub(row.Bool) + pick(" && ", "||") + sub(row.Bool)
		},
		func(sub func(row.Kind) string, _ func(...string) string) string { return "!(" + sub(row.Bool) + ")" },
		comparison(row.Int), comparison(row.Float), comparison(row.String), comparison(row.Date),
		func(sub func(row.Kind) string, pick func(...string) string) string {
			return sub(row.String) + pick(".startsWith(", ".endsWith(", ". contains( ") + sub(row.String) + ")"
		},
	},
	row.Int: {
		func(sub func(row.Kind) string, pick func(...string) string) string {
			return "(" + sub(row.Int) + pick(" + ", "-", " - ", "*", "/") + sub(row.Int) + ")"
		},
		func(sub func(row.Kind) string, _ func(...string) string) string {
			return "(" + sub(row.Bool) + " ? " + sub(row.Int) + ":" + sub(row.Int) + " )"
		},
		func(sub func(row.Kind) string, _ func(...string) string) string {
			return "size( " + sub(row.String) + ")"
		},
	},
	row.String: {
		func(sub func(row.Kind) string, _ func(...string) string) string {
			return "(" + sub(row.String) + " + " + sub(row.String) + ")"
		},
		func(sub func(row.Kind) string, _ func(...string) string) string {
			return sub(row.String) + ".lowerAscii()"
		},
	},
}

func comparison(kind row.Kind) form {
	return func(sub func(row.Kind) string, pick func(...string) string) string {
		return sub(kind) + pick(" == ", "!=", "<", " <=", "> ", ">=") + sub(kind)
	}
}

// drawStrike draws a row of strikes of few distinct values, so that comparisons go either way.
func drawStrike(t *rapid.T) row.Row {
	texts := map[string]string{"seen_at": "2001-02-03T04:05:06Z", "fee": "1", "details": "{}"}
	values := map[string][]string{
		"airport": {"", "J)", "JFK"}, "damage": {"J)", "(F"}, "cost_total": {"7", "150000", "-9223372036854775808"},
		"speed": {"7", "-3"}, "ratio": {"1.5", "-0.0"}, "height": {"1.5", "7.0"}, "fatal": {"true", "false"},
		"reported": {"true", "false"}, "flight_date": {"2001-02-03", "1999-12-31"}, "repair_date": {"2001-02-03"},
		"Airport Name": {"J)", "jfk"},
	}
	for _, f := range strikes {
		if options, ok := values[f.Name]; ok && (!f.Optional || rapid.Bool().Draw(t, "present")) {
			texts[f.Name] = rapid.SampledFrom(options).Draw(t, f.Name)
		}
	}
	return rowOf(t, strikes, texts)
}

// outcome is the result or the code of the error, to compare.
func outcome(p *Program, r row.Row) string {
	value, err := p.Eval(r)
	if failure, ok := errors.AsType[*EvalError](err); ok {
		return failure.Code
	}
	return value.Kind().String() + " " + string(row.AppendText(nil, value))
}

// byCEL returns the program without its direct evaluation.
func byCEL(p *Program) *Program {
	return &Program{want: p.want, result: p.result, fields: p.fields, plain: p.plain, parts: p.parts}
}

// counted returns the program without its direct evaluation, counting its cost.
func counted(p *Program) *Program {
	return &Program{want: p.want, result: p.result, fields: p.fields, guarded: p.guarded, parts: p.parts, guard: always}
}

// A field is taken as CEL would take it, whatever its kind, declared or not, and whatever is wanted.
func TestDirectFieldAgrees(t *testing.T) {
	texts := map[row.Kind][]string{
		row.Bool: {"true"}, row.Int: {"-7"}, row.Float: {"-0.0", "1e300"}, row.Date: {"2001-02-03"}, row.Timestamp: {"2001-02-03T04:05:06.000000007Z"},
		row.Decimal: {"1.10", "-12345678901234567890.0"}, row.String: {"", "x", strings.Repeat("x", maxResultBytes+1)},
		row.JSON: {"null", "5", "1.5", `"x"`, "99999999999999999999", "true", "[]", `{"$a":[1.0,99999999999999999999,null],"b":{}}`},
	}
	taken := 0
	for kind, options := range texts {
		for _, value := range append([]row.Value{row.NullValue()}, parseAll(t, kind, options)...) {
			r := row.Row{Shape: row.NewShape([]string{"other", "a"}), Values: []row.Value{row.IntValue(1), value}}
			for _, declared := range [][]Field{{{Name: "a", Kind: kind, Optional: true}}, nil} {
				env, err := NewEnv(declared, true, nil)
				require.NoError(t, err)
				for _, source := range []string{"row.a", "has(row.a) ? row.a : null"} {
					program := compile(t, env, source)
					for _, want := range []Want{Any, BoolOrString, number, ordered} {
						program.want = want
						require.Equal(t, outcome(byCEL(program), r), outcome(program, r), "%s of %s %.50s", source, kind, row.AppendText(nil, value))
					}
					if _, ok := program.direct(cells{r.Values, []int{1}}); ok {
						taken++
					}
				}
			}
		}
	}
	require.Greater(t, taken, 40)
}

func parseAll(t *testing.T, kind row.Kind, texts []string) []row.Value {
	var values []row.Value
	for _, text := range texts {
		values = append(values, parse(t, kind, text))
	}
	return values
}

// The direct evaluation, CEL's and CEL's with cost tracking agree on every result and every error.
func TestDirectAgrees(t *testing.T) {
	env := strikesEnv(t)
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]row.Kind{row.Bool, row.Int}).Draw(t, "kind")
		source := drawExpr(t, kind, 3)
		if rapid.Bool().Draw(t, "choice") {
			source = fmt.Sprintf("%s ? %s : %s", drawExpr(t, row.Bool, 2), source, rapid.SampledFrom([]string{"null", source}).Draw(t, "other"))
		}
		program, err := env.Compile(source, Any)
		require.NoError(t, err, source)
		plain, guarded := byCEL(program), counted(program)
		r := drawStrike(t)
		want := outcome(plain, r)
		require.Equal(t, want, outcome(program, r), source)
		require.Equal(t, want, outcome(guarded, r), source)
		if program.direct != nil {
			taken++
		}
	})
	require.Positive(t, taken, "no expression was evaluated directly")
}

// Every part of an explanation is an expression by itself, and its value is what the explanation says.
func TestPartsAreTheSourceOfTheirValues(t *testing.T) {
	env := strikesEnv(t)
	rapid.Check(t, func(t *rapid.T) {
		source := drawExpr(t, row.Bool, 4)
		program, err := env.Compile(source, Any)
		require.NoError(t, err, source)
		r := drawStrike(t)
		parts := program.Explain(r)
		require.Equal(t, strings.TrimSpace(source), parts[0].Source)
		for _, part := range parts {
			require.Contains(t, source, part.Source)
			alone, err := env.Compile(part.Source, Any)
			require.NoError(t, err, "%q, a part of %q", part.Source, source)
			again := alone.Explain(r)[0]
			require.Equal(t, part.Value, again.Value, "%q, a part of %q", part.Source, source)
			require.Equal(t, part.Error, again.Error, "%q, a part of %q", part.Source, source)
		}
	})
}
