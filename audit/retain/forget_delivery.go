package retain

import (
	"context"
	"errors"
	"fmt"

	"waymark/landscape"
)

// deliveries deletes what was delivered with the rows, or came with the request for their run. No run is to read it again, and the records of the other rows in it are in packs.
func (c *carrying) deliveries(ctx context.Context) error {
	for _, chunk := range c.chunks {
		delivered, err := c.deliveredWith(ctx, chunk)
		if err != nil {
			return err
		}
		for _, payload := range delivered {
			begun, err := c.Log.BeginDeletion(ctx, c.order.ID, payload)
			if err := c.gone(ctx, begun, err); err != nil {
				return fmt.Errorf("delivery %s: %w", chunk.File, err)
			}
		}
	}
	return nil
}

// deliveredWith returns the payloads of what was delivered, or came with the request for the run, and that a chunk was read from; nil if it was read from a file.
func (c *carrying) deliveredWith(ctx context.Context, chunk landscape.Chunk) (payloads []string, err error) {
	arrival, err := c.Log.ArrivalOf(ctx, chunk.Run, chunk.File)
	switch {
	case err == nil && arrival.Payload != "":
		return []string{arrival.Payload}, nil
	case err != nil && !errors.Is(err, landscape.ErrNotFound):
		return nil, err
	}
	start, err := c.Log.StartOfRun(ctx, chunk.Run)
	if err != nil {
		return nil, err
	}
	rows, err := start.RequestRows()
	for _, of := range rows {
		if of.Source == chunk.Source {
			payloads = append(payloads, of.Payload)
		}
	}
	return payloads, err
}
