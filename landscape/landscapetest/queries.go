package landscapetest

import (
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

func queries(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "0190-query", Chunks: 3, ChunkRows: 25}
	log := landscape.New(d, nil)
	require.NoError(t, s.Play(ctx, log))
	begun(t, d, Scene{Run: "0190-other"})
	rows := int64(s.Chunks * s.ChunkRows)

	t.Run("Run", func(t *testing.T) {
		run, err := log.FindRun(ctx, "0190-q")
		require.NoError(t, err)
		require.Equal(t, s.Run, run.ID)
		require.Equal(t, pipeline.CompletedWithFailures, run.Status)
		same, err := log.Run(ctx, s.Run)
		require.NoError(t, err)
		require.Equal(t, run, same)
		_, err = log.FindRun(ctx, "0190")
		require.ErrorContains(t, err, "0190-other, 0190-query")
		for _, none := range []string{"", "x", "0190-query-"} {
			_, err = log.FindRun(ctx, none)
			require.ErrorIs(t, err, landscape.ErrNotFound)
		}
		_, err = log.Run(ctx, "0190-q")
		require.ErrorIs(t, err, landscape.ErrNotFound, "another run, whose id begins like this one's")
	})
	t.Run("every row", func(t *testing.T) {
		for row := int64(1); row <= rows; row++ {
			checkRow(t, log, s, row)
		}
	})
	t.Run("rows that are not there", func(t *testing.T) {
		for _, row := range []int64{-1, 0, rows + 1} {
			_, err := log.WayOf(ctx, s.Run, tokens(row)[0])
			require.ErrorIs(t, err, landscape.ErrNotFound)
		}
		_, err := log.SinkLine(ctx, s.Run, "review", 0)
		require.ErrorIs(t, err, landscape.ErrNotFound)
		_, err = log.SinkLine(ctx, s.Run, "review", rows)
		require.ErrorIs(t, err, landscape.ErrNotFound)
	})
	t.Run("lines of a sink are its rows in order", func(t *testing.T) {
		line := int64(0)
		for row := int64(1); row <= rows; row++ {
			if Ways()[s.way(row)].Sink != "review" {
				continue
			}
			line++
			got, err := log.SinkLine(ctx, s.Run, "review", line)
			require.NoError(t, err)
			require.Equal(t, tokens(row)[0], got)
		}
	})
	t.Run("Summary", func(t *testing.T) { checkSummary(t, log, s) })
	t.Run("KeyCandidates", func(t *testing.T) {
		found, unkeyed, err := log.KeyCandidates(ctx, s.Run, Source, map[string][][4]byte{"airport": {{1}, s.Key(42)}})
		require.NoError(t, err)
		require.Equal(t, []int64{42}, found)
		require.Empty(t, unkeyed)
		_, _, err = log.KeyCandidates(ctx, s.Run, Source, map[string][][4]byte{"date": {{}}})
		require.ErrorIs(t, err, landscape.ErrNotFound)
	})
	t.Run("ErrorGroups", func(t *testing.T) {
		groups, err := log.ErrorGroups(ctx, s.Run)
		require.NoError(t, err)
		require.Len(t, groups, 5)
		var total int64
		for _, g := range groups {
			require.Equal(t, `"…" is no int`, g.Message)
			require.LessOrEqual(t, len(g.Samples), 3)
			total += g.Count
		}
		require.GreaterOrEqual(t, groups[0].Count, groups[4].Count)
		require.EqualValues(t, 36, total)
	})
	t.Run("Records", func(t *testing.T) {
		for i := range s.Chunks {
			_, want := s.Chunk(i)
			got, err := log.Records(ctx, s.Run, landscape.ChunkKey{Source: Source, Chunk: int64(i)})
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
}

// checkRow compares what the queries say about one row with the scene.
func checkRow(t *testing.T, log *landscape.Log, s Scene, row int64) {
	t.Helper()
	ctx, want := t.Context(), Ways()[s.way(row)]
	way, err := log.WayOf(ctx, s.Run, tokens(row)[0])
	require.NoError(t, err)
	require.Equal(t, want, way)
	chunk, err := log.ChunkOf(ctx, s.Run, Source, row)
	require.NoError(t, err)
	require.Equal(t, (row-1)/int64(s.ChunkRows), chunk.Chunk)

	reasons, err := log.ErrorsOf(ctx, s.Run, tokens(row)[0])
	require.NoError(t, err)
	if want.Path.Outcome() == pipeline.Failure {
		require.Len(t, reasons, 1)
		require.Equal(t, [2]string{want.Last(), want.Sink}, [2]string{reasons[0].Node, reasons[0].SentTo})
		require.Equal(t, row%3 != 0, reasons[0].RawIsText)
		text := strings.Join([]string{want.Last(), "CONVERT", "cost", reasons[0].Message}, "|")
		sum := sha256.Sum256([]byte(text))
		require.Equal(t, digestOf(sum[:]), reasons[0].ErrorHash)
	} else {
		require.Nil(t, reasons)
	}
	checkHashes(t, log, s, row, want)

	sink, line, err := log.SinkPosition(ctx, s.Run, tokens(row)[0])
	if !want.ToSink() {
		require.ErrorIs(t, err, landscape.ErrNotFound)
		return
	}
	require.NoError(t, err)
	back, err := log.SinkLine(ctx, s.Run, sink, line)
	require.NoError(t, err)
	require.Equal(t, tokens(row)[0], back)
}

func checkHashes(t *testing.T, log *landscape.Log, s Scene, row int64, way landscape.Way) {
	t.Helper()
	last := ""
	for _, node := range []string{"strikes", "score", "keep", "triage", "tidy"} {
		hash, ok, err := log.HashAt(t.Context(), s.Run, tokens(row)[0], node)
		require.NoError(t, err)
		require.Equal(t, left(way, node), ok, "%s at %s", way.Signature(), node)
		if !ok {
			continue
		}
		if node != "keep" && node != "triage" {
			last = node
		}
		require.Equal(t, s.Hash(last, row), hash)
	}
	if way.ToSink() {
		hash, ok, err := log.HashAt(t.Context(), s.Run, tokens(row)[0], way.Sink)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, s.Hash(last, row), hash)
	}
}

func checkSummary(t *testing.T, log *landscape.Log, s Scene) {
	t.Helper()
	sum, err := log.Summary(t.Context(), s.Run)
	require.NoError(t, err)
	sum.Run = landscape.RunHead{}
	require.Equal(t, landscape.Summary{
		Chunks: 3, Rows: 75, Bytes: 3000, Passed: 75, Tokens: 75, Succeeded: 39, Failed: 36, Quarantined: 22, Filtered: 8, Discarded: 15,
		Sinks: []landscape.SinkCount{
			{Sink: "review", Planned: 15, Finalized: 15, Bytes: 300, Published: true},
			{Sink: "all", Planned: 8, Finalized: 8, Bytes: 160, Published: true},
			{Sink: "rejects", Planned: 7, Finalized: 7, Bytes: 140, Published: true},
		},
		Nodes: []landscape.NodeCount{
			{Node: "strikes", Kind: landscape.SourceNode, In: 75, Out: 67, Diverted: 8},
			{Node: "score", Kind: landscape.StepNode, In: 67, Out: 60, Diverted: 7},
			{Node: "keep", Kind: landscape.StepNode, In: 60, Out: 45, Dropped: 8, Diverted: 7},
			{Node: "triage", Kind: landscape.StepNode, In: 45, Out: 30, Dropped: 8, Diverted: 7},
			{Node: "tidy", Kind: landscape.StepNode, In: 15, Out: 8, Diverted: 7},
			{Node: "review", Kind: landscape.SinkNode, In: 15, Out: 15},
			{Node: "all", Kind: landscape.SinkNode, In: 8, Out: 8},
			{Node: "rejects", Kind: landscape.SinkNode, In: 7, Out: 7},
		},
	}, sum)
	progress, err := log.Progress(t.Context(), s.Run)
	require.NoError(t, err)
	require.Equal(t, landscape.Progress{
		Status: pipeline.CompletedWithFailures, Chunks: 3, Rows: 75, Bytes: 3000, Ended: true, Passed: 75, Failed: 36, Planned: 30, Finalized: 30,
	}, progress)
}

// concurrency plays one run from several goroutines at once, and lets attempts at one effect race.
func concurrency(t *testing.T, d landscape.Driver) {
	const workers = 4
	ctx, s := t.Context(), Scene{Run: "race", Chunks: 3, ChunkRows: 40}
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(ctx, log))
	errs := make([]error, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() { errs[w] = race(t, s, log) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for i := range s.Chunks {
		require.NoError(t, s.Write(ctx, log, i))
	}
	require.NoError(t, s.Publish(ctx, log))
	require.NoError(t, log.FinishRun(ctx, s.Run, pipeline.CompletedWithFailures, ""))
	findings, err := log.Sweep(ctx, s.Run, true)
	require.NoError(t, err)
	require.Nil(t, findings)

	events, err := landscape.Select[landscape.RunEvent](ctx, log, s.Run)
	require.NoError(t, err)
	require.Len(t, events, workers)
	finalized := map[landscape.EffectKey]int{}
	all, err := log.EffectEvents(ctx, s.Run)
	require.NoError(t, err)
	for _, e := range all {
		if e.Event == landscape.EffectFinalized {
			finalized[e.EffectKey]++
		}
	}
	for key, n := range finalized {
		require.Equal(t, 1, n, "%s was finalized %d times", key, n)
	}
}

// race is what one worker does; that another came first is no error.
func race(t *testing.T, s Scene, log *landscape.Log) error {
	ctx := t.Context()
	if err := errors.Join(s.Read(ctx, log), log.RecordEvent(ctx, s.Run, "worker", "")); err != nil {
		return err
	}
	for i := range s.Chunks {
		if err := log.RecordPassage(ctx, s.Passage(i)); err != nil {
			return err
		}
		if err := s.Write(ctx, log, i); err != nil && !errors.Is(err, landscape.ErrFenced) {
			return err
		}
	}
	return nil
}
