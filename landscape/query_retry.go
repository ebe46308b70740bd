package landscape

import "context"

// RetriedBy returns the run that feeds a record of a run again; "" if none does.
func (l *Log) RetriedBy(ctx context.Context, parent, source string, row int64) (run string, err error) {
	found, err := Select[RetriedRow](ctx, l.driver, parent, source, row)
	if len(found) > 0 {
		run = found[0].Run
	}
	return run, err
}

// WayAt returns the way of record number i of the chunk; nil if it has no token in the lane. The error wraps ErrIncomplete if
// its code means nothing.
func (r LaneRoutes) WayAt(i int) (*Way, error) { return r.way(i) }
