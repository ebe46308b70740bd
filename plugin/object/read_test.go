package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/worker/formats"
)

// outcome is what a source makes of a file, wherever that is.
type outcome struct {
	Rows     []string // the row as JSON, or ! and the code of the rejection
	Lines    []int64
	Offsets  []int64
	Records  []string
	Blank    int
	Comments int
	Digests  []string
	Code     string // of the SourceError
}

var large = plugin.Limits{Rows: 1 << 20, Bytes: 256 << 20}

// quick is for tests, in which nobody needs time to recover.
func quick(r *Remote) *Remote {
	r.wait = patience{idle: time.Minute, slow: time.Minute, again: 4, before: time.Millisecond}
	return r
}

// sourceOf makes a source of a file at the path; files in it are below dir.
func sourceOf(t testing.TB, r *Remote, dir string, spec pipeline.Source) plugin.Source {
	t.Helper()
	root, err := file.NewRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	source, err := formats.Formats{Files: file.Access{Root: root, Remote: r}}.Source("in", spec)
	require.NoError(t, err)
	return source
}

// collect reads a source to its end or fault, with a new Reader for every chunk, as after as many crashes, or with one for all.
func collect(t testing.TB, source plugin.Source, limits plugin.Limits, anew bool) (o outcome, err error) {
	t.Helper()
	info, err := source.Stat(t.Context())
	if err != nil {
		return o, o.fail(err)
	}
	return collectFrom(t, source, info, limits, anew)
}

func collectFrom(t testing.TB, source plugin.Source, info plugin.SourceInfo, limits plugin.Limits, anew bool) (o outcome, err error) {
	t.Helper()
	reader, err := source.Open(t.Context(), plugin.Cursor{}, info)
	if err != nil {
		return o, o.fail(err)
	}
	defer func() { require.NoError(t, reader.Close()) }()
	for {
		var chunk plugin.Chunk
		err := reader.Next(t.Context(), limits, &chunk)
		if err == io.EOF {
			o.Digests, err = reader.Digests(t.Context())
		}
		if err != nil || chunk.Len()+chunk.Blank+chunk.Comments == 0 {
			return o, o.fail(err)
		}
		o.add(t, source, &chunk)
		if !anew {
			continue
		}
		at := reader.Cursor()
		require.NoError(t, reader.Close())
		text, err := json.Marshal(at)
		require.NoError(t, err)
		require.Less(t, len(text), 1024)
		if reader, err = source.Open(t.Context(), at, info); err != nil {
			return o, o.fail(err)
		}
	}
}

// fail notes the code of a fault, and returns what is none.
func (o *outcome) fail(err error) error {
	if fault, ok := errors.AsType[*plugin.SourceError](err); ok {
		o.Code = fault.Code
		return nil
	}
	return err
}

func (o *outcome) add(t testing.TB, source plugin.Source, c *plugin.Chunk) {
	o.Blank += c.Blank
	o.Comments += c.Comments
	parser, err := source.Parser(c.Context)
	require.NoError(t, err)
	bad := map[int]string{}
	for _, b := range c.Bad {
		bad[b.Index] = "!" + b.Code
	}
	for i := range c.Len() {
		o.Records = append(o.Records, string(c.Record(i)))
		o.Lines = append(o.Lines, c.Line(i))
		o.Offsets = append(o.Offsets, c.FirstOffset+int64(c.Offsets[i]))
		text := bad[i]
		if text == "" {
			parsed, err := parser.Parse(string(c.Record(i)), nil)
			if rejection, ok := errors.AsType[*plugin.Rejection](err); ok {
				text = "!" + rejection.Code
			} else {
				text = string(row.AppendJSON(nil, parsed))
			}
		}
		o.Rows = append(o.Rows, text)
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes all
	}
	return b.String()
}

func zstandard(text string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // it has no options that could be wrong
	}
	return string(w.EncodeAll([]byte(text), nil))
}

func inUTF16(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		b.WriteByte(0)
	}
	return b.String()
}

// messy holds every kind of line that a reader of files tells apart.
const messy = "# first\n\na,b\n1,2\r\n\"x\r\ny\",3\n\n#c\n4\n\"open,5\n6,\"7\"8\n9,\"\"\"q\"\"\n,z\"\n\n\xff,1\näöü,€\n10,\"\n\n\"\n#end\n11,12\n\n"

