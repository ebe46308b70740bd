package row

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A parseCase gives the text of the parsed value, or the code of the refusal.
type parseCase struct{ name, text, want, code string }

func runParse(t *testing.T, kind Kind, cases []parseCase) {
	t.Helper()
	for _, test := range cases {
		name := test.name
		if name == "" {
			name = test.text
		}
		t.Run(kind.String()+" "+name, func(t *testing.T) {
			v, err := Parse(kind, test.text)
			require.Equal(t, test.code, codeOf(t, err))
			require.Equal(t, test.want, string(AppendText(nil, v)))
			if err == nil {
				require.Equal(t, kind, v.Kind())
			}
		})
	}
}

func TestParseInt(t *testing.T) {
	runParse(t, Int, []parseCase{
		{"", "0", "0", ""},
		{"", "-42", "-42", ""},
		{"BI-050 -0 is 0", "-0", "0", ""},
		{"BI-047 2^63-1", "9223372036854775807", "9223372036854775807", ""},
		{"BI-047 -2^63", "-9223372036854775808", "-9223372036854775808", ""},
		{"BI-048 2^63", "9223372036854775808", "", CodeNumberRange},
		{"BI-048 -2^63-1", "-9223372036854775809", "", CodeNumberRange},
		{"BI-048 1,000 digits", strings.Repeat("1", 1000), "", CodeNumberRange},
		{"BI-101 bool", "true", "", CodeFormat},
		{"BI-103 Arabic digits", "١٢٣", "", CodeFormat},
		{"BI-103 full-width digits", "１２", "", CodeFormat},
		{"BI-104 thousands", "1,234", "", CodeFormat},
		{"BI-105 exponent", "1e3", "", CodeFormat},
		{"BI-105 point", "1.0", "", CodeFormat},
		{"plus", "+1", "", CodeFormat},
		{"leading zeros", "007", "", CodeFormat},
		{"two zeros", "00", "", CodeFormat},
		{"minus alone", "-", "", CodeFormat},
		{"two minuses", "--1", "", CodeFormat},
		{"empty", "", "", CodeFormat},
		{"space before", " 1", "", CodeFormat},
		{"space after", "1 ", "", CodeFormat},
		{"newline after", "1\n", "", CodeFormat},
		{"NUL after", "1\x00", "", CodeFormat},
		{"hexadecimal", "0x10", "", CodeFormat},
		{"underscore", "1_000", "", CodeFormat},
		{"formula", "=1+1", "", CodeFormat},
	})
}

func TestParseFloat(t *testing.T) {
	runParse(t, Float, []parseCase{
		{"", "1", "1.0", ""},
		{"BI-050 -0.0 keeps its sign", "-0.0", "-0.0", ""},
		{"BI-051 0.1", "0.1", "0.1", ""},
		{"nearest", "9007199254740993", "9007199254740992.0", ""},
		{"", "1e16", "1e+16", ""},
		{"", "9999999999999998", "9999999999999998.0", ""},
		{"", "0.0001", "0.0001", ""},
		{"", "0.00001", "1e-05", ""},
		{"", "-1.5E+300", "-1.5e+300", ""},
		{"smallest", "5e-324", "5e-324", ""},
		{"largest", "1.7976931348623157e308", "1.7976931348623157e+308", ""},
		{"zero with exponent", "0e999", "0.0", ""},
		{"BI-045 1e400", "1e400", "", CodeNumberRange},
		{"BI-045 1e-400", "1e-400", "", CodeNumberRange},
		{"BI-042 NaN", "NaN", "", CodeFormat},
		{"BI-043 Infinity", "Infinity", "", CodeFormat},
		{"BI-043 inf", "inf", "", CodeFormat},
		{"BI-044 -Infinity", "-Infinity", "", CodeFormat},
		{"BI-103 Arabic digits", "١٫٥", "", CodeFormat},
		{"BI-104 thousands", "1,234.5", "", CodeFormat},
		{"decimal comma", "1,5", "", CodeFormat},
		{"hexadecimal", "0x1p-2", "", CodeFormat},
		{"underscore", "1_0.5", "", CodeFormat},
		{"no digit before the point", ".5", "", CodeFormat},
		{"no digit after the point", "5.", "", CodeFormat},
		{"no digit in the exponent", "5e", "", CodeFormat},
		{"leading zeros", "01.5", "", CodeFormat},
		{"plus", "+1.5", "", CodeFormat},
		{"currency", "$1.50", "", CodeFormat},
		{"empty", "", "", CodeFormat},
	})
}

