package fit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

// TestWhatAColumnKeeps has a column of each type with values that it keeps, and values that Postgres would change.
func TestWhatAColumnKeeps(t *testing.T) {
	scale := func(precision, scale int32) int32 { return precision<<16 | scale&0x7ff + headerSize }
	for _, c := range []struct {
		about         string
		oid           uint32
		modifier      int32
		keeps, alters []string
	}{
		{"numeric(10,2)", numeric, scale(10, 2),
			[]string{"1", "1.01", "-1.0100", "1e2", "100e-2", "0.000", "0e-9", " 1.5 ", "NaN", "x", "", "."},
			[]string{"1.005", "-0.001", "1e-3", " 1.005 ", ".005", "123456e-3"}},
		{"numeric(3,-2)", numeric, scale(3, -2), []string{"100", "12300", "1e2", "0"}, []string{"150", "1"}},
		{"money", money, unlimited, []string{"1.01", "-5", "$1,000.005"}, []string{"1.005"}},
		{"real", float4, unlimited,
			[]string{"0.1", "1e-05", "16777216", "0.10000000149011612", "3.4028235e38", "1e39", "-0.0", "0", "1.50"},
			[]string{"16777217", "0.10000000149", "0.30000000000000004", "1e-60"}},
		{"double precision", float8, unlimited,
			[]string{"0.1", "5e-324", "9007199254740992", "1152921504606846976", "1e400", "2.50",
				"0.1000000000000000055511151231257827021181583404541015625"},
			[]string{"9007199254740993", "12345678901234567890.12", "0.1000000000000000055511151231257827", "1e-400"}},
		{"date", date, unlimited,
			[]string{"2026-01-02", "2026-01-02T00:00:00Z", "2026-01-02 00:00:00.000", "infinity"},
			[]string{"2026-01-02T14:34:32Z", "2026-01-02T00:00:00.5Z", "2026-01-02 01:00:00", "2026-01-02 10:00:00"}},
		{"timestamp", timestamp, unlimited,
			[]string{"2026-01-02T14:34:32.123456Z", "2026-01-02 14:34:32.1234560000", "2026-01-02 14:34:32+00", "2026-01-02"},
			[]string{"2026-01-02T14:34:32.1234567Z", "2026-01-02T14:34:32+02:00", "2026-01-02 14:34:32.5 -0030"}},
		{"timestamptz", timestamptz, unlimited, []string{"2026-01-02T14:34:32.5+02:00"}, []string{"2026-01-02T14:34:32.0000001Z"}},
		{"timestamptz(0)", timestamptz, 0, []string{"2026-01-02T14:34:32.000Z"}, []string{"2026-01-02T14:34:32.6Z"}},
		{"time(3)", clock, 3, []string{"24:00:00", "12:00:00.123"}, []string{"12:00:00.1234", "12:00:00+02"}},
		{"timetz", timetz, unlimited, []string{"12:00:00+02"}, []string{"12:00:00.1234567+02"}},
		{"varchar(3)", varchar, 3 + headerSize, []string{"abc", "äöü", "", "abcd "}, []string{"abc ", "ä    "}},
		{"char(3)", bpchar, 3 + headerSize, []string{"a"}, []string{"a   "}},
		{"name", name, unlimited, []string{"a"}, []string{"a23456789b123456789c123456789d123456789e123456789f123456789g1234"}},
		{`"char"`, char, unlimited, []string{"a", ""}, []string{"ab"}},
	} {
		keeps := Of(c.oid, c.modifier, row.Null)
		for _, text := range c.keeps {
			require.True(t, keeps(text), "%s: %q", c.about, text)
		}
		for _, text := range c.alters {
			require.False(t, keeps(text), "%s: %q", c.about, text)
		}
	}
	cents := Elements(Of(numeric, scale(10, 2), row.Decimal))
	for _, text := range []string{"[]", "[1.01,null,[\"2.50\"]]", "{1.005}", "[1.005", "1.005", "null"} {
		require.True(t, cents(text), text)
	}
	for _, text := range []string{"[1.005]", "[[1],[null,\"1.005\"]]"} {
		require.False(t, cents(text), text)
	}
	for kind, oid := range map[row.Kind]uint32{row.Float: float8, row.Date: date, row.Timestamp: timestamptz} {
		require.Nil(t, Of(oid, unlimited, kind), "a table that a sink makes costs nothing")
		require.NotNil(t, Of(oid, unlimited, row.Decimal))
	}
	const text = 25
	for _, oid := range []uint32{text, numeric, varchar, bpchar} {
		require.Nil(t, Of(oid, unlimited, row.Null))
	}
}
