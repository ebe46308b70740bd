package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strconv"

	"waymark/audit"
	"waymark/client"
	"waymark/landscape"
	"waymark/serve/ui"
)

// ofPayload are the parameters of the page of a payload.
var ofPayload = []param{{name: "after", number: true}}

// payloadRecords is how many records a page lists.
const payloadRecords = 50

// payloadPage shows what is stored under a digest that the run needs.
func payloadPage(ctx context.Context, c *call, run landscape.Run) (ui.Page, error) {
	after, _ := strconv.Atoi(c.query.Get("after"))
	found, err := c.payload(ctx, run, after, payloadRecords)
	if err != nil {
		return ui.Page{}, err
	}
	body := ui.Payload{Payload: found}
	if found.Pack != nil && after+payloadRecords < found.Pack.Records {
		body.Next = c.URL.EscapedPath() + "?after=" + strconv.Itoa(after+payloadRecords)
	}
	return ui.Page{
		Title: "Payload", Crumbs: crumbs(run, "payload "+found.Digest[:12]), Body: body,
		SQL: "select source, chunk, first_row, rows from chunks where run_id = '" + run.ID + "' and pack = '" + found.Digest + "'",
	}, nil
}

// payload looks at the payload that is asked for, and records that somebody is about to be shown what it holds.
func (c *call) payload(ctx context.Context, run landscape.Run, after, limit int) (*audit.Payload, error) {
	found, err := c.server.Home.StoredPayload(ctx, run.ID, c.PathValue("digest"), after, limit)
	if err != nil {
		return nil, err
	}
	return found, c.disclose(run.ID, "payload", found.Digest)
}

// sendPayload sends the bytes of a payload as a file: no browser shows them, whatever they are.
func sendPayload(ctx context.Context, c *call, run landscape.Run) (any, error) {
	found, err := c.payload(ctx, run, 0, 0)
	if err != nil {
		return nil, err
	}
	data, err := client.BytesOf(found)
	if err != nil {
		return nil, err
	}
	c.attach("application/octet-stream", found.Digest, "no-store")
	sum := sha256.Sum256(data)
	c.sendFile(bytes.NewReader(data), sum[:])
	return nil, nil
}
