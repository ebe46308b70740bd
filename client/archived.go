package client

import (
	"context"
	"fmt"

	"waymark/landscape"
)

// NotArchived refuses what needs the record of a run in the landscape: an archived run cannot be resumed, or whatever what says. The error is an *Error of kind Conflict.
func (c *Client) NotArchived(ctx context.Context, run, what string) (err error) {
	defer c.edge(ctx, &err)
	return notArchived(ctx, c.log.Reader, run, what)
}

func notArchived(ctx context.Context, log *landscape.Reader, run, what string) error {
	archive, err := log.ArchiveOf(ctx, run)
	if err != nil || archive == nil {
		return err
	}
	refused := &landscape.ArchivedError{Archive: *archive}
	return &Error{
		Kind: Conflict, Code: RunArchived, Run: run, Err: refused,
		Message: fmt.Sprintf("%v: it can be read there, and not %s; start a new run of its pipeline instead", refused, what),
	}
}