func TestParseDecimal(t *testing.T) {
	thousand := strings.Repeat("7", 1000)
	runParse(t, Decimal, []parseCase{
		{"scale is kept", "1.10", "1.10", ""},
		{"", "-19.90", "-19.90", ""},
		{"leading zeros", "007.10", "", CodeFormat},
		{"negative leading zeros", "-007.10", "", CodeFormat},
		{"zeros before the point", "000.5", "", CodeFormat},
		{"zero", "0", "0", ""},
		{"zeros", "000", "", CodeFormat},
		{"BI-050 negative zero", "-0.00", "0.00", ""},
		{"negative zero", "-0", "0", ""},
		{"negative zeros", "-00", "", CodeFormat},
		{"small negative", "-0.01", "-0.01", ""},
		{"BI-052 30 digits", "123456789012345678901234567890.12", "123456789012345678901234567890.12", ""},
		{"BI-111 scale is not rounded", "0.123456789", "0.123456789", ""},
		{"1,000 digits", thousand, thousand, ""},
		{"1,000 digits with sign and point", "-" + thousand[:999] + ".7", "-" + thousand[:999] + ".7", ""},
		{"1,001 digits", thousand + "7", "", CodeNumberRange},
		{"1,001 digits with point", thousand + ".7", "", CodeNumberRange},
		{"BI-103 Arabic digits", "١", "", CodeFormat},
		{"BI-104 thousands", "1,234.50", "", CodeFormat},
		{"exponent", "1e2", "", CodeFormat},
		{"plus", "+1", "", CodeFormat},
		{"point first", ".5", "", CodeFormat},
		{"point last", "5.", "", CodeFormat},
		{"two points", "1.2.3", "", CodeFormat},
		{"minus alone", "-", "", CodeFormat},
		{"empty", "", "", CodeFormat},
		{"space", "1 ", "", CodeFormat},
	})
}

func TestParseDate(t *testing.T) {
	runParse(t, Date, []parseCase{
		{"", "2001-01-31", "2001-01-31", ""},
		{"first", "0001-01-01", "0001-01-01", ""},
		{"last", "9999-12-31", "9999-12-31", ""},
		{"leap day", "2024-02-29", "2024-02-29", ""},
		{"leap day of a fourth century", "2000-02-29", "2000-02-29", ""},
		{"no leap day", "2023-02-29", "", CodeTimeRange},
		{"no leap day in a century", "1900-02-29", "", CodeTimeRange},
		{"BI-106 2024-02-30", "2024-02-30", "", CodeTimeRange},
		{"April 31", "2024-04-31", "", CodeTimeRange},
		{"month 13", "2024-13-01", "", CodeTimeRange},
		{"month 0", "2024-00-01", "", CodeTimeRange},
		{"day 0", "2024-01-00", "", CodeTimeRange},
		{"BI-109 year 0", "0000-01-01", "", CodeTimeRange},
		{"BI-109 year 10000", "10000-01-01", "", CodeFormat},
		{"BI-109 year -44", "-044-03-15", "", CodeFormat},
		{"BI-112 duration", "1h-", "", CodeFormat},
		{"US order", "01/31/2001", "", CodeFormat},
		{"no dashes", "20010131", "", CodeFormat},
		{"short", "2001-1-31", "", CodeFormat},
		{"with a time", "2001-01-31T00:00:00Z", "", CodeFormat},
		{"BI-103 Arabic digits", "٢٠٠١-01-31", "", CodeFormat},
		{"sign", "+001-01-31", "", CodeFormat},
		{"empty", "", "", CodeFormat},
	})
}

