package parquet

import (
	"context"

	"waymark/internal/defect"
	"waymark/plugin"
)

// ahead is a chunk that is read while the one before it is stored and goes through the steps: its pages are decompressed, decoded and
// made text meanwhile.
type ahead struct {
	limits plugin.Limits
	chunk  plugin.Chunk
	err    error
	done   chan struct{} // closed when chunk and err are there: until then they, and what the reader reads rows with, are its own
}

// begin begins to read the next chunk.
func (r *reader) begin(limits plugin.Limits) {
	next := &ahead{limits: limits, chunk: r.spare, done: make(chan struct{})}
	r.ahead, r.spare = next, plugin.Chunk{}
	go func() {
		defer close(next.done)
		next.err = defect.Catch("parquet", func() error { return r.fill(limits, &next.chunk) })
	}()
}

// take waits for the next chunk, and gives its memory for that of c. If ctx ends before, the reader is of no more use.
func (r *reader) take(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	if r.ahead != nil && r.ahead.limits != limits {
		r.drop()
		r.err = nil
		r.rewind()
	}
	if r.ahead == nil {
		r.begin(limits)
	}
	next := r.ahead
	select {
	case <-next.done:
	case <-ctx.Done():
		return r.source.about(r.path(), ctx.Err())
	}
	r.ahead, r.spare = nil, *c
	*c = next.chunk
	return next.err
}

// drop waits until the chunk that is being read is there, and forgets it.
func (r *reader) drop() {
	if r.ahead != nil {
		<-r.ahead.done
		r.ahead = nil
	}
}
