package expr

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"waymark/pipeline/row"
)

// drawJSON draws a JSON value, nested up to depth.
func drawJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny(),
		rapid.SampledFrom([]any{json.Number("12345678901234567890"), "\"\\\u2028\x00é", "", 0.0, 1.0, 1e300, 5e-324}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(drawJSON(depth-1), 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), drawJSON(depth-1), 0, 4).AsAny())...)
}

// What CEL sees of a JSON field is all that is in it: written again, it is the same value.
func TestJSONSurvivesCEL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(drawJSON(3).Draw(t, "value"))
		require.NoError(t, err)
		want, err := row.ParseJSON(string(text))
		require.NoError(t, err)
		got, err := valueOf(decodeJSON(want.Text()))
		require.NoError(t, err)
		if got.IsNull() {
			got = jsonNull
		}
		got, err = asJSON(got)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A float whose kind is known only when the row is read, as the argument of an aggregate function is, counts as the number
// that it is equal to.
func TestAFloatInJSONStaysItsNumber(t *testing.T) {
	env, err := NewEnv([]Field{{Name: "x", Kind: row.JSON}}, false, nil)
	require.NoError(t, err)
	float := row.FloatValue(1 << 62)
	for source, want := range map[string]string{
		"row.x": "4611686018427387904", "[row.x]": "[4611686018427387904]", "{'n': row.x}": `{"n":4611686018427387904}`,
	} {
		program, err := env.Compile(source, Any)
		require.NoError(t, err)
		value, err := program.Eval(row.Row{Shape: row.NewShape([]string{"x"}), Values: []row.Value{float}})
		require.NoError(t, err)
		require.Equal(t, want, string(row.AppendText(nil, value)), source)
	}
	list, err := ListOf([]row.Value{float, row.FloatValue(1.5)})
	require.NoError(t, err)
	require.Equal(t, "[4611686018427387904,1.5]", list.Text())
}
