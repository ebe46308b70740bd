package landscapetest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// flaw is a run that is not complete, and the check that must find it.
type flaw struct {
	check string
	deep  bool // only a deep sweep finds it
	play  func(ctx context.Context, s Scene, log *landscape.Log, d landscape.Driver) error
}

func sweeps(t *testing.T, d landscape.Driver) {
	log := landscape.New(d, nil)
	t.Run("nothing is wrong with a complete run", func(t *testing.T) {
		scene := Scene{Run: "whole", Chunks: 3, ChunkRows: 40}
		require.NoError(t, scene.PlayToEnd(t.Context(), log))
		for _, deep := range []bool{false, true} {
			findings, err := log.Sweep(t.Context(), scene.Run, deep)
			require.NoError(t, err)
			require.Nil(t, findings)
		}
		require.NoError(t, log.FinishRun(t.Context(), scene.Run, pipeline.CompletedWithFailures, ""))
	})
	for name, f := range flaws() {
		t.Run(name, func(t *testing.T) {
			scene := Scene{Run: name, Chunks: 2, ChunkRows: 30}
			require.NoError(t, f.play(t.Context(), scene, log, d))
			findings, err := log.Sweep(t.Context(), scene.Run, f.deep)
			require.NoError(t, err)
			requireFinding(t, f.check, findings)
			if !f.deep {
				refusesToFinish(t, log, d, scene.Run)
			}
		})
	}
	graphSweeps(t, d)
}

func requireFinding(t *testing.T, check string, findings []landscape.Finding) {
	t.Helper()
	require.True(t, slices.ContainsFunc(findings, func(found landscape.Finding) bool { return found.Check == check }),
		"want a finding of %s, got %v", check, findings)
}

// refusesToFinish checks that the run cannot be completed, and that nothing of the attempt is stored.
func refusesToFinish(t *testing.T, log *landscape.Log, d landscape.Driver, run string) {
	t.Helper()
	before := stored[landscape.RunHead](t, d, run)[0]
	status, err := log.Conclude(t.Context(), run)
	require.NoError(t, err)
	err = log.FinishRun(t.Context(), run, status, "")
	var imbalance *landscape.ImbalanceError
	require.ErrorAs(t, err, &imbalance)
	require.Equal(t, run, imbalance.Run)
	require.ErrorContains(t, err, run)
	require.Equal(t, before, stored[landscape.RunHead](t, d, run)[0])
}

// commit returns a flaw of a whole run in which these records were added.
func commit(records func(s Scene) []landscape.Record) func(context.Context, Scene, *landscape.Log, landscape.Driver) error {
	return func(ctx context.Context, s Scene, log *landscape.Log, d landscape.Driver) error {
		if err := s.PlayToEnd(ctx, log); err != nil {
			return err
		}
		return d.Commit(ctx, landscape.Tx{Insert: records(s)})
	}
}

// until returns a flaw of a run that was played so far only; tamper changes what is recorded for chunk 1.
func until(stop string, tamper func(p *landscape.Passage)) func(context.Context, Scene, *landscape.Log, landscape.Driver) error {
	return func(ctx context.Context, s Scene, log *landscape.Log, _ landscape.Driver) error {
		if err := s.Begin(ctx, log); err != nil || stop == "begin" {
			return err
		}
		if err := s.Read(ctx, log); err != nil {
			return err
		}
		for i := range s.Chunks {
			passage := s.Passage(i)
			if i == 1 && stop == "passage" {
				return nil
			}
			if i == 1 && tamper != nil {
				tamper(&passage)
			}
			if err := log.RecordPassage(ctx, passage); err != nil {
				return err
			}
			if i == 1 && stop == "write" {
				return nil
			}
			if err := s.Write(ctx, log, i); err != nil {
				return err
			}
		}
		if stop == "publish" {
			return nil
		}
		return s.Publish(ctx, log)
	}
}

