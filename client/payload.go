package client

import (
	"context"
	"errors"
	"io"

	"waymark/audit"
	"waymark/landscape"
)

// StoredPayload looks at a payload that a run needs: what needs it, whether it is stored and what its digest says, and of records those after the first so many,
// limit at most. What is corrupt is never returned. word is all that Find takes. The error is an *Error of kind NotFound if the run does not need it.
func (c *Client) StoredPayload(ctx context.Context, word, digest string, after, limit int) (found *audit.Payload, err error) {
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

// Payload writes the bytes of a payload that a run needs, which have its digest, to a writer. The error is an *Error of kind NotFound if the run does not need it, or if
// it is not stored any more, or is corrupt; nothing is written then.
func (c *Client) Payload(ctx context.Context, word, digest string, to io.Writer) error {
	found, err := c.StoredPayload(ctx, word, digest, 0, 0)
	if err != nil {
		return err
	}
	data, err := BytesOf(found)
	if err != nil {
		return err
	}
	_, err = to.Write(data)
	return err
}

// BytesOf returns the bytes of a payload that is stored. For another one the error, of kind NotFound, says what became of it.
func BytesOf(p *audit.Payload) ([]byte, error) {
	if p.State == audit.Stored {
		return p.Data, nil
	}
	message := "the payload is " + string(p.State)
	if p.Told != "" {
		message += ": " + p.Told
	}
	return nil, &Error{Kind: NotFound, Code: PayloadNotFound, Message: message, Run: p.Run}
}
