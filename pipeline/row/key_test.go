package row

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Each line has values that are equal, and no two lines have.
func TestKeysOfEqualValuesAreEqual(t *testing.T) {
	known := map[Value]int{}
	for i, equal := range [][]Value{
		{NullValue(), mustParse(JSON, "null")},
		{BoolValue(true), mustParse(JSON, "true")},
		{BoolValue(false), mustParse(JSON, "false")},
		{IntValue(0), FloatValue(0), FloatValue(math.Copysign(0, -1)), mustParse(Decimal, "0.00"), mustParse(JSON, "0"), mustParse(JSON, "-0.0")},
		{IntValue(100), FloatValue(100), mustParse(Decimal, "100"), mustParse(Decimal, "100.00"), mustParse(JSON, "1e2"), mustParse(JSON, "100.0")},
		{IntValue(-1), FloatValue(-1), mustParse(Decimal, "-1.0")},
		{FloatValue(0.1), mustParse(Decimal, "0.1"), mustParse(Decimal, "0.100"), mustParse(JSON, "0.10")},
		{mustParse(Decimal, "0.1000000000000000055511151231257827")},
		{IntValue(1<<53 + 1), mustParse(Decimal, "9007199254740993.0")},
		{IntValue(1 << 53), FloatValue(1 << 53)},
		{IntValue(math.MinInt64), FloatValue(math.MinInt64), mustParse(Decimal, "-9223372036854775808.000")},
		{FloatValue(-math.MinInt64), mustParse(Decimal, "9223372036854776000")},
		{mustParse(Decimal, "9223372036854775808"), mustParse(JSON, "9223372036854775808.0")},
		{FloatValue(1e300), mustParse(JSON, "1e300")},
		{StringValue("100"), mustParse(JSON, `"100"`)},
		{StringValue("100.0")},
		{mustParse(Date, "2001-01-31")},
		{mustParse(Timestamp, "2001-01-31T00:00:00Z")},
		{StringValue("2001-01-31")},
		{mustParse(JSON, `{"a":[1,2.50,{"b":-0.0}],"c":"1.0"}`), mustParse(JSON, `{"c":"1.0","a":[1.0,2.5,{"b":0}]}`)},
		{mustParse(JSON, `{"$a":1.0}`), mustParse(JSON, `{"$a":1}`)},
		{mustParse(JSON, `{"a":[1,2.50,{"b":-0.0}],"c":"1.00"}`)},
		{mustParse(JSON, `[]`)},
		{mustParse(JSON, `[null]`)},
	} {
		for _, v := range equal {
			key := v.Key()
			was, found := known[key]
			require.True(t, !found || was == i, "%s %s is equal to one of line %d", v.Kind(), textOf(v), was)
			known[key] = i
			require.Equal(t, equal[0].Key(), key, "%s %s", v.Kind(), textOf(v))
			require.Equal(t, key, key.Key())
			again, err := Parse(key.Kind(), string(AppendText(nil, key)))
			require.NoError(t, err)
			require.Equal(t, key, again, "a key is a value as others are")
		}
	}
}

// Numbers have the same key if and only if they are the same fraction, and that is as Order has it.
func TestKeysOfNumbers(t *testing.T) {
	numbers := rapid.OneOf(rapid.Map(genInt(), IntValue), rapid.Map(genFloat(), FloatValue), genDecimal(),
		rapid.Map(rapid.SampledFrom([]string{"1", "1.0", "0.5", "0.50", "-3", "-3.000", "1000000"}), func(text string) Value { return mustParse(Decimal, text) }))
	fraction := func(v Value) string {
		number, _ := new(big.Rat).SetString(plainDigits(v))
		return number.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		v, w := numbers.Draw(t, "v"), numbers.Draw(t, "w")
		require.Equal(t, fraction(v) == fraction(w), v.Key() == w.Key())
		require.Equal(t, Order(v, w) == 0, v.Key() == w.Key())
	})
}

// A number that becomes JSON, or an item of JSON, stays the number that it is.
func TestNumbersKeepTheirKeysInJSON(t *testing.T) {
	numbers := rapid.OneOf(rapid.Map(genInt(), IntValue), rapid.Map(genFloat(), FloatValue), genDecimal(),
		rapid.SampledFrom([]Value{FloatValue(1 << 62), FloatValue(math.MinInt64), FloatValue(1 << 63), FloatValue(1e16)}))
	rapid.Check(t, func(t *rapid.T) {
		v := numbers.Draw(t, "v")
		cast, err := Cast(v, JSON)
		require.NoError(t, err)
		require.Equal(t, v.Key(), cast.Key())
		items := string(AppendJSONObject(nil, Row{NewShape([]string{"v"}), []Value{v}}))
		cast, err = ParseJSON(items)
		require.NoError(t, err)
		require.NoError(t, ScanObject(cast.Text(), func(_ string, raw RawValue) error {
			item, err := raw.Natural()
			require.Equal(t, v.Key(), item.Key())
			return err
		}))
	})
}

// Two kinds can be equal if some text is read as equal values of both.
func TestCanEqualIsWhatKeysSay(t *testing.T) {
	texts := []string{"true", "1", "1.0", "x", `"x"`, "2001-01-31", `"2001-01-31"`, "2001-01-31T00:00:00Z", `"2001-01-31T00:00:00Z"`}
	keys := func(kind Kind) (all []Value) {
		for _, text := range texts {
			if v, err := Parse(kind, text); err == nil {
				all = append(all, v.Key())
			}
		}
		return all
	}
	for a := Bool; a <= JSON; a++ {
		for b := Bool; b <= JSON; b++ {
			equal := slices.ContainsFunc(keys(a), func(v Value) bool { return slices.Contains(keys(b), v) })
			require.Equal(t, equal, CanEqual(a, b), "%s and %s", a, b)
		}
	}
}
