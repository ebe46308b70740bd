package csv

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
)

// TestPieces says which bytes of a record are which field, also of one that is rejected.
func TestPieces(t *testing.T) {
	source := csvOf(t, "", pipeline.CSVSource{}, pipeline.Schema{})
	trailing := csvOf(t, "", pipeline.CSVSource{TrailingDelimiter: true}, pipeline.Schema{})
	for _, test := range []struct {
		source *Source
		record string
		want   string // the pieces as they are written, each behind its field
	}{
		{source, `1,2`, "a=1|b=2"},
		{source, `é, 2 `, "a=é|b= 2 "},
		{source, `,`, "a=|b="},
		{source, `"x ""y"", z",2`, `a="x ""y"", z"|b=2`},
		{source, "\"\n\",\"\"", "a=\"\n\"|b=\"\""},
		{source, `1`, "a=1"},
		{source, `1,2,3`, "a=1|b=2"},
		{source, `1,"2","3"`, `a=1|b="2"`},
		{source, `1,2"x`, "a=1"},
		{source, `"1`, ""},
		{source, "1,\xff", ""},
		{source, ``, "a="},
		{trailing, `1,2,`, "a=1|b=2"},
		{trailing, `1,2`, ""},
	} {
		parser, err := test.source.Parser([]byte("a,b"))
		require.NoError(t, err)
		_, _ = parser.Parse("7,8", nil) // nothing of it is left
		require.Equal(t, test.want, written(t, parser, test.record), "%q", test.record)
	}
}

// written returns the pieces of a record, each behind its field, after it has made sure that they are pieces of it, in order.
func written(t *testing.T, parser plugin.Parser, record string) string {
	t.Helper()
	var pieces []string
	end := 0
	for _, piece := range parser.(plugin.Divided).Pieces(record) {
		require.GreaterOrEqual(t, piece.Offset, end, "%q", record)
		end = piece.Offset + piece.Length
		require.LessOrEqual(t, end, len(record), "%q", record)
		pieces = append(pieces, piece.Field+"="+record[piece.Offset:end])
	}
	return strings.Join(pieces, "|")
}