func TestParseTimestamp(t *testing.T) {
	runParse(t, Timestamp, []parseCase{
		{"", "2001-01-31T23:59:59Z", "2001-01-31T23:59:59Z", ""},
		{"fraction without trailing zeros", "2001-01-31T00:00:00.500Z", "2001-01-31T00:00:00.5Z", ""},
		{"fraction of zero", "2001-01-31T00:00:00.000Z", "2001-01-31T00:00:00Z", ""},
		{"BI-110 nanoseconds", "2001-01-31T00:00:00.000000001Z", "2001-01-31T00:00:00.000000001Z", ""},
		{"BI-110 ten digits", "2001-01-31T00:00:00.0000000010Z", "", CodeFormat},
		{"east", "2001-01-01T00:30:00+01:00", "2000-12-31T23:30:00Z", ""},
		{"west", "2000-12-31T23:30:00.25-01:30", "2001-01-01T01:00:00.25Z", ""},
		{"offset +00:00", "2001-01-01T00:00:00+00:00", "2001-01-01T00:00:00Z", ""},
		{"offset -00:00 means unknown", "2001-01-01T00:00:00-00:00", "", CodeFormat},
		{"before 1970", "1969-12-31T23:59:59.75Z", "1969-12-31T23:59:59.75Z", ""},
		{"first", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", ""},
		{"last", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z", ""},
		{"BI-109 before the first in UTC", "0001-01-01T00:00:00+00:01", "", CodeTimeRange},
		{"BI-109 after the last in UTC", "9999-12-31T23:59:59-00:01", "", CodeTimeRange},
		{"BI-109 year 0", "0000-06-01T00:00:00Z", "", CodeTimeRange},
		{"BI-106 no such day", "2024-02-30T00:00:00Z", "", CodeTimeRange},
		{"BI-107 24:00:00", "2001-01-31T24:00:00Z", "", CodeTimeRange},
		{"BI-107 leap second", "2016-12-31T23:59:60Z", "", CodeTimeRange},
		{"minute 60", "2001-01-31T00:60:00Z", "", CodeTimeRange},
		{"BI-108 no zone", "2024-03-31T02:30:00", "", CodeFormat},
		{"BI-108 zone by name", "2024-03-31T02:30:00[Europe/Berlin]", "", CodeFormat},
		{"BI-112 duration", "P1DT2H", "", CodeFormat},
		{"offset without colon: Salesforce, Jira", "2001-01-31T00:00:00.000+0100", "2001-01-30T23:00:00Z", ""},
		{"offset of hours: COPY of Postgres", "2001-01-31 00:00:00.5-02", "2001-01-31T02:00:00.5Z", ""},
		{"offset of hours and a half: COPY of Postgres", "2001-01-31 00:00:00+05:30", "2001-01-30T18:30:00Z", ""},
		{"offset -0000 means unknown", "2001-01-01T00:00:00-0000", "", CodeFormat},
		{"offset of three digits", "2001-01-01T00:00:00+010", "", CodeFormat},
		{"offset with seconds", "2001-01-01T00:00:00+01:00:00", "", CodeFormat},
		{"offset of 24 hours", "2001-01-31T00:00:00+24:00", "", CodeFormat},
		{"offset of 60 minutes", "2001-01-31T00:00:00+00:60", "", CodeFormat},
		{"space for T", "2001-01-31 00:00:00Z", "2001-01-31T00:00:00Z", ""},
		{"two spaces for T", "2001-01-31  00:00:00Z", "", CodeFormat},
		{"space before the offset", "2001-01-31T00:00:00 +01:00", "", CodeFormat},
		{"lower-case t and z", "2001-01-31t00:00:00z", "2001-01-31T00:00:00Z", ""},
		{"point without digits", "2001-01-31T00:00:00.Z", "", CodeFormat},
		{"decimal comma", "2001-01-31T00:00:00,5Z", "", CodeFormat},
		{"fraction without zone", "2001-01-31T00:00:00.5", "", CodeFormat},
		{"without seconds", "2001-01-31T00:00Z", "", CodeFormat},
		{"broken clock", "2001-01-31T00-00-00Z", "", CodeFormat},
		{"date alone", "2001-01-31", "", CodeFormat},
		{"empty", "", "", CodeFormat},
	})
}

func TestWhatIsNoTimestampIsNamed(t *testing.T) {
	for text, trouble := range map[string]string{
		"2026-07-01 10:00:00":               "it has no zone: add Z or an offset such as +01:00",
		"2026-07-01T10:00:00.5":             "it has no zone: add Z or an offset such as +01:00",
		"2026-07-01T10:00Z":                 "character 17 is 'Z' and not ':'",
		"2026-07-01T10:00:00,123Z":          "character 20 is ',' and not '.'",
		"20260701T100000Z":                  "character 5 is '0' and not '-'",
		"2026-07-01T10:00:00.1234567891Z":   "a fraction of a second has one to nine digits",
		"2026-W27-3T10:00:00Z":              "character 6 is 'W' and not a digit",
		"2026-07-01T10:00:00-00:00":         "-00:00 says that its zone is not known",
		"2026-07-01T10:00:00+24:00":         `"+24:00" is no zone: write Z or an offset such as +01:00`,
		"2026-07-01T10:00:00 Europe/Berlin": `" Europe/Berlin" is no zone: write Z or an offset such as +01:00`,
		"Wed, 01 Jul 2026 10:00:00 GMT":     "character 1 is 'W' and not a digit",
		"1767225600":                        "character 5 is '2' and not '-'",
		"2026-07-01":                        `it ends after "2026-07-01"`,
		"2026-07-01T1０:00:00Z":              "character 13 is '０' and not a digit",
		"2026-07-01T10:00:00\u200b+01:00 ":  "remove the white space around it",
	} {
		_, err := Parse(Timestamp, text)
		bad := new(ConvertError)
		require.ErrorAs(t, err, &bad, text)
		require.Equal(t, "expected a time with a zone such as 2001-01-31T23:59:59Z; "+trouble, bad.Hint, text)
	}
}

func TestParseOtherKinds(t *testing.T) {
	runParse(t, Bool, []parseCase{
		{"", "true", "true", ""}, {"", "false", "false", ""}, {"upper case", "TRUE", "", CodeFormat},
		{"one", "1", "", CodeFormat}, {"yes", "yes", "", CodeFormat}, {"empty", "", "", CodeFormat}, {"space", "true ", "", CodeFormat},
	})
	runParse(t, String, []parseCase{
		{"empty", "", "", ""}, {"space", " a ", " a ", ""}, {"BI-057 NUL", "a\x00", "a\x00", ""},
		{"BI-055 invalid UTF-8", "\xff", "", CodeEncoding}, {"BI-120 CESU-8", "\xed\xa0\xbd", "", CodeEncoding},
	})
	runParse(t, JSON, []parseCase{
		{"", ` {"b":1,"a":2} `, `{"a":2,"b":1}`, ""}, {"null", "null", "null", ""}, {"string", `"a"`, `"a"`, ""},
		{"BI-041 duplicate key", `{"a":1,"a":1}`, "", CodeDuplicateKey}, {"empty", "", "", CodeSyntax}, {"bare word", "abc", "", CodeSyntax},
	})
	runParse(t, Null, []parseCase{{"empty", "", "", ""}, {"word", "null", "", CodeFormat}})
}

func TestConvertErrorNamesTextAndCure(t *testing.T) {
	tests := []struct {
		kind       Kind
		text, want string
	}{
		{Int, "007", `"007" is not a valid int: expected ASCII digits with an optional minus sign without leading zeros; declare the field as string to keep them (FORMAT)`},
		{Int, " 7", `" 7" is not a valid int: expected ASCII digits with an optional minus sign; remove the white space around it (FORMAT)`},
		{Int, "", `"" is not a valid int: expected ASCII digits with an optional minus sign, found nothing (FORMAT)`},
		{Bool, "\x1b[2J\u202e", `"\x1b[2J\u202e" is not a valid bool: expected true or false (FORMAT)`},
		{JSON, "[1,]", `"[1,]" is not a valid json: at byte 3: expected a JSON value, found ']' (SYNTAX)`},
		{String, "\xff", `"\xff" is not a valid string: expected valid UTF-8 (ENCODING)`},
	}
	for _, test := range tests {
		_, err := Parse(test.kind, test.text)
		require.EqualError(t, err, test.want)
	}
}

func TestConvertErrorCutsText(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 65), strings.Repeat("é", 40), "x" + strings.Repeat("é", 40), strings.Repeat("😀", 20)} {
		_, err := Parse(Int, text)
		bad, ok := errors.AsType[*ConvertError](err)
		require.True(t, ok)
		kept, cut := strings.CutSuffix(bad.Text, "…")
		require.True(t, cut)
		require.LessOrEqual(t, len(kept), 64)
		require.Greater(t, len(kept), 60)
		require.True(t, utf8.ValidString(kept))
		require.True(t, strings.HasPrefix(text, kept))
	}
}

// Our calendar is the one of package time, on every day from 0001-01-01 to 9999-12-31.
func TestCalendar(t *testing.T) {
	day := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for days := int64(minDay); days <= maxDay; days++ {
		year, month, dayOfMonth := day.Date()
		y, m, d := civilOf(days)
		if y != year || m != int(month) || d != dayOfMonth || daysOf(y, m, d) != days || !validDate(y, m, d) {
			require.Failf(t, "wrong day", "%d is %v, not %d-%d-%d", days, day, y, m, d)
		}
		day = day.AddDate(0, 0, 1)
	}
	require.Equal(t, 10000, day.Year())
}
