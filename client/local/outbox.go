package local

import (
	"context"

	"waymark/client"
)

// Outbox does what client.Client's does, and gives positions to events if this process may write the landscape.
func (h *Home) Outbox(ctx context.Context, filter client.OutboxFilter, yield func(client.OutboxEvent) error) (dropped int64, err error) {
	return h.Client.Outbox(ctx, filter, h.stores.MayWrite(ctx) == nil, yield)
}
