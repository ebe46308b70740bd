package lookup

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

// names returns a mapping from pairs of names.
func names(pairs ...string) pipeline.Map[string] {
	var m pipeline.Map[string]
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, pipeline.Named[string]{Name: pairs[i], Value: pairs[i+1]})
	}
	return m
}

func rootOf(t *testing.T, dir string) *file.Root {
	root, err := file.NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

// airports looks up in a CSV file.
func airports(schema pipeline.Schema) pipeline.Lookup {
	return pipeline.Lookup{
		CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "airports.csv"}}, Schema: schema,
		On: names("airport", "code"), Add: names("city", "town", "pop", "people"),
	}
}

// flights looks up in a JSON Lines file by two fields.
func flights() pipeline.Lookup {
	return pipeline.Lookup{
		JSONL: &pipeline.JSONLSource{Files: pipeline.Files{Path: "flights.jsonl"}},
		On:    names("a", "x", "b", "y"), Add: names("c", "z"),
	}
}

func loadTable(t *testing.T, content string, spec pipeline.Lookup) (*plugin.Table, error) {
	root := rootOf(t, filetest.Folder(t, map[string]string{"airports.csv": content, "flights.jsonl": content}))
	return Table("enrich", spec, root, Kept{})
}

func TestTableOfDeclaredFields(t *testing.T) {
	content := "# all of them\n\nCode,Town,People\nJFK,New York,8000000\nXXX,,\n\"A,B\",\"Here\nand there\",3\n"
	spec := airports(filetest.Fields("", "code", "string", "town", "string?", "people", "int?"))
	spec.CSV.Comment = "#"
	table, err := loadTable(t, content, spec)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(content))
	require.Equal(t, []any{"airports.csv", content, hex.EncodeToString(sum[:]), int64(3)}, []any{table.Path, string(table.Content), table.SHA256, table.Rows})
	require.Equal(t, []string{"airport"}, table.On)
	require.Equal(t, []plugin.TableField{{Name: "code", Kind: row.String}}, table.Keys)
	require.Equal(t, []plugin.TableField{{Name: "city", Kind: row.String, Optional: true}, {Name: "pop", Kind: row.Int, Optional: true}}, table.Fields)
	for key, want := range map[string][]row.Value{
		"JFK": {row.StringValue("New York"), row.IntValue(8000000)}, "XXX": {row.NullValue(), row.NullValue()},
		"A,B": {row.StringValue("Here\nand there"), row.IntValue(3)}, "": nil, "jfk": nil,
	} {
		values, found, _ := table.Find([]row.Value{row.StringValue(key)}, nil)
		require.Equal(t, want, values, key)
		require.Equal(t, want != nil, found, key)
	}
	_, found, _ := table.Find([]row.Value{row.NullValue()}, nil)
	require.False(t, found)
}

func TestTableFieldsMayBeNull(t *testing.T) {
	spec := airports(filetest.Fields("", "code", "string", "town", "string", "people", "int?"))
	spec.Missing = "refuse"
	table, err := loadTable(t, "code,town,people\nJFK,New York,1\n", spec)
	require.NoError(t, err)
	require.Equal(t, []plugin.TableField{{Name: "city", Kind: row.String}, {Name: "pop", Kind: row.Int, Optional: true}}, table.Fields)
	spec.Missing = "null"
	table, err = loadTable(t, "code,town,people\nJFK,New York,1\n", spec)
	require.NoError(t, err)
	require.Equal(t, []plugin.TableField{{Name: "city", Kind: row.String, Optional: true}, {Name: "pop", Kind: row.Int, Optional: true}}, table.Fields)
}

// A field that is not declared has the kind of its values; a key of several fields is more than their texts in a row.
func TestTableOfObservedFields(t *testing.T) {
	table, err := loadTable(t, `{"x": 1, "y": 23, "z": "first"}`+"\n"+`{"x": 12, "y": 3}`+"\n"+`{"x": 1, "y": 2, "z": null, "w": [1]}`+"\n", flights())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, table.On)
	require.Equal(t, []plugin.TableField{{Name: "x", Kind: row.Int}, {Name: "y", Kind: row.Int}}, table.Keys)
	require.Equal(t, []plugin.TableField{{Name: "c", Kind: row.String, Optional: true}}, table.Fields)
	values, found, scratch := table.Find([]row.Value{row.IntValue(1), row.IntValue(23)}, nil)
	require.True(t, found)
	require.Equal(t, []row.Value{row.StringValue("first")}, values)
	values, found, scratch = table.Find([]row.Value{row.IntValue(12), row.IntValue(3)}, scratch)
	require.True(t, found)
	require.Equal(t, []row.Value{row.NullValue()}, values)
	_, found, _ = table.Find([]row.Value{row.StringValue("1"), row.IntValue(23)}, scratch)
	require.False(t, found, "kinds are part of a value")
}

