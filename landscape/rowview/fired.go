package rowview

import (
	"context"
	"encoding/binary"
	"math"

	"waymark/landscape"
)

// fired are batches of a barrier that fired.
type fired struct {
	paths map[int64]string
	rows  map[int64]*int64 // of the coalesce's own, of what it made of a batch
}

// readFired reads how the batches of the chunk's tokens ended.
func (c *chunk) readFired(ctx context.Context) error {
	for _, l := range c.lanes {
		for _, e := range l.ways {
			if e.barrier() == "" || c.fired[e.barrier()] != nil {
				continue
			}
			if err := c.readFiredAt(ctx, e.barrier()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *chunk) readFiredAt(ctx context.Context, barrier string) error {
	f := &fired{map[int64]string{}, map[int64]*int64{}}
	c.fired[barrier] = f
	first, last := c.batchesAt(barrier)
	if last == 0 {
		return nil
	}
	between := landscape.Query{Prefix: []any{c.run, barrier}, After: []any{first - 1}}
	err := c.from.Read(ctx, firedBatch{}, between, func(r landscape.Record) bool {
		b := r.(firedBatch)
		f.paths[b.Batch] = b.Path
		return b.Batch < last
	})
	if err != nil {
		return err
	}
	return c.from.Read(ctx, mergedRow{}, between, func(r landscape.Record) bool {
		m := r.(mergedRow)
		f.rows[m.Batch] = m.OutRow
		return m.Batch < last
	})
}

// batchesAt returns the first and the last batch of a barrier in which the chunk has tokens; 0 if it has none.
func (c *chunk) batchesAt(barrier string) (first, last int64) {
	first = math.MaxInt64
	for _, l := range c.lanes {
		for _, e := range l.ways {
			if e.barrier() != barrier {
				continue
			}
			for _, slice := range e.members {
				for ; len(slice) >= 4; slice = slice[4:] {
					if b := int64(binary.BigEndian.Uint32(slice)); b > 0 {
						first, last = min(first, b), max(last, b)
					}
				}
			}
		}
	}
	return first, last
}

// firedBatch is how a batch ended.
type firedBatch struct {
	Run   string `db:"run_id,key"`
	Node  string `db:"node,key"`
	Batch int64  `db:"batch,key"`
	Path  string `db:"path"`
}

// Table returns batches.
func (firedBatch) Table() string { return "batches" }

// mergedRow is what a coalesce made of a batch.
type mergedRow struct {
	Run    string `db:"run_id,key"`
	Node   string `db:"node,key"`
	Batch  int64  `db:"batch,key"`
	OutRow *int64 `db:"out_row,null"`
}

// Table returns merges.
func (mergedRow) Table() string { return "merges" }
