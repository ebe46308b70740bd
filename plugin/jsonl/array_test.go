package jsonl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

func jsonOf(t testing.TB, text, records string, files pipeline.Files, schema pipeline.Schema) plugin.Source {
	if files.Path == "" {
		files.Path = "in.json"
	}
	return sourceOf(t, text, pipeline.Source{JSON: &pipeline.JSONSource{Files: files, Records: records}, Schema: schema})
}

func TestJSONArrays(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct {
		name, text, records string
		rows                []string
		raw                 []string // nil: not looked at
		lines               []int64
		err, message        string
	}{
		{name: "an array", text: `[{"a":1},{"a":2}]`, rows: []string{`{"a":1}`, `{"a":2}`}, raw: []string{`{"a":1}`, `{"a":2}`}, lines: []int64{1, 1}},
		{name: "over lines", text: "\ufeff\n[\n  {\n    \"a\": 1\n  } ,\r\n\t{\"a\": [2, {\"b\": \"],}\\\"\"}]}\n]\n\n", rows: []string{`{"a":1}`, `{"a":[2,{"b":"],}\""}]}`},
			raw: []string{"{\n    \"a\": 1\n  }", `{"a": [2, {"b": "],}\""}]}`}, lines: []int64{3, 6}},
		{name: "empty", text: " [ ] "},
		{name: "nothing", text: "", err: file.CodeEmptySource},
		{name: "white space", text: " \n", err: file.CodeEmptySource},
		{name: "by a path", text: `{"meta":{"items":[{"a":0}],"s":"]}","n":-1.5e3,"t":true,"u":null},"data":{"x":[],"items":[{"a":1}],"y":1}, "z":[{}]}`, records: "data.items", rows: []string{`{"a":1}`}},
		{name: "by a key with escapes", text: `{"d\u0061ta":[{"a":1}]}`, records: "data", rows: []string{`{"a":1}`}},
		{name: "by a path that is not there", text: `{"a":1,"b":{}}`, records: "data", err: codeNoRecords, message: `no key "data"`},
		{name: "by a path into an empty object", text: `{}`, records: "data", err: codeNoRecords, message: `no key "data"`},
		{name: "by a path to an object", text: `{"data":{"a":1}}`, records: "data", err: codeNoRecords, message: "expected an array, found '{'"},
		{name: "by a path to a scalar", text: `{"data":null}`, records: "data", err: codeNoRecords},
		{name: "by a path through an array", text: `[{"data":[]}]`, records: "data", err: codeNoRecords, message: "expected an object"},
		{name: "an object without a path", text: `{"a":[1]}`, err: codeNoRecords, message: "say with records which of its keys has the array"},
		{name: "JSON Lines", text: "{\"a\":1}\n{\"a\":2}\n", err: codeNoRecords},
		{name: "a scalar", text: `5`, err: codeNoRecords},
		{name: "the key twice", text: `{"d":[{"a":1}],"d":[{"a":2}]}`, records: "d", rows: []string{`{"a":1}`}, err: codeCorruptJSON, message: `the key "d" is there twice`},
		{name: "BI-067 elements that are no objects", text: `[1,"x",null,[],{"a":1},true]`, rows: []string{"!NOT_OBJECT", "!NOT_OBJECT", "!NOT_OBJECT", "!NOT_OBJECT", `{"a":1}`, "!NOT_OBJECT"}},
		{name: "BI-041 duplicate keys", text: `[{"a":1,"a":2},{"a":3}]`, rows: []string{"!DUPLICATE_KEY", `{"a":3}`}},
		{name: "BI-061 depth", text: `[{"a":` + deep + `},{"a":3}]`, rows: []string{"!DEPTH", `{"a":3}`}},
		{name: "a bad element", text: `[{"a":1},{"a":},{'a':2},{"a":NaN},{"a":4}]`, rows: []string{`{"a":1}`, "!SYNTAX", "!SYNTAX", "!SYNTAX", `{"a":4}`}},
		{name: "brackets that do not match", text: `[{"a":1]},{"a":2}]`, rows: []string{"!SYNTAX", `{"a":2}`}, raw: []string{`{"a":1]}`, `{"a":2}`}},
		{name: "no comma", text: `[{"a":1} {"a":2},{"a":3}]`, rows: []string{"!SYNTAX", `{"a":3}`}},
		{name: "commas too many", text: `[,{"a":1},,{"a":2},]`, rows: []string{"!SYNTAX", `{"a":1}`, "!SYNTAX", `{"a":2}`, "!SYNTAX"}},
		{name: "a string that is not closed", text: "[\n{\"a\":\"x},\n{\"a\":2},\n{\"a\":\"y\n]", rows: []string{"!SYNTAX", `{"a":2}`, "!SYNTAX"}, raw: []string{`{"a":"x},`, `{"a":2}`, `{"a":"y`}, lines: []int64{2, 3, 4}},
		{name: "BI-053 a lone surrogate", text: `[{"a":"\ud800"},{"a":1}]`, rows: []string{"!LONE_SURROGATE", `{"a":1}`}},
		{name: "BI-055 invalid UTF-8", text: "[{\"a\":\"\xff\"},{\"a\":1}]", rows: []string{"!INVALID_UTF8", `{"a":1}`}},
		{name: "BI-045 out of range", text: `[{"a":1e1000},{"a":1}]`, rows: []string{"!NUMBER_RANGE", `{"a":1}`}},
		{name: "BI-059 UTF-16", text: "\xff\xfe[\x00", err: file.CodeEncoding},
		{name: "truncated between elements", text: `[{"a":1},`, rows: []string{`{"a":1}`}, err: file.CodeTruncated, message: "in.json:1"},
		{name: "truncated before a comma", text: "[\n{\"a\":1},\n{\"a\":2}", rows: []string{`{"a":1}`}, err: file.CodeTruncated, message: "in.json:3"},
		{name: "truncated in an element", text: `[{"a":1},{"a":`, rows: []string{`{"a":1}`}, err: file.CodeTruncated},
		{name: "truncated at the beginning", text: `{"meta":{"a":"b`, records: "data", err: file.CodeTruncated},
		{name: "truncated behind the array", text: `{"d":[{"a":1}]`, records: "d", rows: []string{`{"a":1}`}, err: file.CodeTruncated},
		{name: "an array that is not closed", text: `[`, err: file.CodeTruncated},
		{name: "BI-062 more behind the array", text: `[{"a":1}] x`, rows: []string{`{"a":1}`}, err: codeCorruptJSON, message: "expected the end of the file, found 'x'"},
		{name: "two arrays", text: `[{"a":1}][{"a":2}]`, rows: []string{`{"a":1}`}, err: codeCorruptJSON},
		{name: "two documents", text: "{\"d\":[]}\n{}", records: "d", err: codeCorruptJSON, message: "in.json:2"},
		{name: "no JSON before the array", text: `{"a":@,"d":[]}`, records: "d", err: codeCorruptJSON},
		{name: "brackets that do not match before the array", text: `{"a":[},"d":[]}`, records: "d", err: codeCorruptJSON},
		{name: "too deep before the array", text: `{"a":` + deep + `,"d":[]}`, records: "d", err: codeJSONTooLarge,
			message: "nested deeper"},
		{name: "no colon", text: `{"d" []}`, records: "d", err: codeCorruptJSON},
		{name: "a bad key", text: `{"\x":1,"d":[]}`, records: "d", err: codeCorruptJSON, message: "is no key"},
		{name: "a bad comma behind the array", text: `{"d":[{"a":1}],}`, records: "d", rows: []string{`{"a":1}`}, err: codeCorruptJSON},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := jsonOf(t, c.text, c.records, pipeline.Files{}, pipeline.Schema{})
			got := filetest.SamePieces(t, source, &source.(*Source).Buffer)
			require.Equal(t, c.err, got.Err, got.Message)
			require.Contains(t, got.Message, c.message)
			require.Equal(t, c.rows, got.Rows)
			if c.raw != nil {
				require.Equal(t, c.raw, got.Records)
			}
			if c.lines != nil {
				require.Equal(t, c.lines, got.Lines)
			}
			for i, record := range got.Records {
				require.Equal(t, record, c.text[got.Offsets[i]:got.Offsets[i]+int64(len(record))])
			}
			if c.err == "" {
				require.Equal(t, []string{filetest.HexSum(c.text)}, got.Digests)
			}
		})
	}
}

