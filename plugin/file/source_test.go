package file

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

// newRoot returns the Root of a folder with these files.
func newRoot(t testing.TB, files map[string]string) (root *Root, dir string) {
	dir = filetest.Folder(t, files)
	root, err := NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root, dir
}

// plainSource reads the simplest format with a header: cells with commas between them, and lines of a # that are comments.
type plainSource struct{ Source }

func newPlainSource(files pipeline.Files, access Access) (*plainSource, error) {
	schema, err := NewSchema(pipeline.Schema{})
	if err != nil {
		return nil, err
	}
	base, err := access.NewSource("in", files, schema)
	base.Format = Format{
		Lines:       Lines{Newline: '\n', Comment: '#', MaxRecord: MaxRecordBytes},
		CheckStart:  func(string) *plugin.SourceError { return nil },
		CheckHeader: func(header string) (int, *plugin.SourceError) { return 1 + strings.Count(header, ","), nil },
	}
	return &plainSource{base}, err
}

func (*plainSource) Parser(header []byte) (plugin.Parser, error) {
	return plainParser(strings.Split(string(header), ",")), nil
}

type plainParser []string

func (p plainParser) Parse(text string, _ []row.Value) (row.Row, error) {
	cells := strings.Split(text, ",")
	if len(cells) != len(p) {
		return row.Row{}, Reject(CodeFieldCount, "", "has %d cells", len(cells))
	}
	r := row.Row{Shape: row.NewShape(slices.Clone(p))}
	for _, cell := range cells {
		r.Values = append(r.Values, row.StringValue(cell))
	}
	return r, nil
}

// sourceOf returns the source of these files, which is none of standard input.
func sourceOf(t testing.TB, files pipeline.Files, root *Root) *plainSource {
	source, err := newPlainSource(files, Access{Root: root})
	require.NoError(t, err)
	return source
}

// sourceOfText returns the source of one file with this text.
func sourceOfText(t testing.TB, text string, files pipeline.Files) *plainSource {
	if files.Path == "" {
		files.Path = "in.csv"
	}
	root, _ := newRoot(t, map[string]string{files.Path: text})
	return sourceOf(t, files, root)
}
