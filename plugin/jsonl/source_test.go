package jsonl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

// TestJSONLBadInputs shows the documented filetest.Outcome of each bad input. The numbers are those of docs/sources.md.
func TestJSONLBadInputs(t *testing.T) {
	observed := pipeline.Schema{}
	a := func(kind string) pipeline.Schema { return filetest.Fields("", "a", kind) }
	cases := []struct {
		name   string
		text   string
		schema pipeline.Schema
		rows   []string
		blank  int
		err    string
	}{
		{name: "BI-041 duplicate keys", text: `{"a":1,"a":2}`, schema: observed, rows: []string{"!DUPLICATE_KEY"}},
		{name: "BI-041 duplicate keys by escape", text: `{"a":1,"\u0061":2}`, schema: a("int"), rows: []string{"!DUPLICATE_KEY"}},
		{name: "BI-042 NaN", text: `{"a":NaN}`, schema: observed, rows: []string{"!SYNTAX"}},
		{name: "BI-043 Infinity", text: `{"a":Infinity}`, schema: observed, rows: []string{"!SYNTAX"}},
		{name: "BI-044 -Infinity", text: `{"a":-Infinity}`, schema: observed, rows: []string{"!SYNTAX"}},
		{name: "BI-045 1e1000", text: `{"a":1e1000}`, schema: observed, rows: []string{"!NUMBER_RANGE"}},
		{name: "all digits", text: `{"a":1.20000000000000000000000000005,"b":{"p":12345678901234567.89,"e":1.20E1}}`, schema: observed,
			rows: []string{`{"a":1.20000000000000000000000000005,"b":{"e":12.0,"p":12345678901234567.89}}`}},
		{name: "BI-045 1e400 as float", text: `{"a":1e400}`, schema: a("float"), rows: []string{"!NUMBER_RANGE"}},
		{name: "BI-046 above 2^53", text: `{"a":9007199254740993}`, schema: observed, rows: []string{`{"a":9007199254740993}`}},
		{name: "BI-047 the largest int", text: `{"a":9223372036854775807}`, schema: a("int"), rows: []string{`{"a":9223372036854775807}`}},
		{name: "BI-048 above the largest int", text: `{"a":9223372036854775808}`, schema: observed, rows: []string{`{"a":9223372036854775808}`}},
		{name: "BI-048 above the largest int as int", text: `{"a":9223372036854775808}`, schema: a("int"), rows: []string{"!NUMBER_RANGE"}},
		{name: "BI-049 1.0 and 1", text: "{\"a\":1.0}\n{\"a\":1}", schema: observed, rows: []string{`{"a":1.0}`, `{"a":1}`}},
		{name: "BI-049 1.0 is no int", text: `{"a":1.0}`, schema: a("int"), rows: []string{"!CONVERT"}},
		{name: "BI-049 1 is a float", text: `{"a":1}`, schema: a("float"), rows: []string{`{"a":1.0}`}},
		{name: "BI-050 -0", text: `{"a":-0}`, schema: observed, rows: []string{`{"a":0}`}},
		{name: "BI-051 0.1", text: `{"a":0.1}`, schema: a("float"), rows: []string{`{"a":0.1}`}},
		{name: "BI-052 decimal of 30 digits", text: `{"a":123456789012345678901234567.890}`, schema: a("decimal"), rows: []string{`{"a":123456789012345678901234567.890}`}},
		{name: "BI-053 lone surrogate", text: `{"a":"\ud800"}`, schema: observed, rows: []string{"!LONE_SURROGATE"}},
		{name: "BI-054 two high surrogates", text: `{"a":"\ud800\ud800"}`, schema: observed, rows: []string{"!LONE_SURROGATE"}},
		{name: "BI-055 invalid UTF-8", text: "{\"a\":\"\xff\"}", schema: observed, rows: []string{"!INVALID_UTF8"}},
		{name: "BI-056 overlong UTF-8", text: "{\"a\":\"\xc0\xaf\"}", schema: observed, rows: []string{"!INVALID_UTF8"}},
		{name: "BI-057 escaped NUL", text: `{"a":"\u0000"}`, schema: observed, rows: []string{`{"a":"\u0000"}`}},
		{name: "BI-058 byte order mark", text: "\ufeff{}", schema: observed, rows: []string{"{}"}},
		{name: "BI-058 byte order mark later", text: "{}\n\ufeff{}", schema: observed, rows: []string{"{}", "!SYNTAX"}},
		{name: "BI-059 UTF-16", text: filetest.UTF16("{}\n", "le"), schema: observed, err: "ENCODING"},
		{name: "BI-059 UTF-16 with mark", text: "\xfe\xff" + filetest.UTF16("{}\n", "be"), schema: observed, err: "ENCODING"},
		{name: "BI-060 depth 129", text: `{"a":` + strings.Repeat("[", 128) + strings.Repeat("]", 128) + "}", schema: observed, rows: []string{"!DEPTH"}},
		{name: "BI-061 depth 100,000", text: `{"a":` + strings.Repeat("[", 100_000), schema: observed, rows: []string{"!DEPTH"}},
		{name: "BI-062 trailing garbage", text: `{} x`, schema: observed, rows: []string{"!SYNTAX"}},
		{name: "BI-063 two objects on a line", text: `{}{}`, schema: observed, rows: []string{"!SYNTAX"}},
		{name: "BI-064 blank lines", text: "\n{}\r\n\r\n{}\n\n", schema: observed, rows: []string{"{}", "{}"}, blank: 3},
		{name: "BI-065 truncated last line", text: "{}\n{\"a\":", schema: observed, rows: []string{"{}", "!SYNTAX"}},
		{name: "BI-066 scalar", text: "1\n\"x\"\nnull\n[]\n", schema: observed, rows: []string{"!NOT_OBJECT", "!NOT_OBJECT", "!NOT_OBJECT", "!NOT_OBJECT"}},
		{name: "BI-068 keys that differ in case", text: `{"A":1,"a":2}`, schema: observed, rows: []string{`{"A":1,"a":2}`}},
		{name: "BI-069 empty key", text: `{"":1}`, schema: observed, rows: []string{`{"":1}`}},
		{name: "BI-070 odd keys", text: `{"__proto__":1,"constructor":2,"a.b":3,"c\nd":4}`, schema: observed, rows: []string{`{"__proto__":1,"constructor":2,"a.b":3,"c\nd":4}`}},
		{name: "BI-101 bool into int", text: `{"a":true}`, schema: a("int"), rows: []string{"!CONVERT"}},
		{name: "BI-102 string into int", text: `{"a":"1"}`, schema: a("int"), rows: []string{"!CONVERT"}},
		{name: "BI-106 day that does not exist", text: `{"a":"2024-02-30"}`, schema: a("date"), rows: []string{"!TIME_RANGE"}},
		{name: "cell of 2 MiB", text: `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, schema: a("string"), rows: []string{"!CELL_TOO_LARGE"}},
		{name: "undeclared cell of 2 MiB", text: `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, schema: observed, rows: []string{"!CELL_TOO_LARGE"}},
		{name: "line of 5 MiB", text: strings.Repeat("x", 5<<20) + "\n{}", schema: observed, rows: []string{"!ROW_TOO_LARGE", "{}"}},
		{name: "missing", text: `{}`, schema: a("int"), rows: []string{"!REQUIRED"}},
		{name: "null", text: `{"a":null}`, schema: a("int"), rows: []string{"!REQUIRED"}},
		{name: "optional", text: "{}\n{\"a\":null}", schema: a("int?"), rows: []string{`{"a":null}`, `{"a":null}`}},
		{name: "unknown key", text: `{"a":1,"b":2}`, schema: a("int"), rows: []string{"!UNKNOWN_FIELD"}},
		{name: "flexible", text: `{"c":[1,{"x": 2}],"a":1,"b":"x"}`, schema: filetest.Fields("flexible", "a", "int"), rows: []string{`{"a":1,"c":[1,{"x":2}],"b":"x"}`}},
		{name: "dates, times, json", text: `{"d":"2001-01-31","t":"2001-01-31T01:00:00+01:00","j":{"b":1,"a":[ ]}}`, schema: filetest.Fields("", "t", "timestamp", "d", "date", "j", "json"), rows: []string{`{"t":"2001-01-31T00:00:00Z","d":"2001-01-31","j":{"a":[],"b":1}}`}},
		{name: "empty file", text: "", schema: observed, err: "EMPTY_SOURCE"},
		{name: "blank lines only", text: "\n\n", schema: observed, blank: 2},
		{name: "quotes mean nothing to lines", text: "{\"a\":\"\\\"\"}\n{\"a\":\"\n{}\n", schema: observed, rows: []string{`{"a":"\""}`, "!SYNTAX", "{}"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := readJSONL(t, c.text, pipeline.Files{}, c.schema)
			require.Equal(t, c.err, got.Err, got.Message)
			require.Equal(t, c.rows, got.Rows, "%v", got.Rejected)
			require.Equal(t, c.blank, got.Blank)
			for _, r := range got.Rejected {
				require.Less(t, len(r.Message)+len(r.Field), 300, "a message that quotes too much")
			}
		})
	}
}

