package landscapetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

func logs(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	id, err := log.ID(ctx)
	require.NoError(t, err)
	require.Regexp(t, `^[0-9a-f]{16}$`, id)

	t.Run("everything twice is everything once", func(t *testing.T) {
		s := Scene{Run: "twice", Chunks: 2, ChunkRows: 50}
		require.NoError(t, s.Play(ctx, log))
		before := snapshot(t, d)
		require.NoError(t, s.Play(ctx, log))
		require.Equal(t, before, snapshot(t, d))
	})
	t.Run("a run that began is not another", func(t *testing.T) {
		s := Scene{Run: "begun"}
		run, graph := s.Graph()
		require.NoError(t, log.BeginRun(ctx, run, graph))
		run.PlanSHA256 = digest("another plan")
		var diverged *landscape.DivergedError
		require.ErrorAs(t, log.BeginRun(ctx, run, graph), &diverged)
		require.Equal(t, "plan_sha256", diverged.Column)
	})
	t.Run("the caller's numbering of ways does not matter", func(t *testing.T) {
		s := Scene{Run: "numbering", Chunks: 1, ChunkRows: 20}
		log := begun(t, d, s)
		require.NoError(t, s.Read(ctx, log))
		require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
		require.NoError(t, log.RecordPassage(ctx, turned(s.Passage(0))))
	})
	t.Run("more ways than one byte counts", func(t *testing.T) { manyWays(t, d) })
	t.Run("of a long record the beginning is kept", func(t *testing.T) {
		s := Scene{Run: "long", Chunks: 1, ChunkRows: 1, Way: func(int64) int { return 5 }}
		log := begun(t, d, s)
		require.NoError(t, s.Read(ctx, log))
		p := s.Passage(0)
		p.Errors[0].Raw = bytes.Repeat([]byte("x"), landscape.MaxRawBytes+1)
		p.Errors[0].Bytes = landscape.MaxRawBytes + 1
		require.NoError(t, log.RecordPassage(ctx, p))
		reasons, err := log.ErrorsOf(ctx, s.Run, tokens(1)[0])
		require.NoError(t, err)
		require.Len(t, reasons[0].Raw, landscape.MaxRawBytes)
		require.EqualValues(t, landscape.MaxRawBytes+1, reasons[0].RawBytes)
	})
	t.Run("a passage that does not account for every row is refused", func(t *testing.T) { refusedPassages(t, d) })
	t.Run("a chunk whose payload was not stored is refused", func(t *testing.T) {
		chunk, records := Scene{Run: "twice", Chunks: 9, ChunkRows: 5}.Chunk(5)
		chunk.Pack = ""
		require.ErrorContains(t, log.RecordChunk(ctx, chunk, records), "no payload")
	})
	t.Run("an empty source", func(t *testing.T) {
		s := Scene{Run: "empty"}
		require.NoError(t, s.Play(ctx, log))
		require.Equal(t, pipeline.Empty, stored[landscape.RunHead](t, d, "empty")[0].Status)
	})
	t.Run("status", func(t *testing.T) { statuses(t, d) })
	t.Run("actions and events count up", func(t *testing.T) {
		for range 2 {
			require.NoError(t, log.RecordAction(ctx, "begun", "cancel", "ann", "wrong file"))
			require.NoError(t, log.RecordEvent(ctx, "begun", "worker_lost", "w1"))
			require.NoError(t, log.RecordLogged(ctx, "begun", []landscape.RunEvent{{Event: landscape.LoggedError, Detail: "w1: away", At: 1}}), "once")
		}
		actions, err := log.Actions(ctx, "begun")
		require.NoError(t, err)
		require.Equal(t, []int64{0, 1}, []int64{actions[0].Seq, actions[1].Seq})
		events, err := landscape.Select[landscape.RunEvent](ctx, log, "begun")
		require.NoError(t, err)
		require.Len(t, events, 3)
		require.ErrorIs(t, log.RecordLogged(ctx, "none", nil), landscape.ErrNotFound)
	})
	t.Run("times are microseconds in UTC, rounded down", func(t *testing.T) {
		at := time.Date(2024, 2, 29, 23, 59, 59, 1_999, time.FixedZone("", 3600))
		log := landscape.New(d, func() time.Time { return at })
		require.NoError(t, log.RecordHeal(ctx, digest("healed"), "short", "quarantine/x"))
		heals, err := log.Heals(ctx)
		require.NoError(t, err)
		require.Equal(t, time.Date(2024, 2, 29, 22, 59, 59, 1_000, time.UTC), heals[0].At.Time())
	})
}

