package csv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin/file/filetest"
)

// TestRules shows constraints at their edges.
func TestRules(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := []struct {
		name     string
		field    pipeline.Field
		good     []string
		bad      []string
		ruleText string
	}{
		{"int", pipeline.Field{Type: "int", Min: text("-1"), Max: text("5")}, []string{"-1", "5"}, []string{"-2", "6"}, "m"},
		{"float", pipeline.Field{Type: "float", Min: text("0.5")}, []string{"0.5", "1e9"}, []string{"0.49", "-1"}, "min: 0.5"},
		{"decimal", pipeline.Field{Type: "decimal", Min: text("9.9"), Max: text("10.10")}, []string{"9.90", "10.1", "10"}, []string{"9.899", "10.101", "100"}, "m"},
		{"date", pipeline.Field{Type: "date", Min: text("2001-01-31")}, []string{"2001-01-31", "2001-02-01"}, []string{"2001-01-30"}, "min: 2001-01-31"},
		{"timestamp", pipeline.Field{Type: "timestamp", Max: text("2001-01-31T00:00:00.5Z")}, []string{"2001-01-31T00:00:00.5Z", "2001-01-31T01:00:00+01:00"}, []string{"2001-01-31T00:00:00.6Z"}, "max: "},
		{"string length", pipeline.Field{Type: "string", Min: text("2"), Max: text("3")}, []string{"äö", "abc"}, []string{"ä", "abcd", ""}, "m"},
		{"enum", pipeline.Field{Type: "string", Enum: []string{"a", "b"}}, []string{"a", "b"}, []string{"A", "ab", ""}, "enum: a, b"},
		{"enum of decimals", pipeline.Field{Type: "decimal", Enum: []string{"1.10"}}, []string{"1.1", "1.10"}, []string{"1.11"}, "enum: 1.10"},
		{"enum of ints", pipeline.Field{Type: "int", Enum: []string{"1", "2"}}, []string{"2"}, []string{"3"}, "enum: 1, 2"},
		{"pattern", pipeline.Field{Type: "string", Pattern: "a|bc"}, []string{"a", "bc"}, []string{"ac", "xa", "a\n"}, "pattern: a|bc"},
		{"pattern in lines", pipeline.Field{Type: "string", Pattern: "(?m)^a$"}, []string{"a"}, []string{"a\nb"}, "pattern: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			schema := pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "v", Value: c.field}}}
			for _, value := range c.good {
				require.Empty(t, readCSV(t, "v\n\""+value+"\"\n", pipeline.CSVSource{}, schema).Rejected, value)
			}
			for _, value := range c.bad {
				got := readCSV(t, "v\n\""+value+"\"\n", pipeline.CSVSource{}, schema)
				require.Equal(t, []string{"!CONSTRAINT"}, got.Rows, value)
				require.Equal(t, "v", got.Rejected[0].Field)
				require.Contains(t, got.Rejected[0].Message, c.ruleText)
			}
		})
	}
}

// TestRulesSpareNull shows that null satisfies every constraint of an optional field.
func TestRulesSpareNull(t *testing.T) {
	least := "1"
	schema := pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "v", Value: pipeline.Field{Type: "string", Optional: true, Min: &least}}}}
	require.Equal(t, []string{`{"v":null}`, "!CONSTRAINT"}, readCSV(t, "v\n\n\"\"\n", pipeline.CSVSource{}, schema).Rows)
}

// TestMessagesAreShort shows that a message quotes at most 64 bytes of a row, and no control characters.
func TestMessagesAreShort(t *testing.T) {
	schema := pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "v", Value: pipeline.Field{Type: "string", Pattern: "x"}}}}
	got := readCSV(t, "v\n\x1b[2J"+strings.Repeat("é", 1000)+"\n", pipeline.CSVSource{}, schema)
	require.Equal(t, `"\x1b[2J`+strings.Repeat("é", 30)+`"… breaks pattern: x`, got.Rejected[0].Message)
}

