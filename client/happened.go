package client

import "context"

// Happened says how far the record has come, as far as events tell it. Two that differ mean that something happened
// between them.
type Happened struct {
	Ordered int64 // events that have a position
	Waiting int64 // events that have none yet
}

// Happened returns how far the record has come. It costs three short reads.
func (c *Client) Happened(ctx context.Context) (happened Happened, err error) {
	defer c.edge(ctx, &err)
	happened.Ordered, happened.Waiting, err = c.log.Happened(ctx)
	return happened, err
}
