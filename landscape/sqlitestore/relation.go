package sqlitestore

import (
	"context"
	"fmt"

	"waymark/landscape"
)

var _ landscape.RelationReader = (*Store)(nil)

// ReadRelation does what landscape.RelationReader says.
func (s *Store) ReadRelation(ctx context.Context, r landscape.Relation, run string, yield func(values []any) bool) error {
	query, args := r.Select("?", run)
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return explain(s.path, fmt.Errorf("landscape: read %s: %w", r.Name, err))
	}
	defer rows.Close()
	values, targets := make([]any, len(r.Columns)), make([]any, len(r.Columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return explain(s.path, fmt.Errorf("landscape: read %s: %w", r.Name, err))
		}
		if !yield(values) {
			return nil
		}
	}
	return explain(s.path, rows.Err())
}
