package landscape

import (
	"context"
	"fmt"
	"slices"
)

// count returns the fold's record, with the counts that follow from those after the fold before.
func (f Fold) count(before FoldRecord) (FoldRecord, error) {
	after := FoldRecord{
		Run: f.Run, Node: f.Node, Fold: f.Fold, Kind: f.Kind, Source: f.Source, Chunk: f.Chunk, At: f.At, State: f.State,
		Opened: before.Opened, Held: before.Held, Turn: f.Turn, Deadline: f.Deadline,
	}
	if f.Kind != ChunkFold {
		after.Chunk = -1
	}
	arrived := map[uint32]int64{}
	for _, a := range f.Arrivals {
		for _, batch := range a.Batches {
			if batch != 0 {
				arrived[batch]++
				after.Held++
				after.Opened = max(after.Opened, int64(batch))
			}
		}
	}
	for _, b := range f.Batches {
		after.Held -= b.Rows
		after.Opened = max(after.Opened, b.Batch)
		if b.Rows < arrived[uint32(b.Batch)] || b.Batch > before.Opened && b.Rows != arrived[uint32(b.Batch)] {
			return after, fmt.Errorf("batch %d fired with %d rows, of which %d came in this fold", b.Batch, b.Rows, arrived[uint32(b.Batch)])
		}
	}
	after.Open = before.Open + after.Opened - before.Opened - int64(len(f.Batches))
	for _, d := range f.Derived {
		after.Out += d.Chunk.Rows
	}
	return after, after.check()
}

// check refuses counts that cannot be.
func (r FoldRecord) check() error {
	switch {
	case r.Kind != ChunkFold && r.Kind != TickFold && r.Kind != EndFold:
		return fmt.Errorf("there is no fold of kind %q", r.Kind)
	case r.Open < 0 || r.Held < 0:
		return fmt.Errorf("%d rows and %d batches more fired than were held", max(0, -r.Held), max(0, -r.Open))
	case r.Kind == EndFold && (r.Open > 0 || r.Held > 0):
		return fmt.Errorf("at the end %d rows in %d batches are still held", r.Held, r.Open)
	}
	return nil
}

// foldRecords returns the records of a fold.
func (l *Log) foldRecords(ctx context.Context, all lanes, f Fold, fold FoldRecord, kinds *kindTable) ([]Record, error) {
	insert := []Record{fold}
	for _, d := range f.Derived {
		insert = d.appendRecords(insert, f.Fold, l.now())
	}
	for _, k := range kinds.kinds {
		insert = append(insert, k.record(f.Run))
	}
	for _, b := range f.Batches {
		insert = append(insert, b.record(f))
	}
	for _, a := range f.Arrivals {
		insert = a.appendRecords(insert, f)
	}
	for _, b := range f.Batches {
		if b.Merge == nil {
			continue
		}
		merge, err := b.Merge.record(all, f, b.Batch)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", b.Batch, err)
		}
		merge.Kind = kinds.id(b.Merge.Kind)
		insert = append(insert, merge)
	}
	for _, d := range f.Derived {
		insert = d.appendParents(insert)
	}
	if f.Kind != EndFold {
		return insert, nil
	}
	end, err := l.barrierEnd(ctx, f)
	return append(insert, end), err
}

func (b FiredBatch) record(f Fold) BatchRecord {
	r := BatchRecord{
		Run: f.Run, Node: f.Node, Batch: b.Batch, Fold: f.Fold, Trigger: b.Trigger, Path: b.Path, Rows: b.Rows,
		Opened: b.Opened, Fired: b.Fired,
	}
	if b.Of != 0 {
		r.Of = &b.Of
	}
	return r
}

// appendRecords appends the members of one lane, one record per slice of the chunk in which there is one.
func (a LaneMembers) appendRecords(insert []Record, f Fold) []Record {
	slice := int64(0)
	for batches := range slices.Chunk(a.Batches, SliceRows) {
		rows := int64(0)
		for _, batch := range batches {
			if batch != 0 {
				rows++
			}
		}
		if rows > 0 {
			insert = append(insert, MembersRecord{
				Run: f.Run, Node: f.Node, Source: f.Source, Chunk: f.Chunk, Lane: a.Lane, Slice: slice, Fold: f.Fold, Rows: rows,
				Batches: pack(batches),
			})
		}
		slice++
	}
	return insert
}

// mergeArrival is a MergeArrival as it is stored.
type mergeArrival struct {
	Branch   string `json:"branch"`
	Token    string `json:"token"`
	OffsetMS int64  `json:"offset_ms"`
}

// record returns the merge as it is stored, without its kind.
func (m *Merge) record(all lanes, f Fold, batch int64) (MergeRecord, error) {
	if _, err := all.at(m.Key.Source, m.Key.Lane); err != nil {
		return MergeRecord{}, fmt.Errorf("fork parent: %w", err)
	}
	arrivals := make([]mergeArrival, len(m.Arrivals))
	for i, a := range m.Arrivals {
		id, err := all.id(a.Token)
		if err != nil {
			return MergeRecord{}, err
		}
		arrivals[i] = mergeArrival{Branch: a.Branch, Token: id, OffsetMS: a.Offset.Milliseconds()}
	}
	r := MergeRecord{
		Run: f.Run, Node: f.Node, Batch: batch, Source: m.Key.Source, Lane: m.Key.Lane, Row: m.Key.Row,
		Arrivals: string(encode(arrivals)), WaitMS: m.Wait.Milliseconds(),
	}
	if m.OutRow != 0 {
		r.OutRow = &m.OutRow
	}
	return r, nil
}

// appendRecords appends the chunk and where its records are.
func (d DerivedChunk) appendRecords(insert []Record, fold int64, now Micros) []Record {
	d.Chunk.Fold, d.Chunk.Read = &fold, now
	return d.Records.appendSlices(append(insert, d.Chunk), d.Chunk)
}

// appendParents appends what the rows come from, one record per slice of the chunk.
func (d DerivedChunk) appendParents(insert []Record) []Record {
	for from := 0; from < len(d.Batches); from += SliceRows {
		to := min(from+SliceRows, len(d.Batches))
		r := ParentsRecord{
			Run: d.Chunk.Run, Source: d.Chunk.Source, Chunk: d.Chunk.Chunk, Slice: int64(from / SliceRows), Rows: int64(to - from),
			Batches: pack(d.Batches[from:to]),
		}
		if d.Parents != nil {
			r.Tokens = packTokens(d.Parents[from:to])
		}
		insert = append(insert, r)
	}
	return insert
}

// barrierEnd returns the end of a barrier: the totals of its chunks, those of its last fold included.
func (l *Log) barrierEnd(ctx context.Context, f Fold) (SourceEnd, error) {
	end := SourceEnd{Run: f.Run, Source: f.Node, Digests: "[]", Ended: l.now()}
	for c, err := range l.Chunks(ctx, f.Run, f.Node) {
		if err != nil {
			return SourceEnd{}, err
		}
		if c.Fold != nil && *c.Fold < f.Fold {
			end.add(c)
		}
	}
	for _, d := range f.Derived {
		end.add(d.Chunk)
	}
	return end, nil
}

// add counts one chunk.
func (e *SourceEnd) add(c Chunk) {
	e.Chunks++
	e.Rows += c.Rows
	e.Blank += c.Blank
	e.Comments += c.Comments
	e.Bytes += c.Bytes
}
