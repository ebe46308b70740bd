package csv

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/file/filetest"
)

var messyOptions = pipeline.CSVSource{Comment: "#"}

// TestPiecesAreTheWhole shows that records, lines, offsets, counts and digests do not depend on where chunks end, where
// reading starts again, or how the file comes out of its pipe.
func TestPiecesAreTheWhole(t *testing.T) {
	wide := strings.Repeat("column ", 100)
	plain := filetest.Messy
	cases := []struct {
		name    string
		file    string
		content string
		options pipeline.CSVSource
	}{
		{"plain", "in.csv", plain, messyOptions},
		{"byte order mark", "in.csv", "\ufeff" + plain, messyOptions},
		{"no newline at the end", "in.csv", plain + "13,\"14", messyOptions},
		{"long header", "in.csv", "# x\n\n" + wide + "\n1\n\n2\n", messyOptions},
		{"no header", "in.csv", "1,2\n\n3,4\n", pipeline.CSVSource{Header: "none", Columns: []string{"a", "b"}}},
		{"skipped lines", "in.csv", "x\n\"\n" + plain, pipeline.CSVSource{SkipLines: 2, Comment: "#"}},
		{"one column", "in.csv", "a\n\n1\n\n", pipeline.CSVSource{}},
		{"blank lines only", "in.csv", "\n\n\r\n", pipeline.CSVSource{}},
		{"cr", "in.csv", "a,b\r1,2\r\r\"x\ry\",3\r", pipeline.CSVSource{Newline: "cr"}},
		{"gzip", "in.csv.gz", filetest.Gzipped(t, plain), messyOptions},
		{"latin-1", "in.csv", "a,b\nJos\xe9,1\n\n\xfc,2\n", pipeline.CSVSource{Files: pipeline.Files{Encoding: "latin-1"}}},
		{"utf-16le", "in.csv", filetest.UTF16("a,b\n1,2\n\n3,4\n", "le") + "\x3d\xd8\x00\xde,\x003\x00", pipeline.CSVSource{Files: pipeline.Files{Encoding: "utf-16le"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.options.Path = c.file
			source := csvOf(t, c.content, c.options, pipeline.Schema{})
			got := filetest.SamePieces(t, source, &source.Buffer)
			require.Empty(t, got.Err, got.Message)
			require.Equal(t, []string{filetest.HexSum(c.content)}, got.Digests)
		})
	}
}

// TestOffsetsPointIntoTheText shows that a record's offset and line are those in the decoded file.
func TestOffsetsPointIntoTheText(t *testing.T) {
	got := readCSV(t, filetest.Messy, messyOptions, pipeline.Schema{})
	require.Equal(t, 4, got.Blank)
	require.Equal(t, 3, got.Comments)
	require.Equal(t, []string{
		`{"a":"1","b":"2"}`, `{"a":"x\r\ny","b":"3"}`, "!FIELD_COUNT", "!TEXT_AFTER_QUOTE",
	}, got.Rows[:4])
	for i, record := range got.Records {
		at := got.Offsets[i]
		require.Equal(t, record, filetest.Messy[at:at+int64(len(record))])
		require.Equal(t, 1+strings.Count(filetest.Messy[:at], "\n"), int(got.Lines[i]))
	}
}

// TestLongLines shows that a line beyond the limit costs its row only, and says what was in it.
func TestLongLines(t *testing.T) {
	line := strings.Repeat("y", 5<<20)
	source := csvOf(t, "a,b\n1,2\n"+line+"\r\n3,4\n\"5\n"+line+"\n#"+line+"\n6,\"7\n\"", messyOptions, pipeline.Schema{})
	for _, source.Buffer = range []int{256 << 10, 1000} {
		got := filetest.Collect(t, source, filetest.Large)
		require.Equal(t, []string{`{"a":"1","b":"2"}`, "!ROW_TOO_LARGE", `{"a":"3","b":"4"}`, "!UNTERMINATED_QUOTE", "!ROW_TOO_LARGE", `{"a":"6","b":"7\n"}`}, got.Rows)
		require.Equal(t, []int64{2, 3, 4, 5, 6, 8}, got.Lines)
		require.Equal(t, 1, got.Comments)
		require.Equal(t, line[:file.KeptBytes], got.Records[1])
		require.Contains(t, got.Rejected[0].Message, "5242880 bytes")
		require.Contains(t, got.Rejected[0].Message, filetest.HexSum(line))
		require.Equal(t, got, filetest.InPieces(t, source, plugin.Limits{Rows: 2, Bytes: 1 << 20}))
	}
}

// TestRecordLimit walks the limit of a record byte by byte, quoted and not, with all that may follow.
func TestRecordLimit(t *testing.T) {
	for size := 10; size <= 24; size++ {
		for _, end := range []string{"", "\n", "\r\n", "\n3,4\n", "\r\n3,4\n"} {
			for _, text := range []string{"1," + strings.Repeat("x", size-2), "1,\"" + strings.Repeat("x", size-4) + "\"", "1,\"\n" + strings.Repeat("x", size-5) + "\""} {
				source := csvOf(t, "a,b\n"+text+end, pipeline.CSVSource{}, pipeline.Schema{})
				source.dialect.maxRecord, source.Format.MaxRecord = 16, 16
				got := filetest.SamePieces(t, source, &source.Buffer)
				require.Equal(t, size > 16, got.Rows[0][0] == '!', "%q: %v", text, got.Rows)
			}
		}
	}
}

// TestMemoryIsBounded reads a line without end: BI-033, OPS-03. What it allocates does not depend on the line's length.
func TestMemoryIsBounded(t *testing.T) {
	for _, start := range []string{"a\n1\n", "a\n1\n\""} {
		dir := filetest.Folder(t, map[string]string{"in.csv": start})
		require.NoError(t, os.Truncate(filepath.Join(dir, "in.csv"), 64<<20))
		source, err := NewSource("in", pipeline.Source{CSV: &pipeline.CSVSource{Files: pipeline.Files{Path: "in.csv"}}}, filesIn(t, dir))
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := filetest.Collect(t, source, filetest.Large)
		runtime.ReadMemStats(&after)
		require.Equal(t, []string{`{"a":"1"}`, "!ROW_TOO_LARGE"}, got.Rows)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	}
}

// TestSeveralFiles shows files whose headers are in different order, one with a header only, and one that is compressed.
func TestSeveralFiles(t *testing.T) {
	contents := map[string]string{
		"b/2.csv": "a,b\n1,2\n", "b/1.csv": "b,a\n1,2\n\n", "b/3.csv": "a,b\n", "b/4.csv.gz": filetest.Gzipped(t, "# x\nb,c,a\n5,6,7\n"),
		"b/.hidden.csv": "x", "c/1.csv": "x",
	}
	files := filesIn(t, filetest.Folder(t, contents))
	made, err := NewSource("in", pipeline.Source{
		CSV:    &pipeline.CSVSource{Files: pipeline.Files{Path: "b/*.csv*"}, Comment: "#"},
		Schema: filetest.Fields("flexible", "a", "int", "b", "int"),
	}, files)
	require.NoError(t, err)
	source := made.(*Source)
	got := filetest.SamePieces(t, source, &source.Buffer)
	require.Equal(t, []string{`{"a":2,"b":1}`, `{"a":1,"b":2}`, `{"a":7,"b":5,"c":"6"}`}, got.Rows)
	require.Equal(t, 1, got.Blank)
	require.Equal(t, 1, got.Comments)
	require.Equal(t, []string{filetest.HexSum(contents["b/1.csv"]), filetest.HexSum(contents["b/2.csv"]), filetest.HexSum(contents["b/3.csv"]), filetest.HexSum(contents["b/4.csv.gz"])}, got.Digests)
}

// TestRandomText compares many ways to read random text with one.
func TestRandomText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var b strings.Builder
		for range random.IntN(80) {
			b.WriteByte("\"\",,\n\n\r#ax"[random.IntN(10)])
		}
		source := csvOf(t, "a,b\n"+b.String(), messyOptions, pipeline.Schema{})
		source.dialect.maxRecord, source.Format.MaxRecord = 20, 20
		filetest.SamePieces(t, source, &source.Buffer)
	}
}
