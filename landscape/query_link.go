package landscape

import "context"

// LinkedRun is a run that comes of another one.
type LinkedRun struct {
	Parent string `db:"parent_run,key"`
	Run    string `db:"run_id,key"`
	Link   Link   `db:"link"`
}

// Table returns runs.
func (LinkedRun) Table() string { return "runs" }

// LinkedRuns returns the runs that come of a run, by id; nil if there is none.
func (r *Reader) LinkedRuns(ctx context.Context, parent string) ([]LinkedRun, error) {
	return Select[LinkedRun](ctx, r.from, parent)
}
