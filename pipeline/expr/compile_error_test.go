package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

const noTimestamp = `1:11: "2001" is not a valid timestamp: expected a time with a zone such as 2001-01-31T23:59:59Z` +
	`; it ends after "2001"`

func TestCompileErrors(t *testing.T) {
	env, err := NewEnv([]Field{
		{Name: "a", Kind: row.Int}, {Name: "b", Kind: row.Int, Optional: true}, {Name: "s", Kind: row.String},
		{Name: "severity", Kind: row.String}, {Name: "d", Kind: row.Date}, {Name: "t", Kind: row.Timestamp}, {Name: "m", Kind: row.Decimal},
	}, false, map[string]row.Value{"limit": row.IntValue(1)})
	require.NoError(t, err)
	for source, want := range map[string]string{
		"":                                     "1:1: syntax error: the expression ends too early",
		"row.a >":                              "1:8: syntax error: the expression ends too early",
		"(row.a > 1":                           "1:11: syntax error: missing ')'",
		"row.a > 1)":                           `1:10: syntax error: unexpected ")"`,
		"row.s == 'abc":                        "1:10: syntax error: the text that begins here has no closing quote",
		"row.a = 5":                            "1:7: syntax error: = is not an operator; compare with ==",
		"row.a # 5":                            `1:7: syntax error: unexpected "#"`,
		"row.in == 1":                          `1:5: syntax error: in is a word of expressions: write ["in"] for the name`,
		"row.sevrity == 'x'":                   `1:5: the row has no field "sevrity" (did you mean "severity"?); its fields: a, b, s, severity, d, t, m`,
		"1 +\n  row . zzz":                     `2:8: the row has no field "zzz"; its fields: a, b, s, severity, d, t, m`,
		"'é€𝄞' == row.q":                       `1:14: the row has no field "q"; its fields: a, b, s, severity, d, t, m`,
		"row['zzz']":                           `1:4: the row has no field "zzz"; its fields: a, b, s, severity, d, t, m`,
		"param.limt":                           `1:7: no parameter is named "limt" (did you mean "limit"?); the parameters: limit`,
		"severity == 'x'":                      `1:1: unknown name "severity": write row.severity for the field`,
		"row.a > limit":                        `1:9: unknown name "limit": write param.limit for the parameter`,
		"row.s == major":                       `1:10: unknown name "major": an expression sees row.FIELD and param.NAME; texts stand in quotes`,
		"row":                                  `1:1: "row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`,
		"row[row.s]":                           `1:1: "row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`,
		"[1].all(row, row > 0)":                `1:14: "row" is used through its fields: row.NAME, or row["NAME"] with the name in quotes`,
		"row.s.startWith('x')":                 "1:7: there is no function startWith() (did you mean startsWith()?)",
		"row.s.frobnicate()":                   "1:7: there is no function frobnicate()",
		"today() > row.d":                      "1:1: there is no function today(): an expression gives the same value whenever it is evaluated; pass such a value as a parameter",
		"row.b == '5'":                         "1:7: == does not take int? and string: write the number without quotes, or convert with int(…) or string(…)",
		"row.a == null":                        "1:7: == does not take int and null: only optional fields can be null",
		"row.a * 1.5":                          "1:7: * does not take int and double: convert the int with double(…)",
		"row.m == 5":                           "1:7: == does not take decimal and int: convert with decimal(…)",
		"row.m / row.m":                        "1:7: / does not take decimal and decimal: convert both with double(…)",
		"row.m / 2":                            "1:7: / does not take decimal and int: convert both with double(…)",
		"row.m % 2":                            "1:7: % does not take decimal and int: convert both with int(…)",
		"log(row.m)":                           "1:1: log() does not take (decimal): convert the decimal with double(…)",
		"pow(row.m, 2)":                        "1:1: pow() does not take (decimal, int): convert the decimal with double(…)",
		"row.d + row.t":                        "1:7: + does not take date and timestamp: add days to a date, as in date + 1, and a duration such as duration('1h') to a timestamp",
		"row.t + row.t":                        "1:7: + does not take timestamp and timestamp: add days to a date, as in date + 1, and a duration such as duration('1h') to a timestamp",
		"row.d + duration('1h')":               "1:7: + does not take date and duration: add days, as in date + 1, or convert the date with timestamp(…)",
		"row.d < '2001-01-01'":                 "1:7: < does not take date and string: write date('2001-01-31')",
		"row.t < '2001-01-01'":                 "1:7: < does not take timestamp and string: write timestamp('2001-01-31T12:00:00Z')",
		"row.t < row.d":                        "1:7: < does not take timestamp and date: convert with date(…) or timestamp(…)",
		"row.a && true":                        "1:5: this must be a bool, and is int",
		"!row.a":                               "1:1: ! does not take int",
		"row.a > 1 ? 'x' : 1":                  "1:11: condition ? a : b needs a bool and two values of one type, found bool, string, int",
		"size(row.a)":                          "1:1: size() does not take (int)",
		"row.s.startsWith(1)":                  "1:7: startsWith() does not take (string, int)",
		"row.a.b":                              "1:7: int has no fields",
		"row.a[0]":                             "1:6: […] does not work on int with int",
		"row.s.matches('(a')":                  "1:15: error parsing regexp: missing closing ): `(a`",
		"row.s.matches(row.s)":                 "1:19: the pattern of matches() must be a literal text or a parameter",
		"date('2001-02-30')":                   `1:6: "2001-02-30" is not a valid date`,
		"timestamp('2001')":                    noTimestamp,
		"row.a + int('4x')":                    "1:9: this string does not convert to int",
		"duration('1 hour')":                   "1:10: not a duration such as duration('1h30m')",
		"'%d'.format([row.a])":                 "1:6: format() is not part of expressions; join texts with +, and round decimals with round()",
		"google.protobuf.Int64Value{value: 1}": "1:27: objects such as google.protobuf.Int64Value{…} are not part of expressions; a map is written {'key': value}",
	} {
		_, err := env.Compile(source, Any)
		require.ErrorContains(t, err, want, source)
		require.True(t, strings.HasPrefix(err.Error(), want), "%s: %v", source, err)
	}
}

