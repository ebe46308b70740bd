package client

import (
	"context"

	"waymark/audit"
	"waymark/landscape/persons"
)

// SignOffs verifies what people signed about a run, the oldest first; nil if nobody did.
func (c *Client) SignOffs(ctx context.Context, run string) (all []persons.SignOff, err error) {
	defer c.edge(ctx, &err)
	records, err := c.log.SignOffs(ctx, run)
	if err != nil || records == nil {
		return nil, err
	}
	approvers, err := c.approvers()
	if err != nil {
		return nil, err
	}
	return audit.SignOffs(ctx, c.log.Reader, run, approvers)
}

// approvers returns whose keys may sign; nil if nobody says.
func (c *Client) approvers() (*persons.Approvers, error) {
	if c.Approvers == nil {
		return nil, nil //nolint:nilnil // then what is recorded is taken
	}
	return c.Approvers()
}
