package landscape

import (
	"context"
	"errors"
	"fmt"

	"waymark/pipeline"
)

// RecordFold records in one transaction what a barrier took, which batches fired, what coalesces decided, and the rows
// that came out, and with the last fold that nothing more will come out.
//
// The fold before it must be recorded, and of a ChunkFold the passage of the chunk: exactly the tokens whose ways end
// buffered at the barrier must be in its arrivals. A fold whose counts do not add up is refused. Repeating it with equal
// content changes nothing; other content is a *DivergedError.
func (l *Log) RecordFold(ctx context.Context, f Fold) error {
	err := l.recordFold(ctx, f)
	if err != nil {
		return fmt.Errorf("record fold %d of %s in run %s: %w", f.Fold, f.Node, f.Run, err)
	}
	return nil
}

func (l *Log) recordFold(ctx context.Context, f Fold) error {
	all, err := l.lanesOf(ctx, f.Run)
	if err != nil {
		return err
	}
	before, err := l.foldBefore(ctx, f)
	if err != nil {
		return err
	}
	if before.Kind == EndFold {
		return fmt.Errorf("fold %d was the last", before.Fold)
	}
	if err := l.checkArrivals(ctx, all, f); err != nil {
		return err
	}
	return l.insertFold(ctx, all, before, f)
}

// foldBefore returns the record of the fold before f; an empty one if f is the first.
func (r *Reader) foldBefore(ctx context.Context, f Fold) (FoldRecord, error) {
	if f.Fold == 0 {
		return FoldRecord{}, nil
	}
	return get[FoldRecord](ctx, r.from, f.Run, f.Node, f.Fold-1)
}

// insertFold checks what f says by itself and together with the counts before it, and inserts its records.
func (l *Log) insertFold(ctx context.Context, all lanes, before FoldRecord, f Fold) error {
	var kinds kindTable
	if err := errors.Join(f.checkBatches(&kinds), f.checkDerived(all)); err != nil {
		return err
	}
	after, err := f.count(before)
	if err != nil {
		return err
	}
	insert, err := l.foldRecords(ctx, all, f, after, &kinds)
	if err != nil {
		return err
	}
	return l.insert(ctx, insert...)
}

// checkBatches refuses batches that cannot be, and numbers that are there twice. It collects the kinds of the merges.
func (f Fold) checkBatches(kinds *kindTable) error {
	seen := map[int64]bool{}
	for _, b := range f.Batches {
		if seen[b.Batch] || b.Batch < 1 {
			return fmt.Errorf("batch %d is there twice, or is no batch", b.Batch)
		}
		seen[b.Batch] = true
		if err := b.check(); err != nil {
			return fmt.Errorf("batch %d: %w", b.Batch, err)
		}
		if b.Merge == nil {
			continue
		}
		if err := errors.Join(b.Merge.check(f.Node, b.Rows), kinds.add(b.Merge.Kind)); err != nil {
			return fmt.Errorf("batch %d: %w", b.Batch, err)
		}
	}
	return nil
}

func (b FiredBatch) check() error {
	switch b.Path {
	case pipeline.BatchConsumed, pipeline.ExpandParent, pipeline.BranchNotNeeded, pipeline.Coalesced:
	default:
		return fmt.Errorf("its tokens cannot end as %s", b.Path)
	}
	switch {
	case b.Trigger == "":
		return errors.New("nothing fired it")
	case (b.Path == pipeline.Coalesced) != (b.Merge != nil):
		return fmt.Errorf("its tokens ended as %s, with a merge: %v", b.Path, b.Merge != nil)
	case b.Of != 0 && b.Path != pipeline.BranchNotNeeded:
		return fmt.Errorf("its tokens ended as %s, and came too late for batch %d", b.Path, b.Of)
	case b.Rows == 0 && (b.Merge == nil || b.Merge.Kind.Result != MergeNothing):
		return errors.New("it has no rows")
	}
	return nil
}

// check refuses a merge that does not fit its batch.
func (m *Merge) check(node string, rows int64) error {
	if m.Kind.Node != node || int64(len(m.Arrivals)) != rows || len(m.Kind.Arrived) != len(m.Arrivals) {
		return fmt.Errorf("a merge of %s with %d branches, the batch is of %s with %d", m.Kind.Node, len(m.Arrivals), node, rows)
	}
	for i, a := range m.Arrivals {
		if a.Branch != m.Kind.Arrived[i] {
			return fmt.Errorf("branch %s arrived as number %d, not %s", a.Branch, i, m.Kind.Arrived[i])
		}
	}
	if (m.Kind.Result == MergeNothing) != (m.OutRow == 0) {
		return fmt.Errorf("its result is %s, its row %d", m.Kind.Result, m.OutRow)
	}
	return nil
}

// checkDerived refuses chunks that are not of the barrier, or whose rows do not say where they come from.
func (f Fold) checkDerived(all lanes) error {
	for _, d := range f.Derived {
		n := int(d.Chunk.Rows)
		switch {
		case d.Chunk.Run != f.Run || d.Chunk.Source != f.Node:
			return fmt.Errorf("a chunk of %s in run %s came out", d.Chunk.Source, d.Chunk.Run)
		case len(d.Batches) != n || d.Parents != nil && len(d.Parents) != n:
			return fmt.Errorf("chunk %d: %d rows, but %d batches and %d parents", d.Chunk.Chunk, n, len(d.Batches), len(d.Parents))
		}
		if err := checkRecords(d.Chunk, d.Records); err != nil {
			return fmt.Errorf("chunk %d: %w", d.Chunk.Chunk, err)
		}
		for i, parent := range d.Parents {
			if parent.Lane < 0 || parent.Lane >= int64(len(all)) || parent.Row < 1 || parent.Row >= 1<<rowBits {
				return fmt.Errorf("chunk %d: row %d comes from no token", d.Chunk.Chunk, i)
			}
		}
	}
	return nil
}