// turned is the same passage with the ways in the opposite order.
func turned(p landscape.Passage) landscape.Passage {
	routes := &p.Lanes[0]
	slices.Reverse(routes.Ways)
	for i, code := range routes.Codes {
		routes.Codes[i] = uint16(len(routes.Ways)) - 1 - code
	}
	return p
}

// manyWays records a chunk in which every row is discarded under a label of its own.
func manyWays(t *testing.T, d landscape.Driver) {
	const rows = 300
	s := Scene{Run: "labels", Chunks: 1, ChunkRows: rows, Way: func(int64) int { return 4 }}
	run, graph := s.Graph()
	log := landscape.New(d, nil)
	p := s.Passage(0)
	routes := &p.Lanes[0]
	discarded := routes.Ways[0]
	routes.Ways = nil
	for i := range rows {
		label := fmt.Sprint("label ", i)
		graph.Edges = append(graph.Edges, edge("triage", landscape.RouteEdge, label, pipeline.Discard))
		way := discarded
		way.Steps = slices.Clone(discarded.Steps)
		way.Steps[3].Label = label
		routes.Ways, routes.Codes[i] = append(routes.Ways, way), uint16(i)
	}
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
	require.NoError(t, s.Read(t.Context(), log))
	require.NoError(t, log.RecordPassage(t.Context(), p))
	for _, row := range []int64{1, 256, 257, rows} {
		way, err := log.WayOf(t.Context(), s.Run, tokens(row)[0])
		require.NoError(t, err)
		require.Equal(t, routes.Ways[row-1], way)
	}
	require.NoError(t, s.Publish(t.Context(), log))
	findings, err := log.Sweep(t.Context(), s.Run, true)
	require.NoError(t, err)
	require.Nil(t, findings)
}

func refusedPassages(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "refused", Chunks: 1, ChunkRows: 30}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	for want, tamper := range map[string]func(p *landscape.Passage){
		"the chunk has 30 rows, the passage 29":    func(p *landscape.Passage) { p.Lanes[0].Codes = p.Lanes[0].Codes[1:] },
		"there is no way 77":                       func(p *landscape.Passage) { p.Lanes[0].Codes[3] = 77 },
		"11 ways, but rows on 10 of them":          func(p *landscape.Passage) { p.Lanes[0].Ways = append(p.Lanes[0].Ways, p.Lanes[0].Ways[0]) },
		"is there twice":                           func(p *landscape.Passage) { p.Lanes[0].Ways[0] = p.Lanes[0].Ways[1] },
		"does not begin with strikes":              func(p *landscape.Passage) { p.Lanes[0].Ways[0].Steps = p.Lanes[0].Ways[0].Steps[1:] },
		`cannot end at sink ""`:                    func(p *landscape.Passage) { p.Lanes[0].Ways[0].Sink = "" },
		`cannot end at sink "review"`:              func(p *landscape.Passage) { p.Lanes[0].Ways[2].Sink = "review" },
		"errors, but":                              func(p *landscape.Passage) { p.Errors = p.Errors[:len(p.Errors)-1] },
		"although it was not refused, or has more": func(p *landscape.Passage) { p.Errors = append(p.Errors, p.Errors[0]) },
		"the lane is there twice":                  func(p *landscape.Passage) { p.Lanes = append(p.Lanes, p.Lanes[0]) },
		"the chunk has 30 rows, the passage 0":     func(p *landscape.Passage) { p.Lanes = nil },
		"lane 1 of source strikes":                 func(p *landscape.Passage) { p.Lanes = append(p.Lanes, landscape.LaneRoutes{Lane: 1}) },
		"it is a way of lane 1, not 0":             func(p *landscape.Passage) { p.Lanes[0].Ways[0].Lane = 1 },
		"has no label there":                       func(p *landscape.Passage) { p.Lanes[0].Ways[4].Steps[0].Label = "x" },
		"two writes to sink":                       func(p *landscape.Passage) { p.Writes[0] = p.Writes[1] },
		"which gets no row":                        func(p *landscape.Passage) { p.Writes[0].Sink = "nowhere" },
		"3 sinks get rows, 2 writes":               func(p *landscape.Passage) { p.Writes = p.Writes[1:] },
		"hashes of node strikes: 32 bytes for":     func(p *landscape.Passage) { p.Hashes[0].Hashes = make([]byte, 32) },
		"key airport: 4 bytes for 30 rows":         func(p *landscape.Passage) { p.Keys[0].Hashes = make([]byte, 4) },
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			p := s.Passage(0)
			tamper(&p)
			require.ErrorContains(t, log.RecordPassage(t.Context(), p), want)
			require.Empty(t, stored[landscape.PassageRecord](t, d, "refused"))
		})
	}
}

