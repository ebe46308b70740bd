package row

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Two values have one canonical form if and only if they are the same value.
func TestCanonicalIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := genValue().Draw(t, "v"), genValue().Draw(t, "w")
		require.Equal(t, v == w, bytes.Equal(AppendValue(nil, v), AppendValue(nil, w)), "%s and %s", AppendValue(nil, v), AppendValue(nil, w))
	})
}

// Every value against every other, of a set that is made to look alike.
func TestCanonicalTellsLookalikesApart(t *testing.T) {
	lookalikes := []Value{
		NullValue(), BoolValue(true), BoolValue(false), IntValue(0), IntValue(1), FloatValue(0), FloatValue(math.Copysign(0, -1)), FloatValue(1),
		StringValue(""), StringValue("null"), StringValue("1"), StringValue("2001-01-31"), StringValue(`{"$date":"2001-01-31"}`),
		mustParse(Date, "2001-01-31"), mustParse(Timestamp, "2001-01-31T00:00:00Z"), StringValue("2001-01-31T00:00:00Z"),
		mustParse(Decimal, "1"), mustParse(Decimal, "1.0"), mustParse(Decimal, "1.00"), mustParse(Decimal, "9223372036854775808"),
	}
	for _, text := range []string{
		`null`, `true`, `1`, `1.0`, `""`, `"1"`, `"2001-01-31"`, `9223372036854775808`, `"9223372036854775808"`, `{}`, `[]`, `[null]`, `{"":null}`,
		`{"$date":"2001-01-31"}`, `{"$$date":"2001-01-31"}`, `{"$timestamp":"2001-01-31T00:00:00Z"}`, `{"$decimal":"1"}`, `{"$decimal":"9223372036854775808"}`,
		`{"$json":null}`, `{"$json":1}`, `{"$$json":1}`, `[1]`, `[1.0]`, `["1"]`, `[9223372036854775808]`, `["9223372036854775808"]`,
		`[{"$decimal":"9223372036854775808"}]`, `[{"$$decimal":"9223372036854775808"}]`, `"{\"$date\":\"2001-01-31\"}"`, `":$x"`, `["$x",":"]`,
	} {
		lookalikes = append(lookalikes, mustParse(JSON, text))
	}
	seen := map[string]Value{}
	for _, v := range lookalikes {
		canonical := string(AppendValue(nil, v))
		require.True(t, json.Valid([]byte(canonical)), canonical)
		require.NotContains(t, seen, canonical)
		seen[canonical] = v
	}
}

// The order of fields is not part of a row's identity, their presence is.
func TestCanonicalRow(t *testing.T) {
	ab := Row{Shape: NewShape([]string{"a", "b"}), Values: []Value{IntValue(1), NullValue()}}
	ba := Row{Shape: NewShape([]string{"b", "a"}), Values: []Value{NullValue(), IntValue(1)}}
	a := Row{Shape: NewShape([]string{"a"}), Values: []Value{IntValue(1)}}
	require.Equal(t, `{"a":1,"b":null}`, string(AppendCanonical(nil, ab)))
	require.Equal(t, AppendCanonical(nil, ab), AppendCanonical(nil, ba))
	require.Equal(t, `{"a":1}`, string(AppendCanonical(nil, a)))
	require.Equal(t, `x{}`, string(AppendCanonical([]byte("x"), Row{Shape: NewShape(nil)})))

	rapid.Check(t, func(t *rapid.T) {
		r, s := genRow(3).Draw(t, "r"), genRow(3).Draw(t, "s")
		require.Equal(t, maps.Equal(asMap(r), asMap(s)), bytes.Equal(AppendCanonical(nil, r), AppendCanonical(nil, s)))
	})
}

func asMap(r Row) map[string]Value {
	m := make(map[string]Value, len(r.Values))
	for i, field := range r.Shape.Fields() {
		m[field] = r.Values[i]
	}
	return m
}

// A row's canonical form is valid JSON with its keys in bytewise order.
func TestCanonicalIsSortedJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		canonical := string(AppendCanonical(nil, genRow(8).Draw(t, "row")))
		var keys []string
		require.NoError(t, ScanObject(canonical, func(key string, _ RawValue) error {
			keys = append(keys, key)
			return nil
		}))
		require.True(t, slices.IsSorted(keys), "%q", keys)
	})
}

// Parse reads what AppendText writes.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue().Draw(t, "value")
		again, err := Parse(v.Kind(), string(AppendText(nil, v)))
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

