package barrier

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// exactVariance is the mean square of the distances from the mean, or its root.
func exactVariance(values []row.Value, divisor int, root bool) row.Value {
	if divisor < 1 {
		return row.NullValue()
	}
	var numbers []*big.Rat
	mean, total := new(big.Rat), new(big.Rat)
	for _, value := range values {
		number := new(big.Rat)
		if value.Kind() == row.Float {
			number.SetFloat64(value.Float())
		} else {
			number.SetString(string(row.AppendText(nil, value)))
		}
		numbers = append(numbers, number)
		mean.Add(mean, number)
	}
	mean.Quo(mean, big.NewRat(int64(len(values)), 1))
	for _, number := range numbers {
		number.Sub(number, mean)
		total.Add(total, number.Mul(number, number))
	}
	total.Quo(total, big.NewRat(int64(divisor), 1))
	f, _ := total.Float64()
	if root {
		f, _ = new(big.Float).Sqrt(new(big.Float).SetPrec(500).SetRat(total)).Float64()
	}
	return row.FloatValue(f)
}

func TestVariancesAreThoseOfTheExactValues(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func() row.Value{
		"ints":        func() row.Value { return row.IntValue(int64(chance.Uint64()) >> chance.IntN(64)) },
		"near ints":   func() row.Value { return row.IntValue(math.MaxInt64 - chance.Int64N(3)) },
		"floats":      func() row.Value { return row.FloatValue(chance.NormFloat64()) },
		"near floats": func() row.Value { return row.FloatValue(1e15 + chance.Float64()) },
		"any floats": func() row.Value {
			return row.FloatValue(math.Ldexp(chance.Float64()-0.5, chance.IntN(1500)-1100))
		},
		"decimals": func() row.Value {
			value, err := row.Parse(row.Decimal, big.NewRat(chance.Int64N(2_000_000)-1_000_000, 1000).FloatString(chance.IntN(6)))
			require.NoError(t, err)
			return value
		},
	}
	for name, one := range kinds {
		for n := range 8 {
			var values []row.Value
			for range n {
				values = append(values, one())
			}
			for _, f := range []expr.Func{expr.VarSamp, expr.VarPop, expr.StddevSamp, expr.StddevPop} {
				s := newVariance(f)
				for i, value := range values {
					if i%2 == 1 {
						s = reloaded(t, s, f)
					}
					s.add(value)
					s.add(row.NullValue())
				}
				divisor := n
				if s.sample {
					divisor--
				}
				got, err := s.result()
				require.NoError(t, err)
				require.Equal(t, exactVariance(values, divisor, s.root), got, "%s %s of %v", name, f, values)
			}
		}
	}
}

// reloaded returns the variance as it is after it was saved and loaded.
func reloaded(t *testing.T, s *variance, f expr.Func) *variance {
	w := newWriter()
	s.save(w)
	r := &reader{data: w.body}
	again := newVariance(f)
	again.load(r)
	require.NoError(t, r.err)
	return again
}

func TestVariancesRefuseWhatIsNoNumber(t *testing.T) {
	s := newVariance(expr.VarPop)
	s.add(row.FloatValue(math.MaxFloat64))
	s.add(row.FloatValue(-math.MaxFloat64))
	_, err := s.result()
	require.ErrorContains(t, err, "the variance is outside the range of float")
	s.root = true
	root, err := s.result()
	require.NoError(t, err, "the root is in the range though its square is not")
	require.Equal(t, row.FloatValue(math.MaxFloat64), root)
	s.add(row.IntValue(1))
	_, err = s.result()
	require.ErrorContains(t, err, "some values are float and some int")
}