func statuses(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "status", Chunks: 1, ChunkRows: 4, Way: func(int64) int { return 0 }}
	log := begun(t, d, s)
	status := func() landscape.RunHead { return stored[landscape.RunHead](t, d, "status")[0] }

	require.NoError(t, log.StopRun(ctx, "status", pipeline.Failed, "disk full"))
	require.NoError(t, log.StopRun(ctx, "status", pipeline.Failed, "again"), "a repeat")
	require.Equal(t, "disk full", status().Reason)
	require.NotZero(t, status().Finished)
	require.ErrorContains(t, log.StopRun(ctx, "status", pipeline.Interrupted, ""), "failed and cannot become interrupted")
	require.NoError(t, log.Resume(ctx, resumptionOf("status", 1)))
	require.Zero(t, status().Finished)
	require.NoError(t, log.StopRun(ctx, "status", pipeline.Interrupted, "SIGTERM"))
	require.NoError(t, log.Resume(ctx, resumptionOf("status", 2)))

	require.NoError(t, s.PlayToEnd(ctx, log))
	require.ErrorContains(t, log.FinishRun(ctx, "status", pipeline.Empty, ""), "its rows make it completed")
	require.NoError(t, log.FinishRun(ctx, "status", pipeline.Completed, "done"))
	require.ErrorContains(t, log.Resume(ctx, resumptionOf("status", 3)), "is completed and cannot be resumed")
	require.ErrorIs(t, log.StopRun(ctx, "nobody", pipeline.Failed, ""), landscape.ErrNotFound)
	require.ErrorIs(t, log.FinishRun(ctx, "nobody", pipeline.Completed, ""), landscape.ErrNotFound)
}

// snapshot returns every record that d holds.
func snapshot(t *testing.T, d landscape.Driver) map[string][]landscape.Record {
	t.Helper()
	all := map[string][]landscape.Record{}
	for _, table := range landscape.Tables() {
		require.NoError(t, d.Read(t.Context(), table.Zero(), landscape.Query{}, func(r landscape.Record) bool {
			all[table.Name] = append(all[table.Name], r)
			return true
		}))
	}
	return all
}

