package csv

import (
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin/file/filetest"
)

// TestReadsWhatOthersWrite reads random cells as encoding/csv writes them, with LF and CRLF between records.
func TestReadsWhatOthersWrite(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "é", " ", ",", `"`, "\n", "\r", "\r\n", "#", "'", "\t", "\x00", "😀"}
	keep := false
	for round := range 200 {
		var b strings.Builder
		w := csv.NewWriter(&b)
		require.NoError(t, w.Write([]string{"x", "y", "z"}))
		var want []string
		for range random.IntN(20) {
			cells := make([]string, 3)
			for i := range cells {
				for range random.IntN(5) {
					cells[i] += pieces[random.IntN(len(pieces))]
				}
			}
			require.NoError(t, w.Write(cells))
			want = append(want, strings.Join(cells, "|"))
		}
		w.Flush()
		text := b.String()
		if round%2 == 1 && !strings.Contains(text, "\r") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "\n", "\r\n")
			}
		}
		require.Equal(t, want, joinedCells(t, readCSV(t, text, pipeline.CSVSource{EmptyIsNull: &keep}, pipeline.Schema{})))
	}
}

// joinedCells returns the values of each row with | between them.
func joinedCells(t *testing.T, got filetest.Outcome) []string {
	require.Empty(t, got.Err, got.Message)
	require.Empty(t, got.Rejected)
	var rows []string
	for _, text := range got.Rows {
		var row struct{ X, Y, Z string }
		require.NoError(t, json.Unmarshal([]byte(text), &row))
		rows = append(rows, row.X+"|"+row.Y+"|"+row.Z)
	}
	return rows
}
