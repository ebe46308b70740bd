package landscape_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// watched is a driver that notes about what it was asked.
type watched struct {
	*blank.Driver
	tables []string
}

func (w *watched) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	w.tables = append(w.tables, kind.Table())
	return w.Driver.Read(ctx, kind, q, yield)
}

// since returns about what it was asked since the last call.
func (w *watched) since() []string {
	tables := w.tables
	w.tables = nil
	return tables
}

// noArchive is for records of which none are in an archive.
func noArchive(context.Context, landscape.Archive) (landscape.ArchivedRecords, error) {
	return nil, landscape.ErrNoBundle
}

// TestWhoRecordsAsksNothing holds that a process which takes a chunk all the way asks the record of nothing that it
// recorded itself: each question is a round trip to the database. The first chunk asks what is the same for all.
func TestWhoRecordsAsksNothing(t *testing.T) {
	d := &watched{Driver: blank.Lend(t)}
	s := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 10, Way: func(row int64) int { return int(row) % 4 }}
	log := landscape.New(d, nil).Opening(noArchive)
	require.NoError(t, s.Begin(t.Context(), log))
	in := log.InEpoch(s.Run, 0)
	require.NoError(t, s.Read(t.Context(), in))
	take := func(i int) {
		_, records := s.Chunk(i)
		_, err := in.RecordSealed(t.Context(), s.Passage(i), records)
		require.NoError(t, err)
		require.NoError(t, s.Write(t.Context(), in, i))
	}
	take(0)
	d.since()
	take(1)
	require.Empty(t, d.since())
}

// TestWhatOthersDoIsSeen holds that who knows an effect as it was finds out what became of it.
func TestWhatOthersDoIsSeen(t *testing.T) {
	d := blank.Lend(t)
	s := landscapetest.Scene{Run: "r1", Chunks: 2, ChunkRows: 10, Way: func(int64) int { return 0 }}
	mine, others := landscape.New(d, nil), landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), mine))
	require.NoError(t, s.Read(t.Context(), mine))
	require.NoError(t, mine.RecordPassage(t.Context(), s.Passage(0)))
	key := landscape.EffectKey{Run: s.Run, Sink: "review", Source: landscapetest.Source}

	began, err := others.BeginEffect(t.Context(), key, landscape.Placement{}, "other")
	require.NoError(t, err)
	require.EqualValues(t, 1, began.Fence)
	mineBegan, err := mine.BeginEffect(t.Context(), key, landscape.Placement{}, "me")
	require.NoError(t, err)
	require.EqualValues(t, 2, mineBegan.Fence, "the other's attempt counts, although I knew of none")
	require.ErrorIs(t, others.FinalizeEffect(t.Context(), began.Attempt("other"), `{}`), landscape.ErrFenced)
	again, err := others.BeginEffect(t.Context(), key, landscape.Placement{}, "other")
	require.NoError(t, err)
	require.ErrorIs(t, mine.FinalizeEffect(t.Context(), mineBegan.Attempt("me"), `{}`), landscape.ErrFenced)
	require.NoError(t, mine.RecordPassage(t.Context(), s.Passage(0)), "a repeat, after which I know it as prepared")
	require.NoError(t, others.FinalizeEffect(t.Context(), again.Attempt("other"), `{}`))
	done, err := mine.BeginEffect(t.Context(), key, landscape.Placement{}, "me")
	require.NoError(t, err)
	require.Equal(t, landscape.Finalized, done.State)

	require.NoError(t, others.RecordPassage(t.Context(), s.Passage(1)))
	require.NoError(t, mine.RecordPassage(t.Context(), s.Passage(1)), "with ways that others recorded")
	key.Chunk = 1
	last, err := mine.BeginEffect(t.Context(), key, landscape.Placement{Ordinal: 1}, "me")
	require.NoError(t, err)
	require.NoError(t, mine.RecordPassage(t.Context(), s.Passage(1)), "a repeat, after which I know it as prepared")
	require.NoError(t, mine.FinalizeEffect(t.Context(), last.Attempt("me"), `{}`))
}

// TestAStretchIsReadAtOnce holds that what passes over chunks that follow each other begin with is read once for all of
// them, and is what is recorded of each.
func TestAStretchIsReadAtOnce(t *testing.T) {
	d := &watched{Driver: blank.Lend(t)}
	s := landscapetest.Scene{Run: "r1", Chunks: 4, ChunkRows: 10, Way: func(int64) int { return 0 }}
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), log))
	require.NoError(t, s.Read(t.Context(), log))
	type found struct {
		chunk     landscape.Chunk
		lines     []uint32
		forgotten []landscape.Forgotten
	}
	look := func(log *landscape.Log, chunk int64) (f found) {
		at := landscape.ChunkKey{Source: landscapetest.Source, Chunk: chunk}
		var err error
		f.chunk, err = log.Chunk(t.Context(), s.Run, at)
		require.NoError(t, err)
		f.lines, err = log.Lines(t.Context(), s.Run, at)
		require.NoError(t, err)
		f.forgotten, err = log.Forgotten(t.Context(), s.Run, at)
		require.NoError(t, err)
		return f
	}
	stretch := log.Stretch(s.Run, landscapetest.Source, 1, 2)
	for chunk, asks := range []int{3, 3, 0, 3} { // the first and the last are not of the stretch
		d.since()
		got := look(stretch, int64(chunk))
		require.Len(t, d.since(), asks, "chunk %d", chunk)
		require.Equal(t, look(log, int64(chunk)), got)
		records, err := log.Records(t.Context(), s.Run, got.chunk.Key())
		require.NoError(t, err)
		require.Equal(t, records.Lines, got.lines)
	}
}
