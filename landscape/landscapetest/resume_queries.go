package landscapetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// resumeQueries asks what a resumption asks.
func resumeQueries(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	s := GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6}
	require.NoError(t, s.Play(ctx, log))

	t.Run("passages", func(t *testing.T) {
		for origin, passages := range map[string][]landscape.Passage{
			Orders: passagesOf(s.Passage, s.Chunks), "totals": passagesOf(s.TotalsPassage, s.Totals()), "ranked": {s.RankedPassage()}, "both": {s.BothPassage()},
		} {
			marks, err := log.PassageMarks(ctx, s.Run, origin)
			require.NoError(t, err)
			want := make([]landscape.PassageMark, len(passages))
			for i, p := range passages {
				want[i] = markOf(t, log, p)
			}
			require.Equal(t, want, marks, origin)
		}
	})
	t.Run("passages out of order", func(t *testing.T) {
		s := Scene{Run: "gaps", Chunks: 5, ChunkRows: 10}
		log := begun(t, d, s)
		require.NoError(t, s.Read(ctx, log))
		marks, err := log.PassageMarks(ctx, s.Run, Source)
		require.NoError(t, err)
		require.Empty(t, marks)
		for _, i := range []int{3, 0, 4} {
			require.NoError(t, log.RecordPassage(ctx, s.Passage(i)))
		}
		marks, err = log.PassageMarks(ctx, s.Run, Source)
		require.NoError(t, err)
		require.Equal(t, []landscape.PassageMark{
			{Chunk: 0, Rows: 10, Refused: 5}, {Chunk: 3, Rows: 10, Refused: 5}, {Chunk: 4, Rows: 10, Refused: 5},
		}, marks)
	})
	t.Run("passages of a run that is not there", func(t *testing.T) {
		_, err := log.PassageMarks(ctx, "nobody", Source)
		require.ErrorIs(t, err, landscape.ErrNotFound)
	})
	t.Run("turns and deadlines of folds", func(t *testing.T) { foldMoments(t, d) })
	t.Run("chunks of sinks", func(t *testing.T) { sinkChunks(t, d) })
}

func passagesOf(passage func(int) landscape.Passage, n int) (all []landscape.Passage) {
	for i := range n {
		all = append(all, passage(i))
	}
	return all
}

// markOf counts what a passage says.
func markOf(t *testing.T, log *landscape.Log, p landscape.Passage) landscape.PassageMark {
	t.Helper()
	mark := landscape.PassageMark{Chunk: p.Chunk, Rows: int64(len(p.Lanes[0].Codes))}
	for _, routes := range p.Lanes {
		for _, code := range routes.Codes {
			if code == landscape.NoToken {
				continue
			}
			way := routes.Ways[code]
			if way.Path.Outcome() == pipeline.Failure {
				mark.Refused++
			}
			if way.Path == pipeline.Buffered && !slices.Contains(mark.Barriers, way.Last()) {
				mark.Barriers = append(mark.Barriers, way.Last())
			}
		}
	}
	nodes, err := log.Nodes(t.Context(), p.Run)
	require.NoError(t, err)
	seq := func(name string) int64 {
		return nodes[slices.IndexFunc(nodes, func(n landscape.Node) bool { return n.Node == name })].Seq
	}
	slices.SortFunc(mark.Barriers, func(a, b string) int { return int(seq(a) - seq(b)) })
	return mark
}

// foldMoments records folds with turns and deadlines.
func foldMoments(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := GraphScene{Run: "moments", Chunks: 2, ChunkRows: 6}
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(ctx, log))
	chunk, records := s.Chunk(0)
	require.NoError(t, log.RecordChunk(ctx, chunk, records))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
	fold := s.TotalsFold(0)
	fold.Turn, fold.Deadline = 3, 77
	require.NoError(t, log.RecordFold(ctx, fold))
	fold.Turn, fold.Deadline = 5, 88
	require.NoError(t, log.RecordFold(ctx, fold), "a repeat has its own turn and deadline: those on record stay")
	found, err := log.Folds(ctx, s.Run, fold.Node)
	require.NoError(t, err)
	require.EqualValues(t, 3, found[0].Turn)
	require.EqualValues(t, 77, found[0].Deadline)
}

// sinkChunks asks how far the sinks are.
func sinkChunks(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "sinks", Chunks: 3, ChunkRows: 10}
	log := begun(t, d, s)
	counts := func() []landscape.SinkChunkCount {
		found, err := log.SinkChunks(ctx, s.Run)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, []landscape.SinkChunkCount{{Sink: "review"}, {Sink: "all"}, {Sink: "rejects"}}, counts())
	require.NoError(t, s.Read(ctx, log))
	for i := range s.Chunks {
		require.NoError(t, log.RecordPassage(ctx, s.Passage(i)))
	}
	require.NoError(t, s.Write(ctx, log, 0))
	_, err := log.BeginEffect(ctx, landscape.EffectKey{Run: s.Run, Sink: "all", Source: Source, Chunk: 2}, landscape.Placement{Ordinal: 1}, "w")
	require.NoError(t, err)
	require.Equal(t, []landscape.SinkChunkCount{
		{Sink: "review", Completed: 1, Missing: 2}, {Sink: "all", Completed: 1, Missing: 1, Unknown: 1}, {Sink: "rejects", Completed: 1, Missing: 2},
	}, counts())
}