// fileCase is a file that is read from disk and from elsewhere.
type fileCase struct {
	name, file, content string
	csv                 pipeline.CSVSource
	big                 bool // so many rows that chunks of few rows would take long
}

// fileCases are read by many tests, and made once.
var fileCases = sync.OnceValue(func() []fileCase {
	comment := pipeline.CSVSource{Comment: "#"}
	encoded := func(encoding string) pipeline.CSVSource {
		return pipeline.CSVSource{Files: pipeline.Files{Encoding: encoding}}
	}
	long := "a,b\n" + strings.Repeat("1,\"two\nlines\"\n\n3\n", 16_000)
	cases := []fileCase{
		{"plain", "in.csv", messy, comment, false},
		{"byte order mark", "in.csv", "\ufeff" + messy, comment, false},
		{"long", "in.csv", long, comment, true},
		{"record too large", "in.csv", "a,b\n1," + strings.Repeat("x", 5<<20) + "\n3,4\n", comment, true},
		{"gzip", "in.csv.gz", gzipped(messy), comment, false},
		{"zstd", "in.csv.zst", zstandard(long), comment, true},
		{"gzip cut short", "in.csv.gz", gzipped(long)[:400], comment, true},
		{"gzip damaged", "in.csv.gz", strings.Replace(gzipped(messy), "\x1f\x8b", "\x1f\x8c", 1), comment, false},
		{"a bomb", "in.csv.gz", gzipped("a\n" + strings.Repeat(strings.Repeat("x", 1<<20-1)+"\n", 20)), comment, true},
		{"compressed and not declared", "in.csv", gzipped(messy), comment, false},
		{"utf-16le", "in.csv", inUTF16("a,b\n1,2\n\n3,4\n"), encoded("utf-16le"), false},
		{"undeclared utf-16", "in.csv", "\xff\xfe" + inUTF16("a\n1\n"), comment, false},
		{"latin-1", "in.csv", "a,b\nJos\xe9,1\n", encoded("latin-1"), false},
		{"no header", "in.csv", "1,2\n\n3,4\n", pipeline.CSVSource{Header: "none", Columns: []string{"a", "b"}}, false},
		{"nothing", "in.csv", "", comment, false},
		{"nothing, allowed", "in.csv", "", pipeline.CSVSource{Files: pipeline.Files{AllowEmpty: true}}, false},
		{"columns that collide", "in.csv", "a,a\n1,2\n", comment, false},
		{"lone carriage returns", "in.csv", "a,b\r1,2\r", comment, false},
	}
	for i := range cases {
		cases[i].csv.Path = cases[i].file
	}
	return cases
})

// reading is one way to read the file of a case.
type reading struct {
	name   string // of the case
	limits plugin.Limits
}

// readOnDisk are the outcomes of the files that were read from disk.
var readOnDisk = map[reading]outcome{}

// onDisk returns what comes of the file of a case on disk.
func (c fileCase) onDisk(t testing.TB, limits plugin.Limits) outcome {
	known, is := readOnDisk[reading{c.name, limits}]
	if !is {
		known = c.readOnDisk(t, limits)
		readOnDisk[reading{c.name, limits}] = known
	}
	return known
}

func (c fileCase) readOnDisk(t testing.TB, limits plugin.Limits) outcome {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o644))
	o, err := collect(t, sourceOf(t, nil, dir, pipeline.Source{CSV: &c.csv}), limits, false)
	require.NoError(t, err)
	return o
}

// requireSame reads a file in many ways, and requires what is read from disk.
func (c fileCase) requireSame(t *testing.T, source plugin.Source) {
	t.Helper()
	for _, limits := range []plugin.Limits{{Rows: 7, Bytes: 64 << 10}, {Rows: 2000, Bytes: 1 << 20}, large} {
		if c.big && limits.Rows == 7 {
			continue // thousands of chunks, and for each the file is read from its beginning
		}
		want := c.onDisk(t, limits)
		for _, anew := range []bool{false, true} {
			got, err := collect(t, source, limits, anew)
			require.NoError(t, err)
			require.Equal(t, want, got, "limits %v, a new reader for each chunk: %v", limits, anew)
		}
	}
}