func flaws() map[string]flaw {
	return map[string]flaw{
		"source not ended":    {check: "source_not_ended", play: until("begin", nil)},
		"chunk not passed":    {check: "chunk_not_passed", play: until("passage", nil)},
		"rows without a way":  {check: "rows_without_way", play: until("passage", nil)},
		"write not finalized": {check: "sink_rows", play: until("write", nil)},
		"not published":       {check: "not_published", play: until("publish", nil)},
		"hashes missing":      {check: "hash_counts", play: until("", func(p *landscape.Passage) { p.Hashes = p.Hashes[1:] })},
		"one hash missing":    {check: "hash_counts", play: until("", func(p *landscape.Passage) { clear(p.Hashes[0].Hashes[:landscape.HashBytes]) })},
		"hashes of a node that no row left": {check: "hash_counts", play: until("", func(p *landscape.Passage) {
			p.Hashes = append(p.Hashes, landscape.NodeHashes{Node: "all", Hashes: bytes.Repeat([]byte{1}, landscape.HashBytes*len(p.Lanes[0].Codes))})
		})},
		"a way off the graph": {check: "way_off_graph", play: until("", func(p *landscape.Passage) {
			p.Lanes[0].Ways[0].Steps = slices.Delete(slices.Clone(p.Lanes[0].Ways[0].Steps), 2, 3)
		})},
		"a route that is not there": {check: "way_off_graph", play: until("", func(p *landscape.Passage) {
			for i, w := range p.Lanes[0].Ways {
				if w.Path == pipeline.GateDiscarded {
					p.Lanes[0].Ways[i].Steps = slices.Clone(w.Steps)
					p.Lanes[0].Ways[i].Steps[3].Label = "unheard of"
				}
			}
		})},
		"a chunk too many": {check: "source_totals", play: commit(func(s Scene) []landscape.Record {
			c, _ := s.Chunk(s.Chunks)
			c.Read = 1
			return []landscape.Record{c}
		})},
		"a chunk without its index": {check: "chunk_not_indexed", play: commit(func(s Scene) []landscape.Record {
			c, _ := s.Chunk(s.Chunks)
			c.Read = 1
			return []landscape.Record{c}
		})},
		"a gap between chunks": {check: "chunk_sequence", play: commit(func(s Scene) []landscape.Record {
			c, _ := s.Chunk(s.Chunks)
			c.FirstRow, c.Read = c.FirstRow+1, 1
			return []landscape.Record{c}
		})},
		"rows counted twice": {check: "rows_without_way", play: commit(func(s Scene) []landscape.Record {
			extra := landscape.Way{Path: pipeline.FilterDropped, Steps: []landscape.Step{{Node: Source}}}
			return []landscape.Record{
				landscape.WayRecord{Run: s.Run, Way: extra.ID(), Signature: extra.Signature(), Outcome: "success", Path: string(extra.Path), LastNode: Source},
				landscape.WayStepRecord{Run: s.Run, Way: extra.ID(), Node: Source},
				landscape.ChunkWayRecord{Run: s.Run, Source: Source, Chunk: 0, Code: 99, Way: extra.ID(), Rows: 1},
			}
		})},
		"an error too many": {check: "error_counts", play: commit(func(s Scene) []landscape.Record {
			return []landscape.Record{landscape.RowError{
				ErrorHead: landscape.ErrorHead{ErrorKey: landscape.ErrorKey{Run: s.Run, Source: Source, Row: 10, Node: "tidy"}, Code: "X", Line: 1, SentTo: "all"},
				ErrorHash: digest("x"), At: 1,
			}}
		})},
		"an error at a sink that refused nothing": {check: "error_counts", play: strayLate},
		"refused rows that another sink gets":     {check: "sink_lines", deep: true, play: straysLate},
		"a gap in the parts":                      {check: "sink_parts", play: skipOrdinal},
		"codes that differ from the counts":       {check: "way_codes", deep: true, play: swapCodes},
		"fewer hashes than counted": {check: "hash_missing", deep: true, play: commit(func(s Scene) []landscape.Record {
			return []landscape.Record{landscape.HashesRecord{
				Run: s.Run, Source: Source, Node: "triage", Rows: 1, Hashes: make([]byte, landscape.HashBytes),
			}}
		})},
		"fewer slots than counted": {check: "hash_missing", deep: true, play: commit(func(s Scene) []landscape.Record {
			return []landscape.Record{landscape.HashesRecord{
				Run: s.Run, Source: Source, Node: "triage", Rows: 1, Slots: make([]byte, 2), Hashes: make([]byte, landscape.HashBytes),
			}}
		})},
	}
}

