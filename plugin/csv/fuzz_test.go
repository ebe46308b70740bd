package csv

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file/filetest"
)

// splitAll divides text, handed over in windows that grow by step bytes, into chunks of at most limits.
func splitAll(t *testing.T, d dialect, text []byte, step int, limits plugin.Limits) (records []string, covered int) {
	s := d.lines()
	window := min(step, len(text))
	for covered < len(text) {
		var c plugin.Chunk
		s.Begin()
		used, long := s.Split(text[covered:window], window == len(text), limits, &c)
		if used == 0 && !long {
			require.Less(t, window, len(text), "stuck at byte %d", covered)
			window = min(window+step, len(text))
			continue
		}
		if used == 0 {
			line, _, _ := bytes.Cut(text[covered:], []byte{d.newline})
			require.Greater(t, len(line), d.maxRecord)
			records = append(records, string(line))
			used = min(len(line)+1, len(text)-covered)
		} else {
			requireCovered(t, d, text[covered:covered+used], &c)
		}
		for i := range c.Len() {
			at := covered + int(c.Offsets[i])
			records = append(records, string(text[at:at+int(c.Lengths[i])]))
		}
		covered += used
		window = max(window, covered)
	}
	return records, covered
}

// requireCovered requires that records, line ends, blank lines and comments are all of the text, in order.
func requireCovered(t *testing.T, d dialect, text []byte, c *plugin.Chunk) {
	at, between := 0, 0
	for i := 0; i <= c.Len(); i++ {
		next := len(text)
		if i < c.Len() {
			next = int(c.Offsets[i])
		}
		gap := text[at:next]
		if i > 0 {
			end := bytes.IndexByte(gap, d.newline)
			require.True(t, end >= 0 || next == len(text) && len(gap) == 0, "record %d has no line end", i-1)
			gap = gap[end+1:]
		}
		for line := range bytes.Lines(gap) {
			require.True(t, len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) == 0 || line[0] == d.comment, "%q is lost", line)
			between++
		}
		if i < c.Len() {
			at = next + int(c.Lengths[i])
		}
	}
	require.Equal(t, between, c.Blank+c.Comments)
	for _, bad := range c.Bad {
		require.NotContains(t, string(c0(text, c, bad.Index)), "\n", "a record with a defect is one line")
	}
}

func c0(text []byte, c *plugin.Chunk, i int) []byte {
	return text[c.Offsets[i] : c.Offsets[i]+c.Lengths[i]]
}

// FuzzSplit divides any text: no byte is lost or comes twice, and neither windows nor chunks change what is found.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{filetest.Messy, "", "\"", "a\r", "\"a\"\r\n\"", "\"\"\"\n\"\"\n", strings.Repeat("x", 40) + "\ny", "\"\n\n\n\",\n#\"\n"} {
		f.Add([]byte(seed), uint8(3), uint8(2))
	}
	f.Add([]byte(strings.Repeat("x", 32)+"\r\ny\n"), uint8(0), uint8(2)) // a record at the limit, byte by byte
	f.Fuzz(func(t *testing.T, text []byte, step, rows uint8) {
		d := dialect{newline: '\n', delimiter: ',', quote: '"', comment: '#', maxRecord: 32}
		want, covered := splitAll(t, d, text, len(text)+1, filetest.Large)
		require.Equal(t, len(text), covered)
		got, covered := splitAll(t, d, text, int(step)+1, plugin.Limits{Rows: int(rows) + 1, Bytes: 50})
		require.Equal(t, len(text), covered)
		require.Equal(t, want, got)
	})
}

// FuzzParseCSV parses any record: the parser agrees with the splitter on what a record is, and what it accepts is text.
func FuzzParseCSV(f *testing.F) {
	for _, seed := range []string{"1,2", "\"a\",", "\"\"\"\",\"\n\"", "\xff,", "a\rb,", "1,2,3"} {
		f.Add(seed)
	}
	source := csvOf(f, "", pipeline.CSVSource{}, pipeline.Schema{})
	f.Fuzz(func(t *testing.T, record string) {
		parser, err := source.Parser([]byte("a,b"))
		require.NoError(t, err)
		parsed, err := parser.Parse(record, nil)
		if err == nil {
			require.Equal(t, []string{"a", "b"}, parsed.Shape.Fields())
			require.True(t, json.Valid(row.AppendJSON(nil, parsed)))
		}
		again, errAgain := parser.Parse(record, nil)
		require.Equal(t, parsed, again)
		require.Equal(t, err, errAgain)
	})
}
