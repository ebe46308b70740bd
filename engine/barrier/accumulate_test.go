package barrier

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// over works a function out over values of any kinds.
func over(function expr.Func, q float64, values ...row.Value) (row.Value, error) {
	call := &expr.Call{Func: function, Quantile: q}
	if function != expr.Count {
		call.Arg = new(expr.Program)
	}
	total := newAccumulator(call)
	for _, value := range values {
		total.add(value)
	}
	return total.result()
}

func ints(numbers ...int64) []row.Value {
	var values []row.Value
	for _, n := range numbers {
		values = append(values, row.IntValue(n))
	}
	return values
}

func floats(numbers ...float64) []row.Value {
	var values []row.Value
	for _, f := range numbers {
		values = append(values, row.FloatValue(f))
	}
	return values
}

func decimals(texts ...string) []row.Value {
	var values []row.Value
	for _, text := range texts {
		values = append(values, mustParse(row.Decimal, text))
	}
	return values
}

// What each function gives, as a canonical value or as the code of an error.
func TestFunctions(t *testing.T) {
	null, text := row.NullValue(), row.StringValue("x")
	nines := strings.Repeat("9", 1000)
	mixed, exact := append(ints(1), floats(1)...), append(ints(100, math.MaxInt64, 3), decimals("2.50")...)
	tests := []struct {
		function expr.Func
		values   []row.Value
		want     string
	}{
		{expr.Count, []row.Value{null, text, null}, `3`},
		{expr.Sum, nil, `null`},
		{expr.Sum, []row.Value{null}, `null`},
		{expr.Sum, append(ints(1, 2), null), `3`},
		{expr.Sum, ints(math.MaxInt64, math.MaxInt64, 5, -math.MaxInt64), `OVERFLOW`},
		{expr.Sum, ints(math.MaxInt64, 1, -1), `9223372036854775807`},
		{expr.Sum, ints(math.MinInt64, -1, 1), `-9223372036854775808`},
		{expr.Sum, ints(math.MinInt64, -1), `OVERFLOW`},
		{expr.Sum, floats(1, 1e100, 1, -1e100), `2.0`},
		{expr.Sum, floats(0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1), `1.0`},
		{expr.Sum, floats(1e308, 1e308), `OVERFLOW`},
		{expr.Sum, floats(1e308, 1e308, -1e308, 1e-300, -1e308, 1e292), `1e+292`},
		{expr.Sum, floats(1, 0x1p-53, 0x1p-1074), `1.0000000000000002`},
		{expr.Sum, floats(math.Copysign(0, -1)), `0.0`},
		{expr.Mean, floats(1e308, 1e308), `1e+308`},
		{expr.Mean, floats(0x1p-1074, 0x1p-1074, 0), `5e-324`},
		{expr.Sum, decimals("1.10", "2", "-0.1"), `{"$decimal":"3.00"}`},
		{expr.Sum, decimals(nines, "1"), `OVERFLOW`},
		{expr.Sum, decimals(nines, "1", "-1"), `OVERFLOW`},
		{expr.Sum, mixed, `NO_SUCH_OVERLOAD`},
		{expr.Sum, exact, `{"$decimal":"9223372036854775912.50"}`},
		{expr.Sum, append(decimals("2.50"), ints(100, -1)...), `{"$decimal":"101.50"}`},
		{expr.Sum, append(exact, floats(1)...), `NO_SUCH_OVERLOAD`},
		{expr.Mean, append(ints(1), decimals("2")...), `{"$decimal":"1.500000"}`},
		{expr.VarPop, append(ints(1), decimals("2.0", "3")...), `0.6666666666666666`},
		{expr.VarPop, append(decimals("1.0"), ints(2, 3)...), `0.6666666666666666`},
		{expr.Min, exact, `{"$decimal":"2.50"}`},
		{expr.Max, append(decimals("1.5"), ints(2)...), `2`},
		{expr.Quantile, exact, `{"$decimal":"2.50"}`},
		{expr.Mean, ints(1, 2), `1.5`},
		{expr.Mean, ints(math.MaxInt64, math.MaxInt64), `9.223372036854776e+18`},
		{expr.Mean, ints(math.MinInt64, math.MinInt64, math.MinInt64), `-9.223372036854776e+18`},
		{expr.Mean, append(floats(1, 2), null), `1.5`},
		{expr.Mean, decimals("1", "1", "2"), `{"$decimal":"1.333333"}`},
		{expr.Mean, decimals(nines, "1"), `OVERFLOW`},
		{expr.Mean, []row.Value{null}, `null`},
		{expr.Mean, mixed, `NO_SUCH_OVERLOAD`},
		{expr.Min, append([]row.Value{null}, ints(3, -1, 2)...), `-1`},
		{expr.Max, append([]row.Value{null}, ints(-3, -1, -2)...), `-1`},
		{expr.Max, []row.Value{null}, `null`},
		{expr.Min, mixed, `NO_SUCH_OVERLOAD`},
		{expr.Max, decimals("1.1", "1.10"), `{"$decimal":"1.10"}`},
		{expr.First, append([]row.Value{null}, ints(1)...), `null`},
		{expr.First, []row.Value{text, null}, `"x"`},
		{expr.Last, []row.Value{text, null}, `null`},
		{expr.Last, mixed, `1.0`},
		{expr.Collect, nil, `[]`},
		{expr.Collect, append([]row.Value{null, text}, mixed...), `["x",1,1.0]`},
		{expr.CountDistinct, append(append([]row.Value{null, text, text}, mixed...), mixed...), `2`},
		{expr.CountDistinct, append(decimals("100", "100.0", "100.00", "9.5", "9.50"), ints(100)...), `2`},
		{expr.CountDistinct, []row.Value{mustParse(row.JSON, `{"a":1}`), mustParse(row.JSON, `{"a":1.0}`), mustParse(row.JSON, "null")}, `1`},
		{expr.CountDistinct, nil, `0`},
		{expr.Quantile, nil, `null`},
		{expr.Quantile, ints(4, 1, 3, 2), `1`},
		{expr.Quantile, floats(4, 1, 3, 2), `1.75`},
		{expr.Quantile, append(ints(1), text), `NO_SUCH_OVERLOAD`},
	}
	for _, test := range tests {
		value, err := over(test.function, 0.25, test.values...)
		got := string(row.AppendValue(nil, value))
		if failed, ok := errors.AsType[*expr.EvalError](err); ok {
			got = failed.Code
		}
		require.Equal(t, test.want, got, "%s of %v", test.function, test.values)
	}
}

