package csv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin/file/filetest"
)

// csvCase is one bad input and what becomes of it. The zero want is no row.
type csvCase struct {
	name     string
	text     string
	options  pipeline.CSVSource
	schema   pipeline.Schema
	rows     []string
	lines    []int64 // nil: not looked at
	blank    int
	comments int
	err      string
	message  string // part of the error
}

// TestCSVBadInputs shows the documented filetest.Outcome of each bad input. The numbers are those of docs/sources.md.
func TestCSVBadInputs(t *testing.T) {
	idAmount := filetest.Fields("", "id", "int", "amount", "int")
	encoded := func(encoding string) pipeline.CSVSource {
		return pipeline.CSVSource{Files: pipeline.Files{Encoding: encoding}}
	}
	keep := false
	cases := []csvCase{
		{name: "BI-001 byte order mark", text: "\ufeffid\n7\n", schema: filetest.Fields("", "id", "int"), rows: []string{`{"id":7}`}, lines: []int64{2}},
		{name: "BI-002 UTF-16LE mark undeclared", text: "\xff\xfe" + filetest.UTF16("id\n7\n", "le"), err: "ENCODING", message: "encoding: utf-16le"},
		{name: "BI-002 UTF-16LE mark declared", text: "\xff\xfe" + filetest.UTF16("id\n7\n", "le"), options: encoded("utf-16le"), rows: []string{`{"id":"7"}`}},
		{name: "UTF-32LE mark", text: "\xff\xfe\x00\x00i\x00\x00\x00d\x00\x00\x00\n\x00\x00\x00", err: "ENCODING", message: "the file is UTF-32, which is not read; convert it: iconv -f UTF-32"},
		{name: "UTF-32BE mark", text: "\x00\x00\xfe\xff\x00\x00\x00i\x00\x00\x00d\x00\x00\x00\n", err: "ENCODING", message: "the file is UTF-32, which is not read; convert it: iconv -f UTF-32"},
		{name: "UTF-32LE without mark", text: "i\x00\x00\x00d\x00\x00\x00\n\x00\x00\x00", err: "ENCODING", message: "the file is UTF-32, which is not read; convert it: iconv -f UTF-32"},
		{name: "UTF-32BE without mark", text: "\x00\x00\x00i\x00\x00\x00d\x00\x00\x00\n", err: "ENCODING", message: "the file is UTF-32, which is not read; convert it: iconv -f UTF-32"},
		{name: "BI-003 UTF-16BE without mark undeclared", text: filetest.UTF16("id\n7\n", "be"), err: "ENCODING", message: "utf-16be"},
		{name: "BI-003 UTF-16BE without mark declared", text: filetest.UTF16("id\n7\n", "be"), options: encoded("utf-16be"), rows: []string{`{"id":"7"}`}},
		{name: "BI-003 UTF-16 the wrong way round", text: "\xfe\xff" + filetest.UTF16("id\n7\n", "be"), options: encoded("utf-16le"), err: "ENCODING", message: "exchange"},
		{name: "BI-003 lone surrogate costs its row", text: filetest.UTF16("id\n", "le") + "\x00\xd8" + filetest.UTF16("\n8\n", "le"), options: encoded("utf-16le"), rows: []string{"!INVALID_UTF8", `{"id":"8"}`}},
		{name: "BI-003 half a unit at the end", text: filetest.UTF16("id\n7", "le") + "x", options: encoded("utf-16le"), rows: []string{"!INVALID_UTF8"}},
		{name: "BI-004 latin-1", text: "name\nJos\xe9\n", options: encoded("latin-1"), rows: []string{`{"name":"José"}`}},
		{name: "BI-004 windows-1252", text: "name\n\x80 5\n\x81\n", options: encoded("windows-1252"), rows: []string{`{"name":"€ 5"}`, "!INVALID_UTF8"}},
		{name: "BI-005 invalid UTF-8 in a cell", text: "a,b\n1,Jos\xe9\n2,x\n", rows: []string{"!INVALID_UTF8", `{"a":"2","b":"x"}`}},
		{name: "BI-006 invalid UTF-8 in the header", text: "a,Jos\xe9\n1,2\n", err: "ENCODING", message: "header"},
		{name: "BI-007 NUL in a cell", text: "a,b\n1,x\x00y\n", rows: []string{`{"a":"1","b":"x\u0000y"}`}},
		{name: "BI-008 lone CR line ends", text: "a,b\r1,2\r", err: "LINE_ENDING", message: "newline: cr"},
		{name: "BI-008 lone CR after quotes", text: "\"a\",\"b\"\r1,2\r", err: "LINE_ENDING"},
		{name: "BI-008 lone CR declared", text: "a,b\r1,2\r\r3,4", options: pipeline.CSVSource{Newline: "cr"}, rows: []string{`{"a":"1","b":"2"}`, `{"a":"3","b":"4"}`}, lines: []int64{2, 4}, blank: 1},
		{name: "BI-008 LF though CR is declared", text: "a,b\n1,2\n", options: pipeline.CSVSource{Newline: "cr"}, err: "LINE_ENDING"},
		{name: "BI-008 stray LF though CR is declared", text: "a,b\r1,2\n3\r", options: pipeline.CSVSource{Newline: "cr"}, rows: []string{"!BARE_LF"}},
		{name: "BI-008 stray CR in a row", text: "a,b\n1,2\r3\n4,5\n", rows: []string{"!BARE_CR", `{"a":"4","b":"5"}`}},
		{name: "BI-008 stray CR beside quotes", text: "a,b\n\"1\",2\r3\n4,\"\r\"\n", rows: []string{"!BARE_CR", `{"a":"4","b":"\r"}`}},
		{name: "BI-008 CR at the end of the file", text: "a,b\n1,2\r", rows: []string{"!BARE_CR"}},
		{name: "BI-009 CRLF and LF mixed", text: "a,b\r\n1,2\n3,4\r\n", rows: []string{`{"a":"1","b":"2"}`, `{"a":"3","b":"4"}`}},
		{name: "BI-010 CRLF inside quotes", text: "a,b\r\n\"x\r\ny\",2\r\n3,4\r\n", rows: []string{`{"a":"x\r\ny","b":"2"}`, `{"a":"3","b":"4"}`}, lines: []int64{2, 4}},
		{name: "BI-011 LF inside quotes", text: "a,b\n\"x\n\ny\",2\n3,4\n", rows: []string{`{"a":"x\n\ny","b":"2"}`, `{"a":"3","b":"4"}`}, lines: []int64{2, 5}},
		{name: "BI-012 unterminated quote", text: "a,b\n1,2\n\"3,4\n5,6\n7,8\n", rows: []string{`{"a":"1","b":"2"}`, "!UNTERMINATED_QUOTE", `{"a":"5","b":"6"}`, `{"a":"7","b":"8"}`}, lines: []int64{2, 3, 4, 5}},
		{name: "BI-012 unterminated quote at the end", text: "a,b\n1,\"2", rows: []string{"!UNTERMINATED_QUOTE"}},
		{name: "BI-013 bare quote", text: "a,b\n1,5\"\n3,4\n", rows: []string{"!BARE_QUOTE", `{"a":"3","b":"4"}`}},
		{name: "BI-014 duplicate header", text: "id,x,id\n1,2,3\n", err: "HEADER_COLLISION", message: `columns 1 ("id") and 3 ("id")`},
		{name: "BI-015 headers equal once normalized", text: "Amount $,amount_\n1,2\n", err: "HEADER_COLLISION", message: `columns 1 ("Amount $") and 2 ("amount_") are both named "amount"`},
		{name: "BI-015 headers that are exact", text: "Amount $,amount_\n1,2\n", options: pipeline.CSVSource{Header: "exact"}, rows: []string{`{"Amount $":"1","amount_":"2"}`}},
		{name: "BI-016 empty header cell", text: "a,,c\n1,2,3\n", err: "HEADER_EMPTY", message: "column 2"},
		{name: "BI-016 header cell that normalizes to nothing", text: "a,$$\n1,2\n", err: "HEADER_EMPTY", message: `column 2 ("$$")`},
		{name: "BI-017 header only", text: "a,b\n"},
		{name: "BI-017 header only, no newline", text: "a,b"},
		{name: "BI-018 empty file", text: "", err: "EMPTY_SOURCE", message: "allow_empty"},
		{name: "BI-018 byte order mark only", text: "\ufeff", err: "EMPTY_SOURCE"},
		{name: "BI-018 fewer lines than are skipped", text: "x\n", options: pipeline.CSVSource{SkipLines: 3}, err: "EMPTY_SOURCE"},
		{name: "BI-018 empty file allowed", text: "", options: pipeline.CSVSource{Files: pipeline.Files{AllowEmpty: true}}},
		{name: "BI-019 newlines only", text: "\n\r\n\n", blank: 3},
		{name: "BI-020 blank lines", text: "\na,b\n\n1,2\n\n\n3,4\n\n", rows: []string{`{"a":"1","b":"2"}`, `{"a":"3","b":"4"}`}, lines: []int64{4, 7}, blank: 5},
		{name: "BI-021 empty values of one column", text: "a\n1\n\n2\n", rows: []string{`{"a":"1"}`, `{"a":null}`, `{"a":"2"}`}, lines: []int64{2, 3, 4}},
		{name: "BI-022 too few cells", text: "a,b\n1\n3,4\n", rows: []string{"!FIELD_COUNT", `{"a":"3","b":"4"}`}},
		{name: "BI-023 too many cells", text: "a,b\n1,2,3\n\"1\",2,3\n3,4\n", rows: []string{"!FIELD_COUNT", "!FIELD_COUNT", `{"a":"3","b":"4"}`}},
		{name: "BI-024 trailing delimiter", text: "a,b\n1,2,\n", rows: []string{"!FIELD_COUNT"}},
		{name: "BI-024 trailing delimiter declared", text: "a,b,\n1,2,\n1,2\n\"1\",,\n", options: pipeline.CSVSource{TrailingDelimiter: true}, rows: []string{`{"a":"1","b":"2"}`, "!FIELD_COUNT", `{"a":"1","b":null}`}},
		{name: "BI-025 quoted empty and empty", text: "a,b\n\"\",\n", rows: []string{`{"a":"","b":null}`}},
		{name: "BI-025 empty is not null", text: "a,b\n\"\",\n", options: pipeline.CSVSource{EmptyIsNull: &keep}, rows: []string{`{"a":"","b":""}`}},
		{name: "BI-025 required fields", text: "s,n\n,1\nx,\nx,\"\"\n", schema: filetest.Fields("", "s", "string", "n", "int"), rows: []string{`{"s":"","n":1}`, "!REQUIRED", "!CONVERT"}},
		{name: "BI-026 spaces", text: "a,b\n x , y\t\n", rows: []string{`{"a":" x ","b":" y\t"}`}},
		{name: "BI-026 spaces trimmed", text: "a, b\n x , \n\" y \",z\n", options: pipeline.CSVSource{Header: "exact", TrimSpace: true}, rows: []string{`{"a":"x","b":null}`, `{"a":" y ","b":"z"}`}},
		{name: "BI-027 space before a quote", text: "a,b\n1, \"x\"\n", rows: []string{"!BARE_QUOTE"}},
		{name: "BI-028 backslash escapes", text: "a,b\n1,\"x\\\"y\"\n", rows: []string{"!TEXT_AFTER_QUOTE"}},
		{name: "BI-029 another delimiter", text: "id;amount\n1;2\n", schema: idAmount, err: "HEADER_MISMATCH", message: `is the delimiter ";"?`},
		{name: "BI-029 tabs", text: "id\tamount\n1\t2\n", schema: idAmount, err: "HEADER_MISMATCH", message: `is the delimiter tab?`},
		{name: "BI-030 tab in a cell", text: "a,b\n1\t,2\n", rows: []string{`{"a":"1\t","b":"2"}`}},
		{name: "BI-031 no newline at the end", text: "a,b\n1,2", rows: []string{`{"a":"1","b":"2"}`}},
		{name: "BI-032 cell of 10 MiB", text: "a,b\n1," + strings.Repeat("x", 10<<20) + "\n3,4\n", rows: []string{"!ROW_TOO_LARGE", `{"a":"3","b":"4"}`}, lines: []int64{2, 3}},
		{name: "BI-032 cell of 2 MiB", text: "a,b\n1,\"" + strings.Repeat("x", 2<<20) + "\"\n3,4\n", rows: []string{"!CELL_TOO_LARGE", `{"a":"3","b":"4"}`}},
		{name: "BI-032 cell of 1 MiB", text: "a,b\n1," + strings.Repeat("x", 1<<20) + "\n", schema: filetest.Fields("", "a", "int", "b", "string?"), rows: []string{`{"a":1,"b":"` + strings.Repeat("x", 1<<20) + `"}`}},
		{name: "BI-034 100,000 columns", text: strings.Repeat("a,", 99_999) + "a\n", err: "TOO_MANY_COLUMNS"},
		{name: "BI-035 formula", text: "a\n=cmd|'/C calc'!A0\n", rows: []string{`{"a":"=cmd|'/C calc'!A0"}`}},
		{name: "BI-036 hint for Excel", text: "sep=;\na;b\n1;2\n", err: "HEADER_MISMATCH", message: "skip_lines: 1"},
		{name: "BI-036 hint for Excel declared", text: "sep=;\na;b\n1;2\n", options: pipeline.CSVSource{SkipLines: 1, Delimiter: ";"}, rows: []string{`{"a":"1","b":"2"}`}, lines: []int64{3}},
		{name: "BI-037 comment undeclared", text: "a\n#x\n", rows: []string{`{"a":"#x"}`}},
		{name: "BI-037 comment declared", text: "# by \"hand\na,b\n#x,y\n1,#2\n", options: pipeline.CSVSource{Comment: "#"}, rows: []string{`{"a":"1","b":"#2"}`}, lines: []int64{4}, comments: 2},
		{name: "BI-038 text after a closing quote", text: "a,b\n\"a\"b,2\n3,4\n", rows: []string{"!TEXT_AFTER_QUOTE", `{"a":"3","b":"4"}`}},
		{name: "BI-101 bool into int", text: "id,amount\ntrue,1\n", schema: idAmount, rows: []string{"!CONVERT"}},
		{name: "BI-103 Arabic digits", text: "id,amount\n١٢٣,1\n", schema: idAmount, rows: []string{"!CONVERT"}},
		{name: "BI-104 thousands", text: "id,amount\n\"1,234\",1\n", schema: idAmount, rows: []string{"!CONVERT"}},
		{name: "BI-105 exponent", text: "id,amount\n1e3,1\n", schema: idAmount, rows: []string{"!CONVERT"}},
		{name: "BI-105 int out of range", text: "id,amount\n9223372036854775808,1\n", schema: idAmount, rows: []string{"!NUMBER_RANGE"}},
		{name: "BI-106 day that does not exist", text: "d\n2024-02-30\n2024-02-29\n", schema: filetest.Fields("", "d", "date"), rows: []string{"!TIME_RANGE", `{"d":"2024-02-29"}`}},
		{name: "BI-112 duration", text: "id,amount\n1h-,1\n", schema: idAmount, rows: []string{"!CONVERT"}},
		{name: "BI-113 composed and decomposed", text: "\u00e9,e\u0301\n1,2\n", rows: []string{"{\"\u00e9\":\"1\",\"e\u0301\":\"2\"}"}},
		{name: "BI-114 zero-width space", text: "id\u200b,x\n1,2\n", options: pipeline.CSVSource{Header: "exact"}, rows: []string{"{\"id\u200b\":\"1\",\"x\":\"2\"}"}},
		{name: "BI-115 right-to-left override", text: "a\n\u202ex\n", rows: []string{"{\"a\":\"\u202ex\"}"}},
		{name: "BI-116 homoglyph", text: "id,\u0430mount\n1,2\n", schema: idAmount, err: "HEADER_MISMATCH", message: "missing: \"amount\"; unexpected: \"\u0430mount\" (U+0430)"},
		{name: "BI-117 other newlines", text: "a\nx\u0085y\u2028z\n", rows: []string{"{\"a\":\"x\u0085y\u2028z\"}"}},
		{name: "BI-119 noncharacter", text: "a\nx\ufffe\n", rows: []string{"{\"a\":\"x\ufffe\"}"}},
		{name: "BI-120 surrogates as UTF-8", text: "a\n\xed\xa0\x80\xed\xb0\x80\n", rows: []string{"!INVALID_UTF8"}},
		{name: "BI-122 terminal escape", text: "a\n\x1b[2J\n", rows: []string{`{"a":"\u001b[2J"}`}},
		{name: "unbalanced header", text: "a,\"b\n1,2\n", err: "HEADER_UNREADABLE", message: "in.csv:1: HEADER_UNREADABLE: UNTERMINATED_QUOTE"},
		{name: "gzip undeclared", text: "\x1f\x8b\x08", err: "COMPRESSED", message: "compression: gzip"},
		{name: "zstd undeclared", text: "\x28\xb5\x2f\xfd", err: "COMPRESSED", message: "compression: zstd"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
}

func (c *csvCase) check(t *testing.T) {
	got := readCSV(t, c.text, c.options, c.schema)
	require.Equal(t, c.err, got.Err, got.Message)
	require.Equal(t, c.rows, got.Rows, "%v", got.Rejected)
	require.Equal(t, c.blank, got.Blank)
	require.Equal(t, c.comments, got.Comments)
	require.Contains(t, got.Message, c.message)
	if c.lines != nil {
		require.Equal(t, c.lines, got.Lines)
	}
	for _, r := range got.Rejected {
		require.Less(t, len(r.Message), 300, "a message that quotes too much")
	}
}