func TestTableWithoutRows(t *testing.T) {
	table, err := loadTable(t, "code,town,people\n", airports(pipeline.Schema{}))
	require.NoError(t, err)
	require.Equal(t, int64(0), table.Rows)
	require.Equal(t, []plugin.TableField{{Name: "code", Kind: row.String}}, table.Keys)
}

// A table of one column without header: an empty line is a row of it, and has no key.
func TestTableOfOneColumn(t *testing.T) {
	spec := pipeline.Lookup{
		CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "airports.csv"}, Header: "none", Columns: []string{"code"}},
		On:  names("airport", "code"), Add: names("known", "code"),
	}
	table, err := loadTable(t, "JFK\nLGA\n", spec)
	require.NoError(t, err)
	require.Equal(t, int64(2), table.Rows)
	_, err = loadTable(t, "JFK\n\nLGA\n", spec)
	require.EqualError(t, err, `airports.csv:2: the field "code" of the key is null: give it a value, or delete the row`)
}

func TestTableOfManyRows(t *testing.T) {
	const rows = 50_000
	var content strings.Builder
	content.WriteString("code,town,people\n")
	for i := range rows {
		fmt.Fprintf(&content, "%d,town of %d,%d\n", i, i, 2*i)
	}
	table, err := loadTable(t, content.String(), airports(pipeline.Schema{}))
	require.NoError(t, err)
	require.Equal(t, int64(rows), table.Rows)
	var key []byte
	for i := range rows {
		var values []row.Value
		values, _, key = table.Find([]row.Value{row.StringValue(strconv.Itoa(i))}, key)
		require.Equal(t, "town of "+strconv.Itoa(i), values[0].Text())
	}
	_, err = loadTable(t, content.String()+"7,twice,0\n", airports(pipeline.Schema{}))
	require.EqualError(t, err, `airports.csv:50002: has the key of line 9, "7": delete one of the rows`)
}

