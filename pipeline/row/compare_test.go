package row

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ordered are values of all kinds in their order, each pair different.
func ordered() []Value {
	values := []Value{NullValue(), BoolValue(false), BoolValue(true)}
	for _, number := range []struct {
		kind Kind
		text string
	}{
		{Float, "-1.7976931348623157e308"}, {Int, "-9223372036854775808"}, {Float, "-9223372036854775808"}, {Decimal, "-9223372036854775808"},
		{Int, "-9223372036854775807"}, {Int, "-10"}, {Float, "-9.5"}, {Decimal, "-9.49"}, {Int, "-2"}, {Decimal, "-1.6"}, {Float, "-1.5"}, {Decimal, "-1.5"}, {Decimal, "-1.50"},
		{Int, "-1"}, {Decimal, "-0.1"}, {Float, "-5e-324"}, {Int, "0"}, {Float, "-0.0"}, {Float, "0.0"}, {Decimal, "0"}, {Decimal, "0.0"}, {Float, "5e-324"},
		{Decimal, "0.09"}, {Float, "0.1"}, {Decimal, "0.1"}, {Decimal, "0.10"}, {Decimal, "0.11"}, {Int, "1"}, {Float, "1.0"}, {Decimal, "1"}, {Decimal, "1.0"},
		{Float, "1.5"}, {Decimal, "2"}, {Int, "9"}, {Int, "10"}, {Int, "9007199254740992"}, {Float, "9007199254740992"}, {Int, "9007199254740993"},
		{Decimal, "9007199254740993.5"}, {Float, "9007199254740994"}, {Int, "9223372036854775807"}, {Decimal, "9223372036854775809"}, {Float, "9223372036854775808"}, {Decimal, "9223372036854776001"}, {Float, "1e300"},
	} {
		values = append(values, mustParse(number.kind, number.text))
	}
	for _, text := range []string{"", "\x00", "A", "B", "a", "aa", "b", "é", "\uffff", "😀"} {
		values = append(values, StringValue(text))
	}
	for _, at := range []struct {
		kind Kind
		text string
	}{
		{Date, "0001-01-01"}, {Timestamp, "0001-01-01T00:00:00Z"}, {Timestamp, "1969-12-31T23:59:59.999999999Z"}, {Date, "1970-01-01"}, {Timestamp, "1970-01-01T00:00:00Z"},
		{Timestamp, "1970-01-01T00:00:00.000000001Z"}, {Timestamp, "1970-01-01T00:00:01Z"}, {Date, "1970-01-02"}, {Date, "9999-12-31"}, {Timestamp, "9999-12-31T00:00:00Z"},
	} {
		values = append(values, mustParse(at.kind, at.text))
	}
	for _, text := range []string{`"1"`, `1`, `9223372036854775808`, `[1]`, `[]`, `null`, `{}`} {
		values = append(values, mustParse(JSON, text))
	}
	return values
}

// Every value stands before all that follow it in the list, and after all before it.
func TestCompareOrder(t *testing.T) {
	values := ordered()
	for i, a := range values {
		for j, b := range values {
			require.Equal(t, sign(i-j), Compare(a, b), "%s %s against %s %s", a.Kind(), textOf(a), b.Kind(), textOf(b))
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }

// The order is total, agrees with ==, and with the order of numbers as fractions of big integers.
func TestCompareIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := genValue()
		if rapid.Bool().Draw(t, "numbers") {
			value = genNumber()
		}
		a, b, c := value.Draw(t, "a"), value.Draw(t, "b"), value.Draw(t, "c")
		require.Equal(t, a == b, Compare(a, b) == 0)
		require.Equal(t, -Compare(b, a), Compare(a, b))
		three := []Value{a, b, c}
		slices.SortFunc(three, Compare)
		require.LessOrEqual(t, Compare(three[0], three[2]), 0)
		if a.isNumber() && b.isNumber() {
			if want := fraction(a).Cmp(fraction(b)); want != 0 {
				require.Equal(t, want, Compare(a, b))
			}
		}
	})
}

// genNumber makes numbers of all kinds that are often near one another.
func genNumber() *rapid.Generator[Value] {
	near := rapid.Map(rapid.Int64Range(-2, 2), func(i int64) Value { return IntValue(1<<53 + i) })
	number := rapid.OneOf(rapid.Map(genInt(), IntValue), rapid.Map(genFloat(), FloatValue), genDecimal(), near)
	return rapid.Custom(func(t *rapid.T) Value {
		v := number.Draw(t, "number")
		if v.kind == Int && rapid.Bool().Draw(t, "float") {
			return FloatValue(float64(v.num))
		}
		if cast, err := Cast(v, rapid.SampledFrom([]Kind{Int, Float, Decimal}).Draw(t, "kind")); err == nil {
			return cast
		}
		return v
	})
}

// fraction returns the number that v stands for.
func fraction(v Value) *big.Rat {
	if f := v.Float(); v.kind == Float && f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return new(big.Rat).SetFloat64(f)
	}
	r, _ := new(big.Rat).SetString(textOf(v))
	return r
}

// Order ties numbers that are equal, and nothing else that Compare tells apart.
func TestOrder(t *testing.T) {
	decimal := func(text string) Value {
		value, err := Parse(Decimal, text)
		require.NoError(t, err)
		return value
	}
	for _, equal := range [][2]Value{
		{IntValue(1), FloatValue(1)}, {IntValue(1), decimal("1.00")}, {decimal("1.0"), decimal("1.00")}, {FloatValue(math.Copysign(0, -1)), FloatValue(0)},
	} {
		require.Zero(t, Order(equal[0], equal[1]))
		require.NotZero(t, Compare(equal[0], equal[1]))
	}
	require.Negative(t, Order(decimal("1.00"), decimal("1.01")))
	require.Positive(t, Order(StringValue("1"), IntValue(1)))
}
