package client

import (
	"context"

	"waymark/landscape"
)

// RuleOrders records how many persons guarded changes of a verb need from now on. The error is an *Error of kind
// Conflict if they are fewer than before, and no order says so.
func (c *Client) RuleOrders(ctx context.Context, rule landscape.ApprovalRule) (changed bool, err error) {
	defer c.edge(ctx, &err)
	return c.log.Rule(ctx, rule)
}