// What a run keeps of a table is read instead of the file, and in the same way.
func TestTableOfKeptContent(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte("code;town;people\nMUC;M\xfcnchen;1\n"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	root := rootOf(t, t.TempDir())
	spec := airports(pipeline.Schema{})
	spec.CSV.Path, spec.CSV.Delimiter, spec.CSV.Encoding = "gone.csv.gz", ";", "latin-1"
	table, err := Table("enrich", spec, root, Kept{Tables: map[string][]byte{"enrich": packed.Bytes()}})
	require.NoError(t, err)
	values, found, _ := table.Find([]row.Value{row.StringValue("MUC")}, nil)
	require.True(t, found)
	require.Equal(t, "München", values[0].Text())
	require.Equal(t, packed.Bytes(), table.Content)
	_, err = Table("enrich", spec, root, Kept{Tables: map[string][]byte{"other": packed.Bytes()}})
	require.EqualError(t, err, "gone.csv.gz: NOT_FOUND: no such file; paths are relative to the document's folder")
	_, err = Table("enrich", spec, root, Kept{Files: map[string][]byte{"other.csv": packed.Bytes()}})
	require.ErrorContains(t, err, "gone.csv.gz: is not among the files of the deployed version, or the tables of the "+
		"run: who deploys by the API sends it with files of the request, under this path (docs/api.md); ")
}

func TestTableRefuses(t *testing.T) {
	declared := filetest.Fields("", "code", "string", "town", "string?", "people", "int?")
	for name, c := range map[string]struct {
		content string
		spec    pipeline.Lookup
		want    string
	}{
		"two rows with one key": {"code,town,people\nJFK,a,1\nLGA,b,2\nJFK,a,1\n", airports(declared), `airports.csv:4: has the key of line 2, "JFK": delete one of the rows`},
		"lines are physical":    {"code,town,people\nJFK,\"a\n\nb\",1\n\nLGA,b,2\nJFK,a,1\n", airports(declared), `airports.csv:7: has the key of line 2, "JFK": delete one of the rows`},
		"a key of two fields":   {"{\"x\":1,\"y\":2}\n{\"x\":2,\"y\":1}\n{\"y\":2,\"x\":1}\n", flights(), `flights.jsonl:3: has the key of line 1, "1, 2": delete one of the rows`},
		"a null in a key":       {"code,town,people\nJFK,a,1\n,b,2\n", airports(pipeline.Schema{}), `airports.csv:3: the field "code" of the key is null: give it a value, or delete the row`},
		"a key without a field": {`{"x":1}` + "\n", flights(), `flights.jsonl:1: the row has no field "y", which is in the key`},
		"a row that is refused": {"code,town,people\nJFK,a,1\nLGA,b,many\n", airports(declared), `airports.csv:3: CONVERT: people: "many" is not a valid int: expected ASCII digits with an optional minus sign (FORMAT)`},
		"a broken record":       {"code,town,people\nJFK,a,1\nLG\"A,b,2\n", airports(declared), "airports.csv:3: BARE_QUOTE: a quote inside an unquoted cell, at byte 2 of the record; quote the whole cell and double the quotes in it"},
		"another header":        {"code,city,people\nJFK,a,1\n", airports(declared), `airports.csv:1: HEADER_MISMATCH: the header does not have the declared columns; unexpected: "city"; declare them, or set schema.mode: flexible`},
		"no such fields":        {"kode,town,folk\nJFK,a,1\n", airports(pipeline.Schema{}), `airports.csv:2: the row has no field "code", which is in the key (did you mean "kode"?)`},
		"no such field to add":  {"code,town,folk\nJFK,a,1\n", airports(pipeline.Schema{}), `airports.csv: no row has the fields that on and add name: "people"`},
		"values of two kinds":   {"{\"x\":1,\"y\":2}\n{\"x\":\"2\",\"y\":1}\n", flights(), `flights.jsonl:2: the field "x" is of type string here and int in line 1: declare it in the schema`},
		"an empty file":         {"", airports(declared), "airports.csv: EMPTY_SOURCE: the file is empty; set allow_empty: true if it may be"},
		"no table":              {"", pipeline.Lookup{}, "has no format; give it csv or jsonl"},
		"an option":             {"", pipeline.Lookup{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "airports.csv", Encoding: "ebcdic"}}}, `csv.encoding: "ebcdic" is not utf-8, utf-16le, utf-16be, latin-1 or windows-1252`},
		"a glob":                {"", pipeline.Lookup{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "*.csv"}}}, `*.csv: a table is one file: give a path without *, ?, [ and \`},
		"a path that leads out": {"", pipeline.Lookup{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "/etc/passwd"}}}, `csv.path: path "/etc/passwd": is outside the document's folder: allow the folder it is in with --allow-path FOLDER, or move it to the document`},
		"a folder":              {"", pipeline.Lookup{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "."}}}, `.: PATH_REFUSED: not a regular file (a folder): name a file in it, or in a source a pattern such as folder/*.parquet`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadTable(t, c.content, c.spec)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestTableHasLimits(t *testing.T) {
	const refused = "airports.csv: a table has at most 67108864 bytes: keep only the rows and columns that the lookup needs"
	dir := filetest.Folder(t, map[string]string{"airports.csv": ""})
	root := rootOf(t, dir)
	require.NoError(t, os.Truncate(filepath.Join(dir, "airports.csv"), maxTableBytes+1))
	_, err := Table("enrich", airports(pipeline.Schema{}), root, Kept{})
	require.EqualError(t, err, refused)

	spec := airports(pipeline.Schema{})
	spec.CSV.Comment, spec.CSV.Encoding = "#", "latin-1"
	long := "code,town,people\n" + strings.Repeat("#"+strings.Repeat("\xe9", 1<<20)+"\n", 33) // twice as many bytes in UTF-8
	_, err = Table("enrich", spec, root, Kept{Tables: map[string][]byte{"enrich": []byte(long)}})
	require.EqualError(t, err, refused)

	source, err := newSource("enrich", pipeline.Lookup{CSV: spec.CSV}, file.Access{Root: root})
	require.NoError(t, err)
	b := newTableBuilder(source, spec)
	b.rows = maxTableRows - 1
	err = b.read(source, []byte("code,town,people\nJFK,a,1\nLGA,b,2\n"))
	require.EqualError(t, err, "airports.csv:3: a table has at most 1000000 rows: keep only those that the lookup needs")
}