func TestCompressedJSONArrays(t *testing.T) {
	schema := filetest.Fields("", "a", "int", "b", "string?")
	got := filetest.Collect(t, jsonOf(t, `[{"a":1},{"b":"x"},{"a":2,"b":"y"},{"a":3,"c":1}]`, "", pipeline.Files{}, schema), filetest.Large)
	require.Equal(t, []string{`{"a":1,"b":null}`, "!REQUIRED", `{"a":2,"b":"y"}`, "!UNKNOWN_FIELD"}, got.Rows)
	got = filetest.Collect(t, jsonOf(t, filetest.Gzipped(t, `{"d":[{"a":1}]}`), "d", pipeline.Files{Path: "in.json.gz"}, schema), filetest.Large)
	require.Equal(t, []string{`{"a":1,"b":null}`}, got.Rows)
	got = filetest.Collect(t, jsonOf(t, "", "d", pipeline.Files{AllowEmpty: true}, schema), filetest.Large)
	require.Equal(t, filetest.Outcome{Digests: []string{filetest.HexSum("")}}, got)
}

// An element that is too long costs itself, in bounded memory, wherever chunks and windows end.
func TestJSONElementsThatAreTooLong(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 60) + "\\\"],\" ,\n\"b\":[1,2]}"
	text := "[{\"a\":1},\n " + long + ",\n{\"a\":2}" + strings.Repeat(" ", 100) + "\n]"
	source := jsonOf(t, text, "", pipeline.Files{}, pipeline.Schema{})
	base := source.(*Source)
	base.Format.MaxRecord = 50
	got := filetest.SamePieces(t, source, &base.Buffer)
	require.Equal(t, []string{`{"a":1}`, "!ROW_TOO_LARGE", "!ROW_TOO_LARGE"}, got.Rows)
	require.Equal(t, []int64{1, 2, 4}, got.Lines)
	require.Contains(t, got.Rejected[0].Message, `more than 50; its SHA-256 is "`+filetest.HexSum(long)+`"`)
	require.Equal(t, long[:50], got.Records[1])
}

// FuzzJSONArray reads any document in pieces of any size: what is found is the same, and where encoding/json finds an array of
// objects, so does the source.
func FuzzJSONArray(f *testing.F) {
	for _, seed := range []string{`[{"a":1},{"a":[2]}]`, `[]`, "[{\"a\":\"x},\n{}]", `[1,,{}]`, `{"d":[{}]}`, "[{\"a\":\"\\\"]\"}]", `[[[]],{"a":{"b":{}}}`} {
		f.Add(seed, uint8(2), uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, buffer, rows uint8) {
		for _, records := range []string{"", "d"} {
			source := jsonOf(t, text, records, pipeline.Files{AllowEmpty: true}, pipeline.Schema{})
			base := source.(*Source)
			base.Format.MaxRecord = 64
			want := filetest.Collect(t, source, filetest.Large)
			base.Buffer = int(buffer) + 1
			require.Equal(t, want, filetest.Collect(t, source, plugin.Limits{Rows: int(rows) + 1, Bytes: 40}))
			var elements []json.RawMessage
			if json.Unmarshal([]byte(text), &elements) == nil && records == "" && elements != nil {
				require.Empty(t, want.Err)
				require.Len(t, want.Rows, len(elements))
			}
		}
	})
}