func TestUnknownEscapesAreNamed(t *testing.T) {
	env, err := NewEnv([]Field{{Name: "s", Kind: row.String}}, false, nil)
	require.NoError(t, err)
	for source, want := range map[string]string{
		`row.s.matches('\d+')`:    `1:15: syntax error: \d is no escape in a text: write '\\d' or r'\d'`,
		`row.s.matches("a\w+")`:   `1:15: syntax error: \w is no escape in a text: write "\\w" or r"\w"`,
		`row.s == 'a\n\é'`:        `1:10: syntax error: \é is no escape in a text: write '\\é' or r'\é'`,
		`row.s == '\u0041\users'`: `1:10: syntax error: \u without 4 hexadecimal digits is no escape in a text: write '\\u' or r'\u'`,
		`row.s == "\U12"`:         `1:10: syntax error: \U without 8 hexadecimal digits is no escape in a text: write "\\U" or r"\U"`,
		`row.s == '\x4'`:          `1:10: syntax error: \x without 2 hexadecimal digits is no escape in a text: write '\\x' or r'\x'`,
		`row.s == '\101\1'`:       `1:10: syntax error: \1 is no escape in a text: write '\\1' or r'\1'`,
		`row.s == '\400'`:         `1:10: syntax error: \4 is no escape in a text: write '\\4' or r'\4'`,
		`"""\d""" == row.s`:       `1:3: syntax error: \d is no escape in a text: write "\\d" or r"\d"`,
		`row.s == 'C:\'`:          `1:10: syntax error: the text that begins here has no closing quote`,
		`row.s == r'\d`:           `1:11: syntax error: the text that begins here has no closing quote`,
		`row.s == '\\d\t\'\x41\7`: `1:10: syntax error: \7 is no escape in a text: write '\\7' or r'\7'`,
	} {
		_, err := env.Compile(source, Any)
		require.EqualError(t, err, want, source)
	}
}

func TestLongListsOfFieldsAreCut(t *testing.T) {
	var fields []Field
	for i := range 40 {
		fields = append(fields, Field{Name: fmt.Sprintf("f%02d", i), Kind: row.Int})
	}
	env, err := NewEnv(fields, false, nil)
	require.NoError(t, err)
	_, err = env.Compile("row.zzz == 1", Bool)
	require.EqualError(t, err, `1:5: the row has no field "zzz"; its fields: f00, f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11 and 28 more`)
	_, err = env.Compile("param.zzz == 1", Bool)
	require.EqualError(t, err, `1:1: "param" is used with the name of a declared parameter: param.NAME`)
}