func parserOf(t testing.TB, schema pipeline.Schema) *parser {
	source := sourceOf(t, "", pipeline.Source{JSONL: &pipeline.JSONLSource{Files: pipeline.Files{Path: "x"}}, Schema: schema})
	made, err := source.Parser(nil)
	require.NoError(t, err)
	return made.(*parser)
}

// TestEqualKeysShareOneShape shows that steps can prepare once for lines with the same keys, and that a source with
// endless keys does not fill the memory.
func TestEqualKeysShareOneShape(t *testing.T) {
	p := parserOf(t, filetest.Fields("flexible", "a", "int?"))
	first, err := p.Parse(`{"x":1,"a":1,"y":2}`, nil)
	require.NoError(t, err)
	second, err := p.Parse(`{"x":"q","y":null}`, nil)
	require.NoError(t, err)
	require.Same(t, first.Shape, second.Shape)
	require.Equal(t, []string{"a", "x", "y"}, first.Shape.Fields())
	for _, text := range []string{`{"y":1,"x":1}`, `{"xy":1}`} {
		other, err := p.Parse(text, nil)
		require.NoError(t, err)
		require.NotSame(t, first.Shape, other.Shape)
	}
	for i := range 3 * maxShapes {
		_, err := p.Parse(fmt.Sprintf(`{"k%d":1}`, i), nil)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(p.shapes), maxShapes)
}

