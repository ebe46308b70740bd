package pgstore

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/rowview"
)

var _ landscape.RelationReader = (*Store)(nil)

// ReadRelation does what landscape.RelationReader says.
func (s *Store) ReadRelation(ctx context.Context, r landscape.Relation, run string, yield func(values []any) bool) error {
	if rowview.Has(r.Name) {
		return rowview.Read(ctx, s, r, run, yield)
	}
	conditions, args := "", []any(nil)
	if run != "" {
		conditions, args = "run_id = $1", []any{encodeAny(run)}
	}
	rows, err := s.pool.Query(ctx, r.Select(conditions), args...)
	if err != nil {
		return explain(s.place, fmt.Errorf("read %s: %w", r.Name, err))
	}
	defer rows.Close()
	for rows.Next() {
		values, err := read(rows)
		if err != nil {
			return explain(s.place, fmt.Errorf("read %s: %w", r.Name, err))
		}
		if !yield(values) {
			return nil
		}
	}
	return explain(s.place, rows.Err())
}
