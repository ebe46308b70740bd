package expr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

func evalNumber(t *testing.T, source string) (row.Value, error) {
	t.Helper()
	env, err := NewEnv([]Field{{Name: "n", Kind: row.Int}, {Name: "x", Kind: row.Float}}, false, nil)
	require.NoError(t, err)
	program, err := env.Compile(source, Any)
	require.NoError(t, err)
	return program.Eval(row.Row{Shape: row.NewShape([]string{"n", "x"}), Values: []row.Value{row.IntValue(3), row.FloatValue(0.5)}})
}

// What a range holds is counted as work, so that no expression makes more numbers than one evaluation may look at.
func TestRangesAreWork(t *testing.T) {
	for source, code := range map[string]string{
		"size(range(40000)) > 0":                              "",
		"range(100001).exists(i, i < 0)":                      CodeCost,
		"range(-9223372036854775808, 9223372036854775807)[0]": CodeCost,
		"range(60000).all(i, range(60000).size() > 0)":        CodeCost,
		"range(row.n).map(i, range(90000)).size()":            CodeCost,
		"range(5, 2).size()":                                  "",
		"range(row.n)[2]":                                     "",
	} {
		_, err := evalNumber(t, source)
		if code == "" {
			require.NoError(t, err, source)
			continue
		}
		var failed *EvalError
		require.ErrorAs(t, err, &failed, source)
		require.Equal(t, code, failed.Code, source)
	}
}

func TestFunctionsOfFloatsSayWhatHasNoValue(t *testing.T) {
	for source, message := range map[string]string{
		"log(-row.x)":        `log("-0.5") has no value`,
		"pow(-row.x, row.x)": `pow("-0.5", "0.5") has no value`,
		"pow(0, -1)":         `pow("0.0", "-1.0") has no value`,
		"exp(row.n * 1000)":  `exp("3000.0") is outside the range of float`,
	} {
		_, err := evalNumber(t, source)
		require.ErrorContains(t, err, message, source)
	}
}

func TestControlCharactersInPatternsAreRefused(t *testing.T) {
	env, err := NewEnv([]Field{{Name: "s", Kind: row.String}}, false, map[string]row.Value{"p": row.StringValue("a\x01")})
	require.NoError(t, err)
	for source, message := range map[string]string{
		`row.s.matches('\bJFK')`:    "1:15: the pattern holds a backspace, which '\\b' is in a text: write '\\\\b' or r'\\b' for the edge of a word",
		`row.s.matches("a\x7f")`:    "the control character U+007F",
		`row.s.matches(param.p)`:    "the control character U+0001",
		`row.s.matches('a\tb\r\n')`: "",
		`row.s.matches('\\bJFK')`:   "",
		`row.s.matches(r'\bJFK')`:   "",
	} {
		_, err := env.Compile(source, Any)
		if message == "" {
			require.NoError(t, err, source)
			continue
		}
		require.ErrorContains(t, err, message, source)
	}
}

// TestMessagesQuoteValues: who may not see values gets messages without their quoted texts.
func TestMessagesQuoteValues(t *testing.T) {
	for source, want := range map[string]string{
		"row.details['no' + 'thing'] == 1":   `no such key: "nothing"`,
		"row.fee.round(1000 + 1)":            `round to "1001" places`,
		"row.flight_date + 4000000":          `" and "4000000" days is outside`,
		"int(row.fee * 1000000000000000000)": `the decimal "`,
	} {
		_, err := compile(t, strikesEnv(t), source).Eval(strike(t))
		require.ErrorContains(t, err, want, source)
	}
}
