package audit

import (
	"context"
	"sync"

	"waymark/landscape"
)

// progress counts the rows that were looked at. Each counts when its token is counted, and when it goes through the steps again.
type progress struct {
	mu          sync.Mutex
	done, total int64
	report      func(done, total int64)
}

// beginProgress counts what there is to do, if somebody wants to know.
func (v *verification) beginProgress(ctx context.Context) error {
	if v.options.Progress == nil {
		return nil
	}
	p := v.progress
	p.report = v.options.Progress
	times := int64(1)
	if concluded(v.report.Status) {
		times = 2
	}
	return landscape.Each(ctx, v.log, func(c chunkRows) bool {
		p.total += times * c.Rows
		return true
	}, v.run.ID)
}

// add counts rows.
func (p *progress) add(rows int64) {
	if p.report == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += rows
	p.report(p.done, p.total)
}

// chunkRows is how many rows a chunk has.
type chunkRows struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Rows   int64  `db:"rows"`
}

// Table returns chunks.
func (chunkRows) Table() string { return "chunks" }
