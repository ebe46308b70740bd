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

// Retried returns the records of its parent that a run feeds again, by source and row; nil if there is none.
func (l *Log) Retried(ctx context.Context, run string) ([]RetriedRow, error) {
	linked, err := get[Run](ctx, l.driver, run)
	if err != nil || linked.Link != RetryLink {
		return nil, err
	}
	var found []RetriedRow
	err = each(ctx, l.driver, []any{linked.Parent}, func(r RetriedRow) bool {
		if r.Run == run {
			found = append(found, r)
		}
		return true
	})
	return found, err
}

// RetriedFrom returns the records of a run that other runs feed again, by source and row; nil if there is none.
func (l *Log) RetriedFrom(ctx context.Context, parent string) ([]RetriedRow, error) {
	return Select[RetriedRow](ctx, l.driver, parent)
}
