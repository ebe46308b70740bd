package expr

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/row"
)

func TestQuantileOf(t *testing.T) {
	floats := []row.Value{row.FloatValue(1), row.FloatValue(2), row.FloatValue(4), row.FloatValue(8)}
	for q, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 1.0 / 3: 2, 0.75: 5, 1: 8} {
		require.Equal(t, row.FloatValue(want), QuantileOf(floats, q), q)
	}
	for q, want := range map[float64]int64{0: 1, 0.25: 1, 0.5: 2, 0.75: 3, 0.99: 3, 1: 4} {
		require.Equal(t, row.IntValue(want), QuantileOf(ints(1, 2, 3, 4), q), q)
	}
	farApart := []row.Value{row.FloatValue(-math.MaxFloat64), row.FloatValue(math.MaxFloat64)}
	require.Equal(t, row.FloatValue(0), QuantileOf(farApart, 0.5))
	require.Equal(t, row.StringValue("a"), QuantileOf([]row.Value{row.StringValue("a"), row.StringValue("b")}, 0.9))
	require.Equal(t, row.FloatValue(7), QuantileOf([]row.Value{row.FloatValue(7)}, 0.9))
}

// A quantile of floats never leaves the range of its neighbours, however far apart they are.
func TestQuantileOfStaysBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), 1, 5).Draw(t, "numbers")
		slices.Sort(numbers)
		var values []row.Value
		for _, number := range numbers {
			values = append(values, row.FloatValue(number))
		}
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		place := q * float64(len(values)-1)
		got := QuantileOf(values, q).Float()
		require.GreaterOrEqual(t, got, numbers[int(place)])
		require.LessOrEqual(t, got, numbers[int(math.Ceil(place))])
	})
}

func TestDecimalSum(t *testing.T) {
	for _, c := range []struct{ values, sum, mean string }{
		{"", "0", ""},
		{"1", "1", "1.000000"},
		{"1.10 2.2 -0.05", "3.25", "1.08333333"},
		{"1 2 2", "5", "1.666667"},
		{"-1 -2 -2", "-5", "-1.666667"},
		{"0.5 -0.50", "0.00", "0.00000000"},
		{"99999999999999999999.9 0.1", "100000000000000000000.0", "50000000000000000000.0000000"},
	} {
		var sum DecimalSum
		values := strings.Fields(c.values)
		for _, text := range values {
			require.NoError(t, sum.Add(parse(t, row.Decimal, text)))
		}
		got, err := sum.Value()
		require.NoError(t, err)
		require.Equal(t, parse(t, row.Decimal, c.sum), got)
		if len(values) > 0 {
			mean, err := sum.Mean(int64(len(values)))
			require.NoError(t, err)
			require.Equal(t, parse(t, row.Decimal, c.mean), mean)
		}
	}
}

// The sum is that of fractions of big integers, and continues from its own value as if it had not stopped.
func TestDecimalSumIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,12})?`)).Draw(t, "values")
		var sum DecimalSum
		want := new(big.Rat)
		for _, text := range texts {
			number, _ := new(big.Rat).SetString(text)
			want.Add(want, number)
			require.NoError(t, sum.Add(parse(t, row.Decimal, text)))
			value, err := sum.Value()
			require.NoError(t, err)
			sum = DecimalSum{}
			require.NoError(t, sum.Add(value))
		}
		value, err := sum.Value()
		require.NoError(t, err)
		got, _ := new(big.Rat).SetString(value.Text())
		require.Zero(t, want.Cmp(got))
	})
}

func TestDecimalSumOverflows(t *testing.T) {
	nines := parse(t, row.Decimal, strings.Repeat("9", maxDecimalDigits))
	var sum DecimalSum
	require.NoError(t, sum.Add(nines))
	_, err := sum.Value()
	require.NoError(t, err)
	_, err = sum.Mean(1)
	require.ErrorContains(t, err, CodeOverflow)
	require.EqualError(t, sum.Add(parse(t, row.Decimal, "1")), "the sum has more than 1000 digits (OVERFLOW)")

	sum = DecimalSum{}
	require.NoError(t, sum.Add(parse(t, row.Decimal, "0."+strings.Repeat("0", maxDecimalDigits-2)+"1")))
	_, err = sum.Value()
	require.NoError(t, err)
	require.NoError(t, sum.Add(parse(t, row.Decimal, "9")))
	require.Error(t, sum.Add(parse(t, row.Decimal, "1")))
}

func TestListOf(t *testing.T) {
	values := []row.Value{
		row.NullValue(), row.BoolValue(true), row.IntValue(-7), row.FloatValue(1), row.StringValue(`"x`), row.DateValue(0), row.TimestampValue(1, 5e8),
		parse(t, row.Decimal, "1.50"), parse(t, row.Decimal, "99999999999999999999"), parse(t, row.JSON, `{"$b":[1],"a":null}`), parse(t, row.JSON, "null"),
	}
	got, err := ListOf(values)
	require.NoError(t, err)
	require.Equal(t, parse(t, row.JSON, `[null,true,-7,1.0,"\"x","1970-01-01","1970-01-01T00:00:01.5Z",1.50,99999999999999999999,{"$b":[1],"a":null},null]`), got)
	got, err = ListOf(nil)
	require.NoError(t, err)
	require.Equal(t, parse(t, row.JSON, "[]"), got)
	_, err = ListOf([]row.Value{row.StringValue(strings.Repeat("x", maxResultBytes))})
	require.ErrorContains(t, err, CodeResultSize)
	_, err = ListOf([]row.Value{parse(t, row.JSON, strings.Repeat("[", row.MaxJSONDepth)+strings.Repeat("]", row.MaxJSONDepth))})
	require.ErrorContains(t, err, CodeResultType)
}

// The words of the functions are stored.
func TestFuncsAreStored(t *testing.T) {
	require.Equal(t, []Func{"count", "sum", "min", "max", "mean", "first", "last", "collect", "count_distinct", "quantile", "var_samp", "var_pop", "stddev_samp", "stddev_pop"}, Funcs())
}