// TestRefusedOptions shows what an entry of a document cannot mean.
func TestRefusedOptions(t *testing.T) {
	text := func(s string) *string { return &s }
	one := func(f pipeline.Field) pipeline.Schema {
		return pipeline.Schema{Fields: pipeline.Map[pipeline.Field]{{Name: "v", Value: f}}}
	}
	from := filetest.Fields("", "a b", "int", "A_B", "int")
	same := filetest.Fields("", "a", "int", "b", "int")
	same.Fields[1].Value.From = "a"
	cases := []struct {
		name    string
		options pipeline.CSVSource
		schema  pipeline.Schema
		message string
	}{
		{"BI-039 delimiter of two characters", pipeline.CSVSource{Delimiter: "||"}, pipeline.Schema{}, `csv.delimiter: "||" is not one ASCII character`},
		{"BI-039 delimiter equal quote", pipeline.CSVSource{Delimiter: `"`}, pipeline.Schema{}, "must differ"},
		{"BI-039 delimiter NUL", pipeline.CSVSource{Delimiter: "\x00"}, pipeline.Schema{}, "csv.delimiter: "},
		{"delimiter newline", pipeline.CSVSource{Delimiter: "\n"}, pipeline.Schema{}, "csv.delimiter: "},
		{"quote", pipeline.CSVSource{Quote: "«"}, pipeline.Schema{}, "csv.quote: "},
		{"comment", pipeline.CSVSource{Comment: "//"}, pipeline.Schema{}, "csv.comment: "},
		{"comment equal delimiter", pipeline.CSVSource{Comment: ","}, pipeline.Schema{}, "must differ"},
		{"spaces", pipeline.CSVSource{Delimiter: " ", TrimSpace: true}, pipeline.Schema{}, "csv.trim_space: "},
		{"newline", pipeline.CSVSource{Newline: "lf"}, pipeline.Schema{}, "csv.newline: "},
		{"header", pipeline.CSVSource{Header: "no"}, pipeline.Schema{}, "csv.header: "},
		{"skip_lines", pipeline.CSVSource{SkipLines: 1001}, pipeline.Schema{}, "csv.skip_lines: "},
		{"columns with a header", pipeline.CSVSource{Columns: []string{"a"}}, pipeline.Schema{}, "csv.columns: only"},
		{"no columns", pipeline.CSVSource{Header: "none"}, pipeline.Schema{}, "csv.columns: needs"},
		{"columns twice", pipeline.CSVSource{Header: "none", Columns: []string{"a", "a"}}, pipeline.Schema{}, "csv.columns: columns 1"},
		{"columns that are not declared", pipeline.CSVSource{Header: "none", Columns: []string{"a"}}, filetest.Fields("", "b", "int"), `missing: "b"; unexpected: "a"`},
		{"compression", pipeline.CSVSource{Files: pipeline.Files{Compression: "xz"}}, pipeline.Schema{}, "csv.compression: "},
		{"encoding", pipeline.CSVSource{Files: pipeline.Files{Encoding: "ascii"}}, pipeline.Schema{}, "csv.encoding: "},
		{"mode", pipeline.CSVSource{}, pipeline.Schema{Mode: "open"}, "schema.mode: "},
		{"fixed without fields", pipeline.CSVSource{}, pipeline.Schema{Mode: "fixed"}, "needs fields"},
		{"type", pipeline.CSVSource{}, filetest.Fields("", "v", "number"), "schema.fields.v: type"},
		{"name twice", pipeline.CSVSource{}, filetest.Fields("", "v", "int", "v", "int"), "declared twice"},
		{"column twice", pipeline.CSVSource{}, same, `"a" is read into "a" already`},
		{"column twice once normalized", pipeline.CSVSource{}, from, `csv.header: fields "a b" and "A_B" are both read from column "a_b"`},
		{"min", pipeline.CSVSource{}, one(pipeline.Field{Type: "int", Min: text("x")}), "schema.fields.v: min: "},
		{"order of bools", pipeline.CSVSource{}, one(pipeline.Field{Type: "bool", Max: text("true")}), "has no order"},
		{"enum", pipeline.CSVSource{}, one(pipeline.Field{Type: "int", Enum: []string{"x"}}), "enum: "},
		{"pattern", pipeline.CSVSource{}, one(pipeline.Field{Type: "string", Pattern: "("}), "pattern: "},
		{"pattern of an int", pipeline.CSVSource{}, one(pipeline.Field{Type: "int", Pattern: "1"}), "pattern: only a string"},
	}
	files := filesIn(t, t.TempDir())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.options.Path = "in.csv"
			_, err := NewSource("in", pipeline.Source{CSV: &c.options, Schema: c.schema}, files)
			require.ErrorContains(t, err, "sources.in: ")
			require.ErrorContains(t, err, c.message)
		})
	}
}

