package landscapetest

import (
	"context"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
)

// turn is one step of a graph scene: a chunk that is read, a passage with its writes, a fold, or the end of the source.
type turn struct {
	chunk   *landscape.Chunk
	records landscape.Records
	passage *landscape.Passage
	fold    *landscape.Fold
	end     *landscape.SourceEnd
}

// turns are all steps of the scene between its begin and its publications, in order.
func (s GraphScene) turns() []turn {
	var list []turn
	for i := range s.Chunks {
		chunk, records := s.Chunk(i)
		passage, fold := s.Passage(i), s.TotalsFold(i)
		list = append(list, turn{chunk: &chunk, records: records}, turn{passage: &passage}, turn{fold: &fold})
		if len(fold.Derived) > 0 {
			list = append(list, s.totalsTurns(len(fold.Derived[0].Batches), i/2)...)
		}
	}
	end := s.End()
	last := s.TotalsFold(s.Chunks)
	list = append(list, turn{end: &end}, turn{fold: &last})
	if len(last.Derived) > 0 {
		list = append(list, s.totalsTurns(1, s.Totals()-1)...)
	}
	ranked := s.RankedEnd()
	list = append(list, turn{fold: &ranked})
	if s.Totals() > 0 {
		fold := s.BothFold(s.Totals())
		passage := s.RankedPassage()
		list = append(list, turn{passage: &passage}, turn{fold: &fold})
		reported := s.BothPassage()
		list = append(list, turn{passage: &reported})
	}
	both := s.BothEnd()
	return append(list, turn{fold: &both})
}

// totalsTurns are what follows a row of totals: its passage, and the folds of ranked and both.
func (s GraphScene) totalsTurns(rows, chunk int) []turn {
	if rows == 0 {
		return nil
	}
	passage, ranked, both := s.TotalsPassage(chunk), s.RankedFold(chunk), s.BothFold(chunk)
	return []turn{{passage: &passage}, {fold: &ranked}, {fold: &both}}
}

// do records one step, and writes what a passage plans.
func (t turn) do(ctx context.Context, log *landscape.Log) error {
	switch {
	case t.chunk != nil:
		return log.RecordChunk(ctx, *t.chunk, t.records)
	case t.fold != nil:
		return log.RecordFold(ctx, *t.fold)
	case t.end != nil:
		return log.EndSource(ctx, *t.end)
	}
	if err := log.RecordPassage(ctx, *t.passage); err != nil {
		return err
	}
	return write(ctx, log, *t.passage, 0, nil)
}

// Play records the whole run and finishes it. Every call of it may be repeated.
func (s GraphScene) Play(ctx context.Context, log *landscape.Log) error {
	if err := s.PlayToEnd(ctx, log); err != nil {
		return err
	}
	return finish(ctx, log, s.Run)
}

// PlayToEnd is Play without the last step: the run is complete and still running.
func (s GraphScene) PlayToEnd(ctx context.Context, log *landscape.Log) error {
	if err := s.Begin(ctx, log); err != nil {
		return err
	}
	for _, t := range s.turns() {
		if err := t.do(ctx, log); err != nil {
			return err
		}
	}
	return publish(ctx, log, s.Run)
}

// moment is when fold number i takes place.
func moment(i int) landscape.Micros { return landscape.Micros(1_000_000 * (i + 1)) }

