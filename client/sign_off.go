package client

import (
	"context"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/persons"
	"waymark/pipeline"
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

// addSignOffs adds what people signed about a run, and in which roles somebody must.
func (c *Client) addSignOffs(ctx context.Context, status *Status, run landscape.Run) (err error) {
	if status.SignOffs, err = c.SignOffs(ctx, run.ID); err != nil {
		return err
	}
	release, err := c.Release(ctx, run)
	status.Required = release.Roles
	for i := range status.SignOffs {
		if i < len(release.SignOffs) { // otherwise somebody signed meanwhile, or none is required
			status.SignOffs[i].NoRelease = release.SignOffs[i].NoRelease
		}
	}
	for i := range status.Policies {
		p := &status.Policies[i]
		for _, role := range release.Roles {
			if p.Name == pipeline.SignOffPolicy+role.Role {
				p.Now = role.since(p.Result == landscape.PolicyPassed)
			}
		}
	}
	return err
}

// approvers returns whose keys may sign; nil if nobody says.
func (c *Client) approvers() (*persons.Approvers, error) {
	if c.Approvers == nil {
		return nil, nil //nolint:nilnil // then what is recorded is taken
	}
	return c.Approvers()
}