// skipOrdinal plays a run whose second parts have the ordinal 2.
func skipOrdinal(ctx context.Context, s Scene, log *landscape.Log, _ landscape.Driver) error {
	if err := until("write", nil)(ctx, s, log, nil); err != nil {
		return err
	}
	for _, w := range s.Passage(1).Writes {
		key := landscape.EffectKey{Run: s.Run, Sink: w.Sink, Source: Source, Chunk: 1}
		e, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 2}, "w")
		if err != nil {
			return err
		}
		if err := log.FinalizeEffect(ctx, e.Attempt("w"), `{}`); err != nil {
			return err
		}
	}
	return s.Publish(ctx, log)
}

// swapCodes records by hand a passage whose codes put one row on another way than the counts do.
func swapCodes(ctx context.Context, s Scene, log *landscape.Log, d landscape.Driver) error {
	s.Chunks = 1
	if err := s.Begin(ctx, log); err != nil {
		return err
	}
	if err := s.Read(ctx, log); err != nil {
		return err
	}
	return d.Commit(ctx, landscape.Tx{Insert: forged(s)})
}

// forged is a passage whose first row has the code of the second.
func forged(s Scene) []landscape.Record {
	p, ways := s.Passage(0).Lanes[0], Ways()
	record := landscape.PassageRecord{
		Run: s.Run, Source: Source, Rows: int64(s.ChunkRows), CodeBytes: 1, Started: 1, Finished: 2, Attempt: 1,
	}
	counts := make([]int64, len(p.Ways))
	for _, code := range p.Codes {
		record.WayCodes = append(record.WayCodes, byte(code))
		counts[code]++
	}
	record.WayCodes[0] = record.WayCodes[1]
	insert := []landscape.Record{record}
	for code, rows := range counts {
		w := ways[s.way(int64(code)+1)]
		insert = append(insert,
			landscape.WayRecord{
				Run: s.Run, Way: w.ID(), Signature: w.Signature(), Outcome: string(w.Path.Outcome()), Path: string(w.Path),
				LastNode: w.Last(), Sink: w.Sink,
			},
			landscape.ChunkWayRecord{Run: s.Run, Source: Source, Code: int64(code), Way: w.ID(), Rows: rows})
	}
	return insert
}

// late says that the target of review refused these rows of chunk 1.
func late(s Scene, rows ...int64) (records []landscape.Record) {
	for _, row := range rows {
		records = append(records, landscape.RowError{
			ErrorHead: landscape.ErrorHead{
				ErrorKey: landscape.ErrorKey{Run: s.Run, Source: Source, Row: row, Node: "review"}, Chunk: 1, Code: "X", Line: 1, SentTo: pipeline.QuarantineSink,
			},
			ErrorHash: digest("x"), At: 1,
		})
	}
	return records
}

// inFlight plays until the write of chunk 1 to review has begun.
func inFlight(ctx context.Context, s Scene, log *landscape.Log) (landscape.Effect, error) {
	if err := until("write", nil)(ctx, s, log, nil); err != nil {
		return landscape.Effect{}, err
	}
	key := landscape.EffectKey{Run: s.Run, Sink: "review", Source: Source, Chunk: 1}
	return log.BeginEffect(ctx, key, landscape.Placement{Ordinal: 1, Offset: 1000}, "w1")
}

// strayLate records an error of a row for which the sink was waiting, and no more of it.
func strayLate(ctx context.Context, s Scene, log *landscape.Log, d landscape.Driver) error {
	_, err := inFlight(ctx, s, log)
	if err == nil {
		err = d.Commit(ctx, landscape.Tx{Insert: late(s, 40)})
	}
	if err == nil {
		err = s.Write(ctx, log, 1)
	}
	if err == nil {
		err = s.Publish(ctx, log)
	}
	return err
}

// straysLate records by hand that the target of a sink refused a row that the sink does not get. The counts fit.
func straysLate(ctx context.Context, s Scene, log *landscape.Log, d landscape.Driver) error {
	begun, err := inFlight(ctx, s, log)
	if err != nil {
		return err
	}
	ended := begun
	ended.State, ended.Receipt, ended.Refused = landscape.Finalized, `{"fsync":true}`, 1
	return d.Commit(ctx, landscape.Tx{Insert: late(s, 41), Move: []landscape.Move{{From: begun, To: ended}}})
}

// artifact is what a scene's sink publishes.
func artifact(sink string, rows, bytes int64) plugin.Artifact {
	return plugin.Artifact{Path: "out/" + sink, Bytes: bytes, Rows: rows, SHA256: digest("artifact", sink)}
}
