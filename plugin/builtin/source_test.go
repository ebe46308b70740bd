package builtin

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// outcome is what a source makes of its files.
type outcome struct {
	Rows     []string // the row as JSON, or ! and the code of the rejection
	Lines    []int64
	Offsets  []int64
	Records  []string
	Rejected []plugin.Rejection
	Blank    int
	Comments int
	Digests  []string
	Err      string // code of the SourceError
	Message  string // of the error
}

// newRoot returns the Root of a folder with these files.
func newRoot(t testing.TB, files map[string]string) (*Root, string) {
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	root, err := NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root, dir
}

// fields returns a schema from pairs of name and type; "int?" is optional.
func fields(mode string, pairs ...string) pipeline.Schema {
	s := pipeline.Schema{Mode: mode}
	for i := 0; i < len(pairs); i += 2 {
		kind := pairs[i+1]
		optional := kind[len(kind)-1] == '?'
		if optional {
			kind = kind[:len(kind)-1]
		}
		field := pipeline.Field{Type: kind, Optional: optional}
		s.Fields = append(s.Fields, pipeline.Named[pipeline.Field]{Name: pairs[i], Value: field})
	}
	return s
}

var large = plugin.Limits{Rows: 1 << 20, Bytes: 256 << 20}

// collect reads a source from the beginning to its end or fault.
func collect(t testing.TB, source plugin.Source, limits plugin.Limits) outcome {
	info, err := source.Stat(t.Context())
	if err != nil {
		return (&outcome{}).fail(t, err)
	}
	reader, err := source.Open(t.Context(), plugin.Cursor{}, info)
	if err != nil {
		return (&outcome{}).fail(t, err)
	}
	defer func() { require.NoError(t, reader.Close()) }()
	var o outcome
	var chunk plugin.Chunk
	for {
		if err := reader.Next(t.Context(), limits, &chunk); err != nil {
			o.Digests = digests(t, reader)
			return o.fail(t, err)
		}
		o.add(t, source, &chunk)
	}
}

func digests(t testing.TB, reader plugin.Reader) []string {
	t.Helper()
	digests, err := reader.Digests(t.Context())
	require.NoError(t, err)
	return digests
}

// fail adds the error that ended the reading.
func (o *outcome) fail(t testing.TB, err error) outcome {
	if err == io.EOF {
		return *o
	}
	var fault *plugin.SourceError
	require.True(t, errors.As(err, &fault), "not a SourceError: %v", err)
	require.NotEmpty(t, fault.File)
	o.Err, o.Message = fault.Code, fault.Error()
	return *o
}

func (o *outcome) add(t testing.TB, source plugin.Source, c *plugin.Chunk) {
	require.False(t, isEmpty(c), "an empty chunk")
	o.Blank += c.Blank
	o.Comments += c.Comments
	require.Equal(t, int64(len(o.Rows)+1), c.FirstRow)
	parser, err := source.Parser(c.Context)
	require.NoError(t, err)
	bad := c.Bad
	for i := range c.Len() {
		record := string(c.Record(i))
		o.Records = append(o.Records, record)
		o.Lines = append(o.Lines, c.Line(i))
		o.Offsets = append(o.Offsets, c.FirstOffset+int64(c.Offsets[i]))
		if len(bad) > 0 && bad[0].Index == i {
			o.reject(&bad[0].Rejection)
			bad = bad[1:]
			continue
		}
		parsed, err := parser.Parse(record, nil)
		if err == nil {
			o.Rows = append(o.Rows, string(row.AppendJSON(nil, parsed)))
			continue
		}
		rejection, ok := errors.AsType[*plugin.Rejection](err)
		require.True(t, ok, "not a Rejection: %v", err)
		o.reject(rejection)
	}
	require.Empty(t, bad)
}

func (o *outcome) reject(r *plugin.Rejection) {
	o.Rows = append(o.Rows, "!"+r.Code)
	o.Rejected = append(o.Rejected, *r)
}

// readCSV reads one file of CSV.
func readCSV(t testing.TB, text string, options pipeline.CSVSource, schema pipeline.Schema) outcome {
	return collect(t, csvOf(t, text, options, schema), large)
}

func csvOf(t testing.TB, text string, options pipeline.CSVSource, schema pipeline.Schema) plugin.Source {
	if options.Path == "" {
		options.Path = "in.csv"
	}
	root, _ := newRoot(t, map[string]string{options.Path: text})
	source, err := NewSource("in", pipeline.Source{CSV: &options, Schema: schema}, root)
	require.NoError(t, err)
	return source
}

// readJSONL reads one file of JSON Lines.
func readJSONL(t testing.TB, text string, files pipeline.Files, schema pipeline.Schema) outcome {
	if files.Path == "" {
		files.Path = "in.jsonl"
	}
	root, _ := newRoot(t, map[string]string{files.Path: text})
	source, err := NewSource("in", pipeline.Source{JSONL: &pipeline.JSONLSource{Files: files}, Schema: schema}, root)
	require.NoError(t, err)
	return collect(t, source, large)
}
