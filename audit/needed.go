package audit

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/payload"
)

// A Use is what of a run needs a payload.
type Use struct {
	What  string `json:"what"`            // in words, such as the records of orders, chunk 3
	Token string `json:"token,omitempty"` // of the first of the records that it holds; "" if it holds none

	// Before is true for the records of a chunk as they were before rows of it were forgotten.
	Before bool `json:"before,omitempty"`

	chunk *landscape.Chunk // whose records it holds; nil for none
}

// EachUse calls yield with the payloads that a run needs, and what needs each of them: its document, its tables, the records of its chunks, and the states
// of its barriers. Of a chunk that has another payload because rows were forgotten it is both, the one of before first. It stops at the first error.
func EachUse(ctx context.Context, log *landscape.Reader, run landscape.Run, yield func(payload.Digest, Use) error) error {
	if err := yield(payload.Digest(run.DocumentSHA256), Use{What: "the document"}); err != nil {
		return err
	}
	tables, err := log.Tables(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := yield(payload.Digest(t.SHA256), Use{What: "the table of " + t.Node}); err != nil {
			return err
		}
	}
	origins, err := log.Sources(ctx, run.ID)
	if err != nil {
		return err
	}
	for _, origin := range origins {
		if err := eachUseOf(ctx, log, run.ID, origin.Source, yield); err != nil {
			return err
		}
	}
	return nil
}

// eachUseOf is EachUse of what came out of one source or barrier.
func eachUseOf(ctx context.Context, log *landscape.Reader, run, origin string, yield func(payload.Digest, Use) error) error {
	for chunk, err := range log.Chunks(ctx, run, origin) {
		if err != nil {
			return err
		}
		pack, err := log.PackOf(ctx, chunk)
		if err != nil {
			return err
		}
		use := Use{What: fmt.Sprintf("the records of %s, chunk %d", origin, chunk.Chunk), chunk: &chunk}
		if chunk.Rows > 0 {
			use.Token = fmt.Sprintf("%s:%d", origin, chunk.FirstRow)
		}
		if pack != chunk.Pack {
			before := use
			before.What, before.Before = before.What+", before rows of it were forgotten", true
			if err := yield(payload.Digest(chunk.Pack), before); err != nil {
				return err
			}
		}
		if err := yield(payload.Digest(pack), use); err != nil {
			return err
		}
	}
	folds, err := log.Folds(ctx, run, origin)
	if err != nil {
		return err
	}
	for _, fold := range folds {
		if fold.State == "" {
			continue
		}
		if err := yield(payload.Digest(fold.State), Use{What: fmt.Sprintf("the state of %s after fold %d", origin, fold.Fold)}); err != nil {
			return err
		}
	}
	return nil
}
