package client

import (
	"context"
	"errors"

	"waymark/audit"
	"waymark/landscape"
)

// Payload looks at a payload that a run needs: what needs it, whether it is stored and what its digest says, and of records those after the first so many,
// limit at most. What is corrupt is never returned. word is all that Find takes. The error is an *Error of kind NotFound if the run does not need it.
func (c *Client) Payload(ctx context.Context, word, digest string, after, limit int) (found *audit.Payload, err error) {
	defer c.edge(ctx, &err)
	run, err := c.Find(ctx, word)
	if err != nil {
		return nil, err
	}
	auditor, err := c.host.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	found, err = auditor.Payload(ctx, run, digest, after, limit)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, &Error{Kind: NotFound, Code: PayloadNotFound, Message: err.Error(), Run: run.ID, Err: err}
	}
	return found, err
}
