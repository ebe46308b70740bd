package client

import (
	"context"

	"waymark/landscape/history"
)

// Events returns what happened in the run with this id, oldest first; of one that has not ended, so far. They follow from its records alone.
func (c *Client) Events(ctx context.Context, run string) (events []history.Event, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	return history.Of(ctx, c.log.Reader, run)
}
