package row

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCast(t *testing.T) {
	tests := []struct {
		name       string
		from       Kind
		text       string
		to         Kind
		want, code string
	}{
		{"itself", Int, "1", Int, "1", ""},
		{"int to string", Int, "-1", String, "-1", ""},
		{"float to string", Float, "1", String, "1.0", ""},
		{"bool to string", Bool, "true", String, "true", ""},
		{"date to string", Date, "2001-01-31", String, "2001-01-31", ""},
		{"timestamp to string", Timestamp, "2001-01-31T00:00:00+01:00", String, "2001-01-30T23:00:00Z", ""},
		{"decimal to string", Decimal, "1.10", String, "1.10", ""},
		{"json to string", JSON, `["a"]`, String, `["a"]`, ""},
		{"string to int", String, "7", Int, "7", ""},
		{"string to int, strictly", String, "007", Int, "", CodeFormat},
		{"string to timestamp", String, "2001-01-31T00:00:00Z", Timestamp, "2001-01-31T00:00:00Z", ""},
		{"string to json", String, `{"a": 1}`, JSON, `{"a":1}`, ""},
		{"string to json, strictly", String, "{", JSON, "", CodeSyntax},
		{"float to int", Float, "-3.0", Int, "-3", ""},
		{"float to int, fraction", Float, "1.5", Int, "", CodeInexact},
		{"float to int, too large", Float, "9223372036854775808", Int, "", CodeNumberRange},
		{"float to int, least", Float, "-9223372036854775808", Int, "-9223372036854775808", ""},
		{"float to int, -0.0", Float, "-0.0", Int, "0", ""},
		{"decimal to int", Decimal, "7.00", Int, "7", ""},
		{"decimal to int, fraction", Decimal, "7.01", Int, "", CodeInexact},
		{"decimal to int, too large", Decimal, "9223372036854775808", Int, "", CodeNumberRange},
		{"int to float", Int, "1152921504606846976", Float, "1.152921504606847e+18", ""},
		{"int to float, 2^53+1", Int, "9007199254740993", Float, "", CodeInexact},
		{"int to float, 2^63-1", Int, "9223372036854775807", Float, "", CodeInexact},
		{"int to float, -2^63", Int, "-9223372036854775808", Float, "-9.223372036854776e+18", ""},
		{"decimal to float", Decimal, "0.10", Float, "0.1", ""},
		{"decimal to float, large", Decimal, "100000000000000000000", Float, "1e+20", ""},
		{"decimal to float, 30 digits", Decimal, "0.123456789012345678901234567890", Float, "", CodeInexact},
		{"decimal to float, too large", Decimal, strings.Repeat("9", 400), Float, "", CodeNumberRange},
		{"large decimal to json", Decimal, strings.Repeat("9", 400), JSON, strings.Repeat("9", 400), ""},
		{"float to decimal", Float, "1e-7", Decimal, "0.0000001", ""},
		{"float to decimal, integral", Float, "1e20", Decimal, "100000000000000000000", ""},
		{"float to decimal, -0.0", Float, "-0.0", Decimal, "0", ""},
		{"smallest float to decimal", Float, "5e-324", Decimal, "0." + strings.Repeat("0", 323) + "5", ""},
		{"int to decimal", Int, "-5", Decimal, "-5", ""},
		{"date to timestamp", Date, "2001-01-31", Timestamp, "2001-01-31T00:00:00Z", ""},
		{"timestamp to date", Timestamp, "2001-01-31T01:00:00+01:00", Date, "2001-01-31", ""},
		{"timestamp to date, not midnight", Timestamp, "2001-01-31T00:00:01Z", Date, "", CodeInexact},
		{"timestamp to date, nanosecond", Timestamp, "2001-01-31T00:00:00.000000001Z", Date, "", CodeInexact},
		{"bool to json", Bool, "true", JSON, "true", ""},
		{"int to json", Int, "5", JSON, "5", ""},
		{"float to json", Float, "5", JSON, "5.0", ""},
		{"date to json", Date, "2001-01-31", JSON, `"2001-01-31"`, ""},
		{"decimal to json", Decimal, "1.10", JSON, "1.10", ""},
		{"large decimal to json", Decimal, "9223372036854775808", JSON, "9223372036854775808", ""},
		{"decimal to json, 30 digits", Decimal, "0.123456789012345678901234567890", JSON, "0.123456789012345678901234567890", ""},
		{"float to json, all its digits", Float, "1e-7", JSON, "0.0000001", ""},
		{"json number to float", JSON, "0.10", Float, "0.1", ""},
		{"json number to float, 30 digits", JSON, "0.123456789012345678901234567890", Float, "", CodeInexact},
		{"json number to int", JSON, "5", Int, "5", ""},
		{"json string to date", JSON, `"2001-01-31"`, Date, "2001-01-31", ""},
		{"json string to int, strictly", JSON, `"x"`, Int, "", CodeFormat},
		{"json bool to bool", JSON, "false", Bool, "false", ""},
		{"json large number to decimal", JSON, "9223372036854775808", Decimal, "9223372036854775808", ""},
		{"json object to int", JSON, "{}", Int, "", CodeWrongType},
		{"json array to date", JSON, "[]", Date, "", CodeWrongType},
		{"BI-101 bool to int", Bool, "true", Int, "", CodeWrongType},
		{"int to bool", Int, "1", Bool, "", CodeWrongType},
		{"int to date", Int, "1", Date, "", CodeWrongType},
		{"date to int", Date, "2001-01-31", Int, "", CodeWrongType},
		{"int to null", Int, "1", Null, "", CodeWrongType},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, err := Cast(mustParse(test.from, test.text), test.to)
			require.Equal(t, test.code, codeOf(t, err))
			require.Equal(t, test.want, string(AppendText(nil, v)))
			if err == nil {
				require.Equal(t, test.to, v.Kind())
			}
		})
	}
}

func TestCastKeepsNull(t *testing.T) {
	for kind := Null; kind <= JSON; kind++ {
		v, err := Cast(NullValue(), kind)
		require.NoError(t, err)
		require.True(t, v.IsNull(), kind.String())
	}
	v, err := Cast(mustParse(JSON, "null"), Int)
	require.NoError(t, err)
	require.True(t, v.IsNull())
}

func TestCastErrorNamesBothKinds(t *testing.T) {
	_, err := Cast(BoolValue(true), Int)
	require.EqualError(t, err, `"true" is not a valid int: a bool is never cast to this kind (WRONG_TYPE)`)
}

// Every pair of kinds that CanCast allows casts the value given for it here, and no other pair casts any.
func TestCanCastIsWhatCastDoes(t *testing.T) {
	for from, text := range map[Kind]string{
		Bool: "true", Int: "1", Float: "1.0", Date: "2001-01-31", Timestamp: "2001-01-31T00:00:00Z", Decimal: "1",
	} {
		for to := Bool; to <= JSON; to++ {
			v, err := Parse(from, text)
			require.NoError(t, err)
			_, err = Cast(v, to)
			require.Equal(t, CanCast(from, to), err == nil, "%s to %s", from, to)
		}
	}
	for _, from := range []Kind{Null, String, JSON} {
		for to := Bool; to <= JSON; to++ {
			require.True(t, CanCast(from, to), "%s to %s", from, to)
		}
	}
}