// Sums and means against arithmetic without limits: exact for ints, and for floats as if all had been added before the one
// rounding, in whatever order.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Int64(), 1, 20).Draw(t, "ints")
		exact := new(big.Int)
		for _, n := range numbers {
			exact.Add(exact, big.NewInt(n))
		}
		sum, err := over(expr.Sum, 0, ints(numbers...)...)
		require.Equal(t, exact.IsInt64(), err == nil)
		if err == nil {
			require.Equal(t, exact.Int64(), sum.Int())
		}
		mean, err := over(expr.Mean, 0, ints(numbers...)...)
		require.NoError(t, err)
		want, _ := new(big.Rat).SetFrac(exact, big.NewInt(int64(len(numbers)))).Float64()
		require.Equal(t, want, mean.Float())
	})
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Range(-1e9, 1e9), rapid.Float64(), rapid.SampledFrom([]float64{0.1, 1e16, -1e16, 0x1p-1074, 0x1p959, -0x1p960, 0x1p1023}))
		numbers := rapid.SliceOfN(number, 1, 50).Draw(t, "floats")
		exact := new(big.Rat)
		for _, f := range numbers {
			exact.Add(exact, new(big.Rat).SetFloat64(f))
		}
		for _, numbers := range [][]float64{numbers, rapid.Permutation(numbers).Draw(t, "permutation")} {
			sum, err := over(expr.Sum, 0, floats(numbers...)...)
			want, _ := exact.Float64()
			require.Equal(t, math.IsInf(want, 0), err != nil)
			if err == nil {
				require.Equal(t, want, sum.Float())
			}
			mean, err := over(expr.Mean, 0, floats(numbers...)...)
			require.NoError(t, err)
			want, _ = new(big.Rat).Quo(exact, new(big.Rat).SetInt64(int64(len(numbers)))).Float64()
			require.Equal(t, want, mean.Float())
		}
	})
}

// Values of the wrong kind are told by what came first.
func TestMixturesAreNamed(t *testing.T) {
	_, err := over(expr.Max, 0, row.NullValue(), row.IntValue(1), row.StringValue("x"), row.BoolValue(true))
	require.EqualError(t, err, "some values are int and some string: convert them to one kind (NO_SUCH_OVERLOAD)")
}
