package row

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What AppendCanonical writes is read back as the row it was, whatever the parser read before.
func TestParseCanonicalIsInverse(t *testing.T) {
	parser, values := NewCanonicalParser(nil), []Value(nil)
	rapid.Check(t, func(t *rapid.T) {
		want := genRow(8).Draw(t, "row")
		got, err := parser.Parse(string(AppendCanonical(nil, want)), values)
		require.NoError(t, err)
		require.True(t, slices.IsSorted(got.Shape.Fields()))
		require.Equal(t, asMap(want), asMap(got))
		values = got.Values
	})
}

// The vectors of the canonical form are read back too.
func TestParseCanonicalVectors(t *testing.T) {
	file, err := os.ReadFile(vectorFile)
	require.NoError(t, err)
	parser := NewCanonicalParser(nil)
	for line := range strings.Lines(string(file)) {
		v, err := parseVector(line)
		require.NoError(t, err)
		got, err := parser.Parse(v.canonical, nil)
		require.NoError(t, err, v.canonical)
		require.Equal(t, asMap(v.row), asMap(got))
	}
}

// Fields stand in the wished order, and after them in that of the text.
func TestParseCanonicalOrder(t *testing.T) {
	parser := NewCanonicalParser([]string{"z", "absent", "$b", "a"})
	for text, want := range map[string]string{
		`{}`:                                `{}`,
		`{"z":1}`:                           `{"z":1}`,
		`{"$$b":1,"0":2,"a":3,"c":4,"z":5}`: `{"z":5,"$b":1,"a":3,"0":2,"c":4}`,
		`{"0":2,"a":3,"c":4}`:               `{"a":3,"0":2,"c":4}`,
	} {
		got, err := parser.Parse(text, nil)
		require.NoError(t, err)
		require.Equal(t, want, string(AppendJSON(nil, got)))
	}
	require.Panics(t, func() { NewCanonicalParser([]string{"a", "a"}) })
}

// Rows of the same fields share a shape, also when rows of other fields come between them, and however many these are.
func TestParseCanonicalShapes(t *testing.T) {
	parser := NewCanonicalParser(nil)
	shape := func(text string) *Shape {
		r, err := parser.Parse(text, nil)
		require.NoError(t, err)
		return r.Shape
	}
	a, ab := shape(`{"a":1}`), shape(`{"a":1,"b":2}`)
	require.Same(t, a, shape(`{"a":2}`))
	require.Same(t, ab, shape(`{"a":2,"b":null}`))
	for i := range 3 * maxCanonicalShapes {
		shape(fmt.Sprintf(`{"%d":1}`, i))
		require.LessOrEqual(t, len(parser.shapes), maxCanonicalShapes)
	}
	require.Equal(t, []string{"a", "b"}, shape(`{"a":1,"b":2}`).Fields())
}

// A json field may be nested as deep as JSON can be, around integers that have a mark.
func TestParseCanonicalDeep(t *testing.T) {
	deep := strings.Repeat("[", MaxJSONDepth) + "9223372036854775808" + strings.Repeat("]", MaxJSONDepth)
	want := Row{Shape: NewShape([]string{"a"}), Values: []Value{mustParse(JSON, deep)}}
	got, err := NewCanonicalParser(nil).Parse(string(AppendCanonical(nil, want)), nil)
	require.NoError(t, err)
	require.Equal(t, want.Values, got.Values)
	_, err = NewCanonicalParser(nil).Parse(`{"a":[`+string(AppendCanonical(nil, want))+`]}`, nil)
	require.Equal(t, CodeDepth, codeOf(t, err))
}

var notCanonicalTexts = []string{
	``, ` `, `{`, `}`, `{{}`, `{}}`, `{} `, ` {}`, `[]`, `null`, `1`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,"a":1}`, `{"a":1}}`, `{"a":1}{}`,
	`{"a": 1}`, `{"a" :1}`, `{"b":1,"a":2}`, `{"a":1,"a":1}`, `{"\u0061":1}`, `{"$a":1}`, `{"$a":1,"a":2}`, `{"$date":"2001-01-31"}`,
	`{"a":-0}`, `{"a":01}`, `{"a":1.50}`, `{"a":1e2}`, `{"a":1e400}`, `{"a":9223372036854775808}`, `{"a":NaN}`, `{"a":nul}`,
	`{"a":"\u0061"}`, `{"a":"\/"}`, `{"a":"` + "\xff" + `"}`, `{"a":"x}`, `{"a":"\`, `{"a":"\ud800"}`,
	`{"a":{"$date":"2001-1-31"}}`, `{"a":{"$date":"2001-02-30"}}`, `{"a":{"$date":"2001-01-31`, `{"a":{"$date":"2001-01-31"`, `{"a":{"$date":"2001-01-31"]}`,
	`{"a":{"$date":"2001-01-31","b":1}}`, `{"a":{"$date":null}}`, `{"a":{"$date":`, `{"a":{"$time":"x"}}`, `{"a":{"$":1}}`,
	`{"a":{"$timestamp":"2001-01-31T00:00:00+01:00"}}`, `{"a":{"$timestamp":"2001-01-31T00:00:00.0Z"}}`, `{"a":{"$timestamp":""}}`,
	`{"a":{"$decimal":"01"}}`, `{"a":{"$decimal":"-0"}}`, `{"a":{"$decimal":"1e5"}}`, `{"a":{"$decimal":""}}`, `{"a":{"$decimal":"1\"2"}}`,
	`{"a":{"$json":[1]}}`, `{"a":{"$json":{}}}`, `{"a":{"$json":1`, `{"a":{"$json":}}`, `{"a":{"$json":1e2}}`, `{"a":{"$json":{"$json":1}}}`,
	`{"a":{"$json":{"$decimal":"9223372036854775808"}}}`, `{"a":{"$json":{"$decimal":"5"}}}`, `{"a":{"$json":-0.0}}`,
	`{"a":[ ]}`, `{"a":[1E2]}`, `{"a":[{"$decimal":"9223372036854775808"}]}`, `{"a":[{"$decimal":"5"}]}`, `{"a":[{"$decimal":"1\"2"}]}`, `{"a":[{"$decimal":"99999999999999999999","b":1}]}`,
	`{"a":[{"$date":"x"}]}`, `{"a":{"c":1,"b":2}}`, `{"a":{"b":1,"b":2}}`, `{"a":{"$$b":1,"$b":2}}`, `{"a":{"b":{"$b":2}}}`,
}

// Everything else is refused: text that is damaged, and text that means a row but has another hash.
func TestParseCanonicalRefuses(t *testing.T) {
	parser := NewCanonicalParser(nil)
	for _, before := range []string{`{}`, `{"a":1}`, `{"$$a":1,"a":2}`} {
		for _, text := range notCanonicalTexts {
			_, err := parser.Parse(before, nil)
			require.NoError(t, err)
			_, err = parser.Parse(text, nil)
			require.NotEmpty(t, codeOf(t, err), text)
			require.ErrorAs(t, err, new(*JSONError))
		}
	}
}

// FuzzParseCanonical checks that a text is refused, or is the canonical form of what it is read as.
func FuzzParseCanonical(f *testing.F) {
	for _, text := range notCanonicalTexts {
		f.Add(text)
	}
	rows := genRow(6)
	for seed := range 50 {
		f.Add(string(AppendCanonical(nil, rows.Example(seed))))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := NewCanonicalParser([]string{"b", "a"}).Parse(text, nil)
		if err != nil {
			require.NotEmpty(t, codeOf(t, err))
			return
		}
		require.Equal(t, text, string(AppendCanonical(nil, r)))
	})
}
