// Package filetest reads sources of files in tests, in every way in which runs may.
package filetest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Outcome is what a source makes of its files.
type Outcome struct {
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

// Folder returns a folder with these files.
func Folder(t testing.TB, files map[string]string) (dir string) {
	dir = t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	return dir
}

// Fields returns a schema from pairs of name and type; "int?" is optional.
func Fields(mode string, pairs ...string) pipeline.Schema {
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

// Large is more than any file of a test holds.
var Large = plugin.Limits{Rows: 1 << 20, Bytes: 256 << 20}

// Collect reads a source from the beginning to its end or fault.
func Collect(t testing.TB, source plugin.Source, limits plugin.Limits) Outcome {
	info, err := source.Stat(t.Context())
	if err != nil {
		return (&Outcome{}).Fail(t, err)
	}
	reader, err := source.Open(t.Context(), plugin.Cursor{}, info)
	if err != nil {
		return (&Outcome{}).Fail(t, err)
	}
	defer func() { require.NoError(t, reader.Close()) }()
	var o Outcome
	var chunk plugin.Chunk
	for {
		if err := reader.Next(t.Context(), limits, &chunk); err != nil {
			o.Digests = digests(t, reader)
			return o.Fail(t, err)
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

// Fail adds the error that ended the reading.
func (o *Outcome) Fail(t testing.TB, err error) Outcome {
	if err == io.EOF {
		return *o
	}
	var fault *plugin.SourceError
	require.True(t, errors.As(err, &fault), "not a SourceError: %v", err)
	require.NotEmpty(t, fault.File)
	o.Err, o.Message = fault.Code, fault.Error()
	return *o
}

func (o *Outcome) add(t testing.TB, source plugin.Source, c *plugin.Chunk) {
	require.NotZero(t, c.Len()+c.Blank+c.Comments, "an empty chunk")
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

func (o *Outcome) reject(r *plugin.Rejection) {
	o.Rows = append(o.Rows, "!"+r.Code)
	o.Rejected = append(o.Rejected, *r)
}

// Messy holds every kind of line that a splitter tells apart.
const Messy = "# first\n\na,b\n1,2\r\n\"x\r\ny\",3\n\n#c\n4\n\"open,5\n6,\"7\"8\n9,\"\"\"q\"\"\n,z\"\n\n\xff,1\n" +
	"äöü,€\n10,\"\n\n\"\n#end\n11,12\n\n"

// InPieces reads a source with a new Reader at the cursor for every chunk.
func InPieces(t testing.TB, source plugin.Source, limits plugin.Limits) Outcome {
	info, err := source.Stat(t.Context())
	require.NoError(t, err)
	var o Outcome
	var at plugin.Cursor
	for {
		reader, err := source.Open(t.Context(), at, info)
		require.NoError(t, err)
		var chunk plugin.Chunk
		err = reader.Next(t.Context(), limits, &chunk)
		if err != nil {
			o.Digests = digests(t, reader)
			require.NoError(t, reader.Close())
			return o.Fail(t, err)
		}
		o.add(t, source, &chunk)
		if text, err := json.Marshal(reader.Cursor()); len(info.Files) > 0 {
			require.NoError(t, err)
			require.Less(t, len(text), 1024, "a cursor that is too long")
			at = plugin.Cursor{}
			require.NoError(t, json.Unmarshal(text, &at))
		}
		if n := chunk.Len(); n > 0 && chunk.Lengths[n-1] >= 4 {
			require.NotContains(t, string(at.Digest), string(chunk.Record(n - 1)[chunk.Lengths[n-1]-4:]), "a row travels in the cursor")
		}
		require.Equal(t, int64(len(o.Rows)), at.Row)
		require.NoError(t, reader.Close())
	}
}

// SamePieces reads a source in many ways, with buffers of many sizes, and requires that all give the same.
func SamePieces(t testing.TB, source plugin.Source, buffer *int) Outcome {
	want := Collect(t, source, Large)
	for _, limits := range []plugin.Limits{{Rows: 1, Bytes: 1}, {Rows: 1, Bytes: 1 << 20}, {Rows: 2, Bytes: 1 << 20}, {Rows: 3, Bytes: 7}, {Rows: 100, Bytes: 20}, Large} {
		for _, *buffer = range []int{1, 3, 16, 4096} {
			require.Equal(t, want, Collect(t, source, limits), "limits %v, buffer %d", limits, *buffer)
			require.Equal(t, want, InPieces(t, source, limits), "in pieces: limits %v, buffer %d", limits, *buffer)
		}
	}
	return want
}

// Gzipped returns the text compressed.
func Gzipped(t testing.TB, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// HexSum returns the SHA-256 of the text.
func HexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// UTF16 returns text in UTF-16; order is "le" or "be". Only ASCII.
func UTF16(text, order string) string {
	var b strings.Builder
	for i := range len(text) {
		if order == "be" {
			b.WriteByte(0)
		}
		b.WriteByte(text[i])
		if order == "le" {
			b.WriteByte(0)
		}
	}
	return b.String()
}
