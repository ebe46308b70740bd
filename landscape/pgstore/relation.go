package pgstore

import (
	"context"
	"fmt"

	"waymark/landscape"
)

var _ landscape.RelationReader = (*Store)(nil)

// ReadRelation does what landscape.RelationReader says.
func (s *Store) ReadRelation(ctx context.Context, r landscape.Relation, run string, yield func(values []any) bool) error {
	query, args := r.Select("$1", run)
	rows, err := s.pool.Query(ctx, query, args...)
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
