package amount

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"waymark/pipeline/row"
)

func TestSumsAreExact(t *testing.T) {
	for _, c := range []struct{ amounts, want string }{
		{"", "0"},
		{"1.10 2.2 -0.05", "3.25"},
		{"0.1 -0.1", "0.0"},
		{"-0.05", "-0.05"},
		{"0.00 5", "5.00"},
		{"9223372036854775807 1", "9223372036854775808"},
		{"-9223372036854775808 -1 0.5", "-9223372036854775808.5"},
		{"999999999999999999 0.000000000000000001", "999999999999999999.000000000000000001"},
		{"9223372036854775807 0.5 -9223372036854775807", "0.5"},
		{"12345678901234567890.123456789 -12345678901234567890.123456789", "0.000000000"},
		{strings.Repeat("9", 1000) + " 1", "1" + strings.Repeat("0", 1000)},
	} {
		var sum, twice Sum
		for _, text := range strings.Fields(c.amounts) {
			amount, err := Parse(text)
			require.NoError(t, err)
			sum.Add(amount)
		}
		require.Equal(t, c.want, sum.String(), c.amounts)
		twice.AddSum(sum)
		twice.AddSum(sum)
		twice.Subtract(sum)
		requireEqual(t, c.want, twice)
		twice.Subtract(sum)
		require.True(t, twice.IsZero(), c.amounts)
	}
}

func requireEqual(t *testing.T, want string, sum Sum) {
	t.Helper()
	require.True(t, decimal.RequireFromString(want).Equal(decimal.RequireFromString(sum.String())), "%s is not %s", sum.String(), want)
}

// TestSumsDoNotDependOnTheOrder adds random amounts in two orders, and as decimals.
func TestSumsDoNotDependOnTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		var texts []string
		want := decimal.Zero
		for range 1 + random.IntN(30) {
			text := randomText(random)
			texts = append(texts, text)
			want = want.Add(decimal.RequireFromString(text))
		}
		var forwards, backwards Sum
		for i := range texts {
			forwards.Add(ofText(texts[i]))
			backwards.Add(ofText(texts[len(texts)-1-i]))
		}
		require.Equal(t, forwards.String(), backwards.String(), texts)
		requireEqual(t, want.String(), forwards)
	}
}

func randomText(random *rand.Rand) string {
	number := decimal.New(random.Int64N(math.MaxInt64)-math.MaxInt64/2, -int32(random.IntN(20)))
	if random.IntN(2) == 0 {
		number = decimal.New(random.Int64N(2000)-1000, -int32(random.IntN(4)))
	}
	return number.StringFixed(max(0, -number.Exponent()))
}

func TestAmountsAreNumbers(t *testing.T) {
	parsed, err := row.Parse(row.Decimal, "1.10")
	require.NoError(t, err)
	for _, c := range []struct {
		value row.Value
		want  string
	}{{parsed, "1.10"}, {row.IntValue(math.MinInt64), strconv.Itoa(math.MinInt64)}, {row.FloatValue(1), ""}, {row.NullValue(), ""}, {row.StringValue("1"), ""}} {
		amount, ok := Of(c.value)
		require.Equal(t, c.want != "", ok)
		if ok {
			var sum Sum
			sum.Add(amount)
			require.Equal(t, c.want, sum.String())
		}
	}
	for _, text := range []string{"", "x", "1e3", "+1", "01", ".5", "1.", " 1", "NaN", "-"} {
		_, err := Parse(text)
		require.ErrorContains(t, err, "is not an amount", text)
	}
}

// BenchmarkAdd adds one amount of a row: what a total costs beside its expression.
func BenchmarkAdd(b *testing.B) {
	value, err := row.Parse(row.Decimal, "1234.56")
	require.NoError(b, err)
	var sum Sum
	b.ReportAllocs()
	for b.Loop() {
		amount, _ := Of(value)
		sum.Add(amount)
	}
}

// BenchmarkAddDecimal is the same with a decimal of any size.
func BenchmarkAddDecimal(b *testing.B) {
	value, err := row.Parse(row.Decimal, "1234.56")
	require.NoError(b, err)
	sum := decimal.Zero
	b.ReportAllocs()
	for b.Loop() {
		sum = sum.Add(decimal.RequireFromString(value.Text()))
	}
}
