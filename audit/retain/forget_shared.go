package retain

import (
	"cmp"
	"context"
	"fmt"

	"waymark/landscape"
)

// shared makes sure that no other order is still to delete rows in targets that were made of the same records, as new runs have read them: what is
// overwritten nothing can compare with what is there.
func (c *carrying) shared(ctx context.Context) error {
	open, err := c.Log.OpenErasures(ctx)
	if err != nil {
		return err
	}
	of := map[int64]landscape.Erasure{} // one of each order
	for _, e := range open {
		of[e.Order] = e
	}
	needed := map[record]landscape.Erasure{}
	for order, erasure := range of {
		rows, err := c.Log.ForgottenBy(ctx, order)
		if err != nil {
			return err
		}
		if err := c.eachRecord(ctx, rows, func(r record) { needed[r] = erasure }); err != nil {
			return err
		}
	}
	if len(needed) == 0 {
		return nil
	}
	var by landscape.Erasure
	if err := c.eachRecord(ctx, c.rows, func(r record) { by = cmp.Or(needed[r], by) }); err != nil || by.Order == 0 {
		return err
	}
	output, err := outputOf(ctx, c.Log.Reader, by.Run, by.Sink)
	if err != nil {
		return err
	}
	return &TargetError{c.order.ID, by.Run, by.Sink, output, fmt.Errorf("order %d is still to delete them, and needs the same records", by.Order)}
}

// record is one of a pack.
type record struct {
	pack string
	slot int64
}

// eachRecord calls do with the records of rows, as they were when they were read.
func (c *carrying) eachRecord(ctx context.Context, rows []landscape.Forgotten, do func(record)) error {
	var chunk landscape.Chunk
	for _, row := range rows {
		if !row.In(chunk) {
			var err error
			if chunk, err = c.Log.Chunk(ctx, row.Run, row.ChunkKey()); err != nil {
				return err
			}
		}
		do(record{chunk.Pack, row.Slot})
	}
	return nil
}
