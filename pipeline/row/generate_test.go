package row

import (
	"math"
	"strings"

	"pgregory.net/rapid"
)

// Generators of values. Small pools make equal and nearly equal values frequent; wide ranges find the rest.

func genString() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "A", "$date", "$$date", "1", "null", "2001-01-31", `{"$date":"2001-01-31"}`, "é", "e\u0301", "\u2028\u007f<>&/", "\x00\x1f\"\\\n"}),
		rapid.String(),
	)
}

func genInt() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 1<<53 + 1, 1e16}))
}

func genFloat() *rapid.Generator[float64] {
	bits := rapid.Map(rapid.Uint64(), math.Float64frombits).Filter(func(f float64) bool { return math.Abs(f) <= math.MaxFloat64 })
	return rapid.OneOf(bits, rapid.Float64Range(-1e6, 1e6), rapid.SampledFrom([]float64{
		0, math.Copysign(0, -1), 1, 0.1, 1e-4, 1e15, 1e16, 1e22, 1 << 53, math.MaxFloat64, math.SmallestNonzeroFloat64,
	}))
}

func genDecimal() *rapid.Generator[Value] {
	text := rapid.OneOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,12})?`), rapid.SampledFrom([]string{"1", "1.0", "1.00", "0", "9223372036854775808"}))
	return rapid.Map(text, func(text string) Value { return mustParse(Decimal, text) })
}

func genDate() *rapid.Generator[Value] {
	return rapid.Map(rapid.Int64Range(minDay, maxDay), DateValue)
}

func genTimestamp() *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		seconds := rapid.Int64Range(minDay*secondsPerDay, (maxDay+1)*secondsPerDay-1).Draw(t, "seconds")
		return TimestampValue(seconds, rapid.OneOf(rapid.Uint32Range(0, 999_999_999), rapid.SampledFrom([]uint32{0, 500_000_000, 1000})).Draw(t, "nanos"))
	})
}

// genJSONText makes JSON texts with white space, unsorted keys and long escapes, at most depth deep.
func genJSONText(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 {
			kind %= 6
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
		case 1:
			return string(AppendText(nil, IntValue(genInt().Draw(t, "int"))))
		case 2:
			return string(appendFloat(nil, genFloat().Draw(t, "float")))
		case 3:
			return rapid.SampledFrom([]string{"-0", "1e2", "1E+2", "100.00", "9223372036854775808", "-123456789012345678901234567890", "5e-324"}).Draw(t, "number")
		case 4, 5:
			return genJSONString().Draw(t, "string")
		case 6:
			return "[ " + strings.Join(rapid.SliceOfN(genJSONText(depth-1), 0, 4).Draw(t, "array"), " ,\t") + "]"
		}
		members := rapid.MapOfN(genString(), genJSONText(depth-1), 0, 4).Draw(t, "object")
		var out []string
		for key, text := range members {
			out = append(out, string(appendJSONString(nil, key))+": "+text)
		}
		return "{" + strings.Join(out, ",\n") + "}"
	})
}

func genJSONString() *rapid.Generator[string] {
	return rapid.Map(genString(), func(s string) string {
		return strings.NewReplacer(`\u001a`, `\u001a`, "/", `\/`, "a", `\u0061`, "😀", `\uD83D\uDE00`).Replace(string(appendJSONString(nil, s)))
	})
}

func genJSON() *rapid.Generator[Value] {
	return rapid.Map(genJSONText(3), func(text string) Value { return mustParse(JSON, text) })
}

// genValue makes values of every kind.
func genValue() *rapid.Generator[Value] {
	return rapid.OneOf(
		rapid.Just(NullValue()), rapid.Map(rapid.Bool(), BoolValue), rapid.Map(genInt(), IntValue), rapid.Map(genFloat(), FloatValue),
		rapid.Map(genString(), StringValue), genDate(), genTimestamp(), genDecimal(), genJSON(),
	)
}

// genRow makes rows of up to most fields.
func genRow(most int) *rapid.Generator[Row] {
	return rapid.Custom(func(t *rapid.T) Row {
		shape := NewShape(rapid.SliceOfNDistinct(genString(), 0, most, rapid.ID).Draw(t, "fields"))
		return Row{Shape: shape, Values: rapid.SliceOfN(genValue(), shape.Len(), shape.Len()).Draw(t, "values")}
	})
}