// ScanObject reads what AppendJSON writes: natural kinds as they were, the others as their declared kind.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := genRow(6).Draw(t, "row")
		text, i := string(AppendJSON(nil, r)), 0
		require.NoError(t, ScanObject(text, func(key string, raw RawValue) error {
			want := r.Values[i]
			require.Equal(t, r.Shape.Fields()[i], key)
			got, err := raw.As(want.Kind())
			if !want.IsNull() && string(AppendText(nil, want)) != "null" { // a JSON null in a json field reads as null
				require.Equal(t, want, got)
			}
			if natural(want) {
				got, err = raw.Natural()
				require.Equal(t, want, got)
			}
			i++
			return err
		}), text)
		require.Equal(t, r.Shape.Len(), i)
	})
}

func natural(v Value) bool {
	switch v.Kind() {
	case Date, Timestamp, Decimal, Float:
		return false
	case JSON:
		return !v.isJSONScalar()
	}
	return true
}

// A cast that succeeds loses nothing: casting back gives the value again, but for the scale of a decimal and the sign of
// a float's zero.
func TestCastLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue().Draw(t, "value")
		to := Kind(rapid.Uint8Range(uint8(Bool), uint8(JSON)).Draw(t, "kind"))
		cast, err := Cast(v, to)
		if err != nil || v.Kind() == String || v.Kind() == JSON { // these two are parsed: many texts have one value
			return
		}
		back, err := Cast(cast, v.Kind())
		require.NoError(t, err)
		switch v.Kind() {
		case Decimal:
			require.True(t, sameNumber(v.Text(), back.Text()), "%s is not %s", v.Text(), back.Text())
		case Float:
			require.Equal(t, v.Float(), back.Float())
		default:
			require.Equal(t, v, back)
		}
	})
}

// Floats are written as documented, and read back as the same float by others.
func TestAppendFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := genFloat().Draw(t, "float")
		text := string(appendFloat(nil, f))
		back, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(f), math.Float64bits(back))
		require.Regexp(t, `^-?[0-9](\.[0-9]*[1-9])?e[+-][0-9]{2,3}$|^-?(0|[1-9][0-9]{0,15})\.[0-9]+$`, text)
	})
}

func TestBrokenContractsPanic(t *testing.T) {
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Panics(t, func() { AppendValue(nil, FloatValue(f)) })
	}
	for _, day := range []int64{minDay - 1, maxDay + 1, math.MaxInt64, math.MinInt64} {
		require.Panics(t, func() { AppendValue(nil, DateValue(day)) })
	}
	for _, second := range []int64{minDay*secondsPerDay - 1, (maxDay + 1) * secondsPerDay, math.MaxInt64, math.MinInt64} {
		require.Panics(t, func() { AppendValue(nil, TimestampValue(second, 0)) })
	}
	require.Panics(t, func() { NewShape([]string{"a", "a"}) })
}

func TestShapeAndRow(t *testing.T) {
	r := Row{Shape: NewShape([]string{"b", "a"}), Values: []Value{IntValue(1), StringValue("x")}}
	v, ok := r.Get("a")
	require.True(t, ok)
	require.Equal(t, "x", v.Text())
	_, ok = r.Get("A")
	require.False(t, ok)
	require.Equal(t, []string{"b", "a"}, r.Shape.Fields())
	clone := r.Clone()
	clone.Values[0] = NullValue()
	require.Equal(t, int64(1), r.Values[0].Int())
	require.Same(t, r.Shape, clone.Shape)
}

func TestKindNames(t *testing.T) {
	for kind := Null; kind <= JSON; kind++ {
		again, ok := ParseKind(kind.String())
		require.True(t, ok)
		require.Equal(t, kind, again)
	}
	_, ok := ParseKind("Int")
	require.False(t, ok)
}

// Each accessor gives the content of its kind and zero for the others.
func TestValueAccessors(t *testing.T) {
	for kind, text := range map[Kind]string{Bool: "true", Int: "7", Float: "1.5", String: "s", Date: "1970-01-08", Timestamp: "1970-01-01T00:00:07.000000009Z", Decimal: "1.10", JSON: "[]"} {
		v := mustParse(kind, text)
		require.Equal(t, kind == Bool, v.Bool())
		require.Equal(t, kind == Int || kind == Date || kind == Timestamp, v.Int() == 7)
		require.Equal(t, kind == Float, v.Float() == 1.5)
		require.Equal(t, kind == Timestamp, v.Nanos() == 9)
		require.Equal(t, kind == String || kind == Decimal || kind == JSON, v.Text() == text)
	}
}
