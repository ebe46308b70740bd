package landscape

import "context"

// RetriedBy returns the run that feeds a record of a run again; "" if none does.
func (r *Reader) RetriedBy(ctx context.Context, parent, source string, row int64) (run string, err error) {
	found, err := Select[RetriedRow](ctx, r.from, parent, source, row)
	if len(found) > 0 {
		run = found[0].Run
	}
	return run, err
}

// Retried returns the records of its parent that a run retries, by source and row; nil if there is none.
func (r *Reader) Retried(ctx context.Context, run string) ([]RetriedRow, error) {
	linked, err := get[Run](ctx, r.from, run)
	if err != nil || linked.Link != RetryLink {
		return nil, err
	}
	var found []RetriedRow
	err = each(ctx, r.from, []any{linked.Parent}, func(row RetriedRow) bool {
		if row.Run == run {
			found = append(found, row)
		}
		return true
	})
	return found, err
}

// RetriedFrom returns the records of a run that other runs retry, by source and row; nil if there is none.
func (r *Reader) RetriedFrom(ctx context.Context, parent string) ([]RetriedRow, error) {
	return Select[RetriedRow](ctx, r.from, parent)
}

// RetriedIn returns which runs were fed records of a run, by the records; nil if there is none.
func (r *Reader) RetriedIn(ctx context.Context, parent string) (by map[RowKey]string, err error) {
	err = each(ctx, r.from, []any{parent}, func(row RetriedRow) bool {
		if by == nil {
			by = map[RowKey]string{}
		}
		by[RowKey{parent, row.Source, row.Row}] = row.Run
		return true
	})
	return by, err
}