// decidedRows returns which rows of chunk number i of the source come to totals.
func (s GraphScene) decidedRows(i int) []int64 {
	var rows []int64
	for row := int64(i*s.ChunkRows) + 1; row <= int64((i+1)*s.ChunkRows); row++ {
		if fate(row) == 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// TotalsFold returns fold number i of totals: that of a chunk, or of the end.
func (s GraphScene) TotalsFold(i int) landscape.Fold {
	f := landscape.Fold{Run: s.Run, Node: "totals", Fold: int64(i), Kind: landscape.EndFold, At: moment(i)}
	batch := i/2 + 1
	fires := i == s.Chunks && s.Chunks%2 == 1
	if i < s.Chunks {
		f.Kind, f.Source, f.Chunk, f.State = landscape.ChunkFold, Orders, int64(i), digest("state", i)
		members := landscape.LaneMembers{Lane: DecideLane, Batches: make([]uint32, s.ChunkRows)}
		for _, row := range s.decidedRows(i) {
			members.Batches[row-int64(i*s.ChunkRows)-1] = uint32(batch)
		}
		f.Arrivals = []landscape.LaneMembers{members}
		fires = i%2 == 1
	}
	if fires {
		f.Batches = []landscape.FiredBatch{s.totalsBatch(batch, i)}
		f.Derived = []landscape.DerivedChunk{s.derived("totals", batch-1, batch, nil)}
	}
	return f
}

// totalsBatch is the batch of two chunks, the second of which is number i; of one if there is none.
func (s GraphScene) totalsBatch(batch, i int) landscape.FiredBatch {
	b := landscape.FiredBatch{
		Batch: int64(batch), Trigger: "rows", Path: pipeline.BatchConsumed, Opened: moment(2 * (batch - 1)), Fired: moment(i),
		Rows: int64(len(s.decidedRows(2 * (batch - 1)))),
	}
	if i == s.Chunks {
		b.Trigger = "end"
	} else {
		b.Rows += int64(len(s.decidedRows(i)))
	}
	return b
}

// derived is a chunk of one row of a barrier.
func (s GraphScene) derived(node string, chunk, batch int, parent *landscape.Token) landscape.DerivedChunk {
	d := landscape.DerivedChunk{Batches: []uint32{uint32(batch)}}
	d.Chunk, d.Records = s.chunk(node, chunk, int64(chunk)+1, 1)
	if parent != nil {
		d.Parents = []landscape.Token{*parent}
	}
	return d
}

// TotalsPassage returns what happened to the row of chunk number i of totals.
func (s GraphScene) TotalsPassage(i int) landscape.Passage {
	p := s.passage("totals", i)
	for _, name := range []string{"spread", "raw", "best"} {
		var l laneCodes
		l.add(name)
		p.Lanes = append(p.Lanes, l.routes)
	}
	return p
}

// RankedFold returns the fold of ranked that takes the row of chunk number i of totals.
func (s GraphScene) RankedFold(i int) landscape.Fold {
	return landscape.Fold{
		Run: s.Run, Node: "ranked", Fold: int64(i), Kind: landscape.ChunkFold, Source: "totals", Chunk: int64(i), At: moment(10 + i),
		Arrivals: []landscape.LaneMembers{{Lane: BestLane, Batches: []uint32{1}}},
	}
}

// RankedEnd returns the last fold of ranked: its batch fires, and the rows come out the other way round.
func (s GraphScene) RankedEnd() landscape.Fold {
	n := s.Totals()
	f := landscape.Fold{Run: s.Run, Node: "ranked", Fold: int64(n), Kind: landscape.EndFold, At: moment(20)}
	if n == 0 {
		return f
	}
	f.Batches = []landscape.FiredBatch{{
		Batch: 1, Trigger: "end", Path: pipeline.BatchConsumed, Rows: int64(n), Opened: moment(10), Fired: moment(20),
	}}
	d := landscape.DerivedChunk{}
	d.Chunk, d.Records = s.chunk("ranked", 0, 1, n)
	for i := range n {
		d.Batches = append(d.Batches, 1)
		d.Parents = append(d.Parents, landscape.Token{Source: "totals", Lane: BestLane, Row: int64(n - i)})
	}
	f.Derived = []landscape.DerivedChunk{d}
	return f
}

// RankedPassage returns what happened to the rows of ranked.
func (s GraphScene) RankedPassage() landscape.Passage {
	p := s.passage("ranked", 0)
	var l laneCodes
	for range s.Totals() {
		l.add("ranked")
	}
	p.Lanes = []landscape.LaneRoutes{l.routes}
	return p
}

// BothFold returns the fold of both that takes the row of chunk number i of totals, or after these those of ranked: then
// every fork parent is merged, in the order of ranked.
func (s GraphScene) BothFold(i int) landscape.Fold {
	n := s.Totals()
	f := landscape.Fold{
		Run: s.Run, Node: "both", Fold: int64(i), Kind: landscape.ChunkFold, Source: "totals", Chunk: int64(i), At: moment(30 + i),
		Arrivals: []landscape.LaneMembers{{Lane: RawLane, Batches: []uint32{uint32(i + 1)}}},
	}
	if i < n {
		return f
	}
	f.Source, f.Chunk = "ranked", 0
	members := landscape.LaneMembers{Lane: RankedLane}
	d := landscape.DerivedChunk{}
	d.Chunk, d.Records = s.chunk("both", 0, 1, n)
	for j := range n {
		key := int64(n - j)
		members.Batches, d.Batches = append(members.Batches, uint32(key)), append(d.Batches, uint32(key))
		f.Batches = append(f.Batches, s.bothBatch(key, int64(j)+1, f.At))
	}
	f.Arrivals, f.Derived = []landscape.LaneMembers{members}, []landscape.DerivedChunk{d}
	return f
}

// bothBatch is the merge of the branches of one row of totals.
func (s GraphScene) bothBatch(key, out int64, at landscape.Micros) landscape.FiredBatch {
	_, _, kind := mergeKinds()
	opened := moment(30 + int(key) - 1)
	wait := time.Duration(at-opened) * time.Microsecond
	return landscape.FiredBatch{
		Batch: key, Trigger: kind.FiredBy, Path: pipeline.Coalesced, Rows: 2, Opened: opened, Fired: at,
		Merge: &landscape.Merge{
			Kind: kind, Key: landscape.Token{Source: "totals", Lane: TotalsLane, Row: key}, Wait: wait, OutRow: out,
			Arrivals: []landscape.MergeArrival{
				{Branch: "raw", Token: landscape.Token{Source: "totals", Lane: RawLane, Row: key}},
				{Branch: "best", Token: landscape.Token{Source: "ranked", Lane: RankedLane, Row: out}, Offset: wait},
			},
		},
	}
}

// BothPassage returns what happened to the rows of both.
func (s GraphScene) BothPassage() landscape.Passage {
	p := s.passage("both", 0)
	var l laneCodes
	for range s.Totals() {
		l.add("reported")
	}
	p.Lanes = []landscape.LaneRoutes{l.routes}
	p.Writes = []landscape.Write{{Sink: "report", Bytes: int64(20 * s.Totals()), SHA256: digest("report")}}
	return p
}

// BothEnd returns the last fold of both.
func (s GraphScene) BothEnd() landscape.Fold {
	fold := int64(s.Totals() + 1)
	if s.Totals() == 0 {
		fold = 0
	}
	return landscape.Fold{Run: s.Run, Node: "both", Fold: fold, Kind: landscape.EndFold, At: moment(50)}
}