// TestManyKeys shows the limit on the fields of a row.
func TestManyKeys(t *testing.T) {
	p := parserOf(t, pipeline.Schema{})
	var b strings.Builder
	for i := range file.MaxColumns + 1 {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	_, err := p.Parse("{"+b.String()[1:]+"}", nil)
	require.ErrorContains(t, err, file.CodeFieldCount)
	_, err = p.Parse("{"+b.String()[1:strings.LastIndexByte(b.String(), ',')]+"}", nil)
	require.NoError(t, err)
}

// TestKeyWithTheNameOfAField shows a key that would make two fields of one name.
func TestKeyWithTheNameOfAField(t *testing.T) {
	schema := filetest.Fields("flexible", "id", "int")
	schema.Fields[0].Value.From = "x"
	p := parserOf(t, schema)
	parsed, err := p.Parse(`{"x":1}`, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id"}, parsed.Shape.Fields())
	_, err = p.Parse(`{"x":1,"id":2}`, nil)
	require.ErrorContains(t, err, `the key "id" has the name of the field that is read from "x"`)
}

// TestReusedValues shows that nothing of one row is left in the next.
func TestReusedValues(t *testing.T) {
	parsed, err := parserOf(t, filetest.Fields("", "a", "int", "b", "int?")).Parse(`{"a":1}`, []row.Value{row.IntValue(7), row.IntValue(8)})
	require.NoError(t, err)
	require.Equal(t, []row.Value{row.IntValue(1), row.NullValue()}, parsed.Values)
}

func TestRefusedPath(t *testing.T) {
	_, err := NewSource("in", pipeline.Source{JSONL: &pipeline.JSONLSource{}}, filesIn(t, t.TempDir()))
	require.ErrorContains(t, err, "sources.in: jsonl.path: ")
	_, err = NewSource("in", pipeline.Source{JSON: &pipeline.JSONSource{}}, filesIn(t, t.TempDir()))
	require.ErrorContains(t, err, "sources.in: json.path: ")
}
