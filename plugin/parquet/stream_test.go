package parquet

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"
)

// TestStream holds that a stream gives back what was written, and starts a new row group when the present one is large by rows or by bytes.
func TestStream(t *testing.T) {
	columns := []StreamColumn{{"z", Ints}, {"text", Texts}, {"a", Bytes}}
	for name, c := range map[string]struct {
		rows   int
		text   string
		groups int
	}{
		"many rows":  {groupRows + 1, "short", 2},
		"long texts": {33, string(bytes.Repeat([]byte("x"), groupBytes/32)), 2},
		"none":       {0, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := NewStream(&out, columns)
			for i := range c.rows {
				require.NoError(t, s.Append([]any{int64(i), c.text, nil}))
			}
			require.NoError(t, s.Close())
			file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
			require.NoError(t, err)
			require.Len(t, file.RowGroups(), c.groups)
			require.EqualValues(t, c.rows, file.NumRows())
			require.Equal(t, [][]string{{"z"}, {"text"}, {"a"}}, file.Schema().Columns(), "in the order in which they were given")
			reader := parquet.NewReader(file)
			defer reader.Close()
			row := make([]parquet.Row, 1)
			for i := range c.rows {
				n, err := reader.ReadRows(row)
				require.True(t, n == 1 && (err == nil || err == io.EOF), err)
				require.EqualValues(t, i, row[0][0].Int64())
				require.True(t, c.text == string(row[0][1].ByteArray()), "the text of row %d", i)
				require.True(t, row[0][2].IsNull())
			}
		})
	}
}

// TestStreamRefuses holds that a value of no known type is named.
func TestStreamRefuses(t *testing.T) {
	s := NewStream(io.Discard, []StreamColumn{{"a", Ints}})
	require.ErrorContains(t, s.Append([]any{1.5}), fmt.Sprintf("a %T cannot be written", 1.5))
}
