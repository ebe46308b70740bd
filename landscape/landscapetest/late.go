package landscapetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// lateRefusals plays a run in which targets refuse rows, and tampers with what they refused.
func lateRefusals(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "late", Chunks: 2, ChunkRows: 40, Late: func(sink string, row int64) bool { return row%4 == 0 || row%7 == 0 || sink == "rejects" }}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	p := s.Passage(0)
	require.NoError(t, log.RecordPassage(t.Context(), p))
	key := landscape.EffectKey{Run: s.Run, Sink: "review", Source: Source}
	e, err := log.BeginEffect(t.Context(), key, landscape.Placement{}, "w1")
	require.NoError(t, err)
	refused := s.LateOf(0, p, "review")
	require.Greater(t, len(refused), 2)

	t.Run("what the sink does not get is refused", func(t *testing.T) {
		for want, tamper := range map[string]func(r []landscape.Rejection) []landscape.Rejection{
			"but the sink was not given this row": func(r []landscape.Rejection) []landscape.Rejection { r[0].Index = 0; return r },
			"or it is listed twice":               func(r []landscape.Rejection) []landscape.Rejection { return append(r, r[0]) },
			"lane 1: refused by the target":       func(r []landscape.Rejection) []landscape.Rejection { r[0].Lane = 1; return r },
			"is refused without a code":           func(r []landscape.Rejection) []landscape.Rejection { r[0].Code = ""; return r },
		} {
			tampered := tamper(slices.Clone(refused))
			require.ErrorContains(t, log.FinalizeEffect(t.Context(), e.Attempt("w1"), `{}`, tampered...), want)
			require.Equal(t, e, stored[landscape.Effect](t, d, s.Run, "review", Source)[0])
		}
	})
	t.Run("they are recorded with the end of the write", func(t *testing.T) {
		require.ErrorIs(t, log.FinalizeEffect(t.Context(), attempt(key, e.Fence+1, "w2"), `{}`, refused...), landscape.ErrFenced)
		require.NoError(t, log.FinalizeEffect(t.Context(), e.Attempt("w1"), `{"n":1}`, refused...))
		ended := stored[landscape.Effect](t, d, s.Run, "review", Source)[0]
		require.EqualValues(t, len(refused), ended.Refused)
		for _, r := range refused {
			token := tokens(int64(r.Index) + 1)[0]
			way, err := log.WayOf(t.Context(), s.Run, token)
			require.NoError(t, err)
			why, err := log.LateRowError(t.Context(), s.Run, token, way)
			require.NoError(t, err)
			require.Equal(t, []string{"review", r.Code, r.Field, r.Message, pipeline.QuarantineSink}, []string{why.Node, why.Code, why.Field, why.Message, why.SentTo})
			require.Equal(t, []any{r.Raw, r.Bytes, r.Line, r.Offset}, []any{why.Raw, why.RawBytes, why.Line, why.ByteOffset})
		}
	})
	t.Run("a repeat changes nothing", func(t *testing.T) {
		before := snapshot(t, d)
		slices.Reverse(refused)
		require.NoError(t, log.FinalizeEffect(t.Context(), e.Attempt("w1"), `{"n":1}`, refused...))
		var diverged *landscape.DivergedError
		for column, other := range map[string][]landscape.Rejection{"refused": refused[1:], "message": slices.Clone(refused)} {
			if column == "message" {
				other[0].Message = "another"
			}
			require.ErrorAs(t, log.FinalizeEffect(t.Context(), e.Attempt("w1"), `{"n":1}`, other...), &diverged)
			require.Equal(t, column, diverged.Column)
		}
		require.ErrorAs(t, log.FinalizeEffect(t.Context(), e.Attempt("w1"), `{"n":1}`), &diverged)
		require.Equal(t, before, snapshot(t, d))
	})
	t.Run("the passage is what it was", func(t *testing.T) {
		require.NoError(t, log.RecordPassage(t.Context(), p))
		differences, err := log.ComparePassage(t.Context(), p, nil)
		require.NoError(t, err)
		require.Empty(t, differences)
	})
	t.Run("the run balances", func(t *testing.T) {
		s := s
		s.Run = "late to the end"
		require.NoError(t, s.Play(t.Context(), log))
		require.NoError(t, s.Play(t.Context(), log), "a repeat")
		findings, err := log.Sweep(t.Context(), s.Run, true)
		require.NoError(t, err)
		require.Nil(t, findings)
		sum, err := log.Summary(t.Context(), s.Run)
		require.NoError(t, err)
		require.Equal(t, pipeline.CompletedWithFailures, sum.Run.Status)
		for i := range s.Chunks {
			differences, err := log.ComparePassage(t.Context(), s.Passage(i), nil)
			require.NoError(t, err)
			require.Empty(t, differences, "some of the rows in rejects were refused twice")
		}
		for _, sink := range sum.Sinks {
			require.Equal(t, sink.Planned, sink.Finalized+sink.Refused)
			require.Positive(t, sink.Refused)
		}
		require.Zero(t, sum.Sinks[2].Finalized, "the target of rejects refused everything")
	})
	t.Run("a person cannot say what a ledger knows", func(t *testing.T) {
		require.NoError(t, log.RecordChunk(t.Context(), chunkOf(s, 1), recordsOf(s, 1)))
		require.NoError(t, log.RecordPassage(t.Context(), s.Passage(1)))
		key.Chunk = 1
		e, err := log.BeginEffect(t.Context(), key, landscape.Placement{Ordinal: 1}, "w1")
		require.NoError(t, err)
		require.NoError(t, log.ReconcileEffect(t.Context(), e.Attempt("w1"), plugin.Unknown))
		require.ErrorContains(t, log.Resolve(t.Context(), key, true, "ann", ""), "keeps a ledger")
		require.NoError(t, log.Resolve(t.Context(), key, false, "ann", ""))
		require.Equal(t, landscape.InFlight, stored[landscape.Effect](t, d, s.Run, "review", Source, int64(1))[0].State)
	})
}