// TestColumnsAndFields shows how the columns of a file become the fields of rows.
func TestColumnsAndFields(t *testing.T) {
	renamed := filetest.Fields("", "amount", "int", "note", "string?")
	renamed.Fields[0].Value.From = "Amount $"
	flexible := filetest.Fields("flexible", "b", "int")
	taken := filetest.Fields("flexible", "id", "int")
	taken.Fields[0].Value.From = "x"
	cases := []struct {
		name, text string
		options    pipeline.CSVSource
		schema     pipeline.Schema
		rows       []string
		err        string
	}{
		{name: "from, and an optional column that is missing", text: "Amount $\n7\n", schema: renamed, rows: []string{`{"amount":7,"note":null}`}},
		{name: "from, exact", text: "note,Amount $\nx,7\n", options: pipeline.CSVSource{Header: "exact"}, schema: renamed, rows: []string{`{"amount":7,"note":"x"}`}},
		{name: "required column missing", text: "note\nx\n", schema: renamed, err: "HEADER_MISMATCH"},
		{name: "column too many", text: "amount,x\n1,2\n", schema: filetest.Fields("", "amount", "int"), err: "HEADER_MISMATCH"},
		{name: "flexible", text: "A a,b,c\n1,2,\n", schema: flexible, rows: []string{`{"b":2,"a_a":"1","c":null}`}},
		{name: "undeclared column with the name of a field", text: "id,x\n1,2\n", schema: taken, err: "HEADER_COLLISION"},
		{name: "no header, fields are the columns", text: "1,2\n", options: pipeline.CSVSource{Header: "none"}, schema: filetest.Fields("", "a", "int", "b", "int"), rows: []string{`{"a":1,"b":2}`}},
		{name: "no header, one column", text: "1\n\n", options: pipeline.CSVSource{Header: "none"}, schema: filetest.Fields("", "a", "int?"), rows: []string{`{"a":1}`, `{"a":null}`}},
		{name: "other quote and delimiter", text: "a|b\n'x|''y'|\"\n", options: pipeline.CSVSource{Quote: "'", Delimiter: "|"}, rows: []string{`{"a":"x|'y","b":"\""}`}},
		{name: "no quote", text: "a\tb\n\"x\t\"y\"\n", options: pipeline.CSVSource{Quote: "none", Delimiter: "tab"}, rows: []string{`{"a":"\"x","b":"\"y\""}`}},
		{name: "every kind", text: "s,i,f,b,d,t,n,j\nx,-1,1.5,true,2001-01-31,2001-01-31T00:00:00Z,1.50,\"{\"\"b\"\":1,\"\"a\"\":[]}\"\n",
			schema: filetest.Fields("", "s", "string", "i", "int", "f", "float", "b", "bool", "d", "date", "t", "timestamp", "n", "decimal", "j", "json"),
			rows:   []string{`{"s":"x","i":-1,"f":1.5,"b":true,"d":"2001-01-31","t":"2001-01-31T00:00:00Z","n":1.50,"j":{"a":[],"b":1}}`}},
		{name: "json that is not", text: "j\n\"{\"\"a\"\":1,\"\"a\"\":2}\"\n{\n", schema: filetest.Fields("", "j", "json"), rows: []string{"!DUPLICATE_KEY", "!SYNTAX"}},
		{name: "quoted header", text: "\"a\nb\",\"c,d\"\n1,2\n", rows: []string{`{"a_b":"1","c_d":"2"}`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := readCSV(t, c.text, c.options, c.schema)
			require.Equal(t, c.err, got.Err, got.Message)
			require.Equal(t, c.rows, got.Rows, "%v", got.Rejected)
		})
	}
}

// TestDeclaredFields shows what a source says about its rows before it reads any.
func TestDeclaredFields(t *testing.T) {
	source := csvOf(t, "", pipeline.CSVSource{}, filetest.Fields("", "a", "int", "b", "string?"))
	declared, open := source.Fields()
	require.Equal(t, []pipeline.Named[pipeline.Field]{{Name: "a", Value: pipeline.Field{Type: "int"}}, {Name: "b", Value: pipeline.Field{Type: "string", Optional: true}}}, declared)
	require.False(t, open)
	_, open = csvOf(t, "", pipeline.CSVSource{}, pipeline.Schema{}).Fields()
	require.True(t, open)
	require.Equal(t, pipeline.ReadsIO, source.Determinism())
}

// TestParserRefusesAHeaderOfAnotherSource shows that a parser never guesses columns.
func TestParserRefusesAHeaderOfAnotherSource(t *testing.T) {
	source := csvOf(t, "", pipeline.CSVSource{}, filetest.Fields("", "a", "int"))
	_, err := source.Parser([]byte("b"))
	require.ErrorContains(t, err, "in.csv: HEADER_MISMATCH")
	_, err = source.Parser([]byte("\"a"))
	require.ErrorContains(t, err, "in.csv: HEADER_UNREADABLE")
}

// TestReusedValues shows that nothing of one row is left in the next.
func TestReusedValues(t *testing.T) {
	parser, err := csvOf(t, "", pipeline.CSVSource{}, filetest.Fields("", "a", "int", "b", "int?")).Parser([]byte("a"))
	require.NoError(t, err)
	parsed, err := parser.Parse("1", []row.Value{row.IntValue(7), row.IntValue(8)})
	require.NoError(t, err)
	require.Equal(t, []row.Value{row.IntValue(1), row.NullValue()}, parsed.Values)
}

func TestNormalized(t *testing.T) {
	for name, want := range map[string]string{
		"Effect Amount of damage": "effect_amount_of_damage", "Cost Total $": "cost_total", "__a--b__": "a_b",
		"ÄÖ 1": "äö_1", "$": "", "e\u0301": "e\u0301", "a\u200b": "a",
	} {
		require.Equal(t, want, normalized(name))
	}
}
