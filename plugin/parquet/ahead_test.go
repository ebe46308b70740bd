package parquet

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/plugin"
)

// TestLimitsMayChange reads chunks whose limits are not those with which they were read ahead.
func TestLimitsMayChange(t *testing.T) {
	source := written(t, fileWith(t, events(1000)), observed)
	whole := mustRead(t, source)
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	r, err := source.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var c plugin.Chunk
	var records []string
	for i := 0; ; i++ {
		before, rows := r.Cursor(), []int{1, 1, 70, 33}[i%4]
		if err := r.Next(t.Context(), plugin.Limits{Rows: rows, Bytes: 1 << 20}, &c); err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, c.Len(), rows)
		require.Equal(t, before.Row+1, c.FirstRow)
		require.Equal(t, before.Offset, c.FirstOffset)
		for k := range c.Len() {
			records = append(records, string(c.Record(k)))
		}
		require.Equal(t, int64(len(records)), r.Cursor().Row)
	}
	require.Equal(t, whole, records)
}

// TestNobodyWaitsForAReader ends the context of a call before the chunk is there: the call ends, and the reader can be closed.
func TestNobodyWaitsForAReader(t *testing.T) {
	source := written(t, fileWith(t, events(1000)), observed)
	pin, err := source.Stat(t.Context())
	require.NoError(t, err)
	r, err := source.Open(t.Context(), plugin.Cursor{}, pin)
	require.NoError(t, err)
	var c plugin.Chunk
	require.NoError(t, r.Next(t.Context(), plugin.Limits{Rows: 10, Bytes: 1 << 20}, &c))
	reading := r.(*reader)
	reading.drop()
	reading.ahead = &ahead{limits: plugin.Limits{Rows: 10, Bytes: 1 << 20}, done: make(chan struct{})}
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, r.Next(ended, plugin.Limits{Rows: 10, Bytes: 1 << 20}, &c), context.Canceled)
	close(reading.ahead.done)
	require.NoError(t, r.Close())
}