func effects(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "e", Chunks: 2, ChunkRows: 10, Way: func(int64) int { return 0 }}
	log := begun(t, d, s)
	require.NoError(t, s.Read(ctx, log))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
	key := landscape.EffectKey{Run: "e", Sink: "review", Source: Source, Chunk: 0}
	at := landscape.Placement{Ordinal: 0, Offset: 17}
	events := func() (words []landscape.EffectWord) {
		all, err := log.EffectEvents(ctx, "e")
		require.NoError(t, err)
		for _, e := range all {
			words = append(words, e.Event)
		}
		return words
	}

	first, err := log.BeginEffect(ctx, key, at, "w1")
	require.NoError(t, err)
	require.Equal(t, landscape.InFlight, first.State)
	require.EqualValues(t, 1, first.Fence)
	require.EqualValues(t, 17, *first.Offset)
	require.NoError(t, log.FailEffect(ctx, attempt(key, 1, "w1"), "timeout"))
	second, err := log.BeginEffect(ctx, key, at, "w2")
	require.NoError(t, err)
	require.EqualValues(t, 2, second.Fence)

	t.Run("an effect has one place", func(t *testing.T) {
		var diverged *landscape.DivergedError
		_, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 0, Offset: 18}, "w2")
		require.ErrorAs(t, err, &diverged)
		_, err = log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 1, Offset: 17}, "w2")
		require.ErrorAs(t, err, &diverged)
	})
	t.Run("a zombie is fenced", func(t *testing.T) {
		require.ErrorIs(t, log.FinalizeEffect(ctx, attempt(key, 1, "w1"), `{}`), landscape.ErrFenced)
		require.ErrorIs(t, log.FailEffect(ctx, attempt(key, 1, "w1"), ""), landscape.ErrFenced)
		require.ErrorIs(t, log.ReconcileEffect(ctx, attempt(key, 1, "w1"), plugin.Unknown), landscape.ErrFenced)
		require.ErrorIs(t, log.FinalizeEffect(ctx, attempt(key, 3, "w1"), `{}`), landscape.ErrFenced)
		require.Contains(t, events(), landscape.EffectFenced)
		require.Equal(t, second, stored[landscape.Effect](t, d, "e", "review", Source)[0])
	})
	t.Run("publication waits for the writes", func(t *testing.T) {
		require.ErrorContains(t, log.PreparePublish(ctx, "e", "review", 10, 99), "in_flight")
	})
	t.Run("finalized is final", func(t *testing.T) {
		require.NoError(t, log.ReconcileEffect(ctx, attempt(key, 2, "w2"), plugin.NotApplied))
		require.ErrorContains(t, log.FinalizeEffect(ctx, attempt(key, 2, "w2"), "no json"), "not JSON")
		require.NoError(t, log.FinalizeEffect(ctx, attempt(key, 2, "w2"), `{"n":1}`))
		require.NoError(t, log.FinalizeEffect(ctx, attempt(key, 2, "w2"), `{"n":1}`), "a repeat")
		require.Error(t, log.FinalizeEffect(ctx, attempt(key, 2, "w2"), `{"n":2}`))
		require.NoError(t, log.FailEffect(ctx, attempt(key, 2, "w2"), "late"))
		again, err := log.BeginEffect(ctx, key, at, "w3")
		require.NoError(t, err)
		require.Equal(t, landscape.Finalized, again.State)
		require.EqualValues(t, 2, again.Fence)
	})
	t.Run("unknown blocks", func(t *testing.T) {
		require.NoError(t, log.RecordPassage(ctx, s.Passage(1)))
		key := key
		key.Chunk = 1
		e, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 1}, "w1")
		require.NoError(t, err)
		require.NoError(t, log.ReconcileEffect(ctx, e.Attempt("w1"), plugin.Unknown))
		_, err = log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 1}, "w1")
		require.ErrorIs(t, err, landscape.ErrBlocked)
	})
	t.Run("publication", func(t *testing.T) { publications(t, d) })
	t.Run("a target refuses rows", func(t *testing.T) { lateRefusals(t, d) })
}

func publications(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "p", Chunks: 1, ChunkRows: 10, Way: func(int64) int { return 0 }}
	log := begun(t, d, s)
	key := landscape.PublishKey("p", "review")
	_, err := log.BeginEffect(ctx, key, landscape.Placement{}, "w")
	require.ErrorContains(t, err, "not prepared")
	require.NoError(t, s.Read(ctx, log))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
	require.NoError(t, s.Write(ctx, log, 0))
	require.ErrorContains(t, log.PreparePublish(ctx, "p", "review", 9, 99), "10 were written")
	require.NoError(t, log.PreparePublish(ctx, "p", "review", 10, 99))
	require.NoError(t, log.PreparePublish(ctx, "p", "review", 10, 99), "a repeat")
	require.Error(t, log.PreparePublish(ctx, "p", "review", 10, 98))
	e, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 5}, "w")
	require.NoError(t, err)
	require.Nil(t, e.Ordinal)
	require.Error(t, log.FinalizePublish(ctx, attempt(landscape.PublishKey("p", "review"), 1, "w"), artifact("review", 9, 99), "", ""), "other rows")
	require.Error(t, log.FinalizePublish(ctx, attempt(landscape.PublishKey("p", "review"), 1, "w"), artifact("review", 10, 98), "", ""), "bytes are missing")
	require.Empty(t, stored[landscape.ArtifactRecord](t, d, "p"))
	require.NoError(t, log.FinalizePublish(ctx, attempt(landscape.PublishKey("p", "review"), 1, "w"), artifact("review", 10, 120), "", ""), "a header adds bytes")
	require.NoError(t, log.FinalizePublish(ctx, attempt(landscape.PublishKey("p", "review"), 1, "w"), artifact("review", 10, 120), "", ""), "a repeat")
	artifacts, err := log.Artifacts(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, artifact("review", 10, 120), artifacts[0].Artifact())
}

func attempt(key landscape.EffectKey, fence int64, worker string) landscape.Attempt {
	return landscape.Attempt{EffectKey: key, Fence: fence, Worker: worker}
}
