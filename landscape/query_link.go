package landscape

import "context"

// LinkedRun is a run that comes of another one.
type LinkedRun struct {
	Run    string `db:"run_id,key"`
	Parent string `db:"parent_run"`
	Link   Link   `db:"link"`
}

// Table returns runs.
func (LinkedRun) Table() string { return "runs" }

// LinkedRuns returns the runs that come of a run, by id; nil if there is none.
func (r *Reader) LinkedRuns(ctx context.Context, parent string) ([]LinkedRun, error) {
	var linked []LinkedRun
	err := each(ctx, r.from, nil, func(link LinkedRun) bool {
		if link.Parent == parent {
			linked = append(linked, link)
		}
		return true
	})
	return linked, err
}
