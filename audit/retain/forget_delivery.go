package retain

import (
	"context"
	"errors"
	"fmt"

	"waymark/landscape"
)

// deliveries deletes what was delivered with the rows. No run is to read it again, and the records of the other rows in it are in packs.
func (c *carrying) deliveries(ctx context.Context) error {
	for _, chunk := range c.chunks {
		arrival, err := c.Log.ArrivalOf(ctx, chunk.Run, chunk.File)
		if errors.Is(err, landscape.ErrNotFound) || err == nil && arrival.Payload == "" {
			continue
		}
		if err != nil {
			return err
		}
		begun, err := c.Log.BeginDeletion(ctx, c.order.ID, arrival.Payload)
		if err := c.gone(ctx, begun, err); err != nil {
			return fmt.Errorf("delivery %s: %w", arrival.Item, err)
		}
	}
	return nil
}
