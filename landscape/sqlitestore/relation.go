package sqlitestore

import (
	"context"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/rowview"
)

var _ landscape.RelationReader = (*Store)(nil)

// ReadRelation does what landscape.RelationReader says. It asks the other views of rows for one chunk after the other: to sort the rows of a large run
// takes SQLite many times as long as to compute them.
func (s *Store) ReadRelation(ctx context.Context, r landscape.Relation, run string, yield func(values []any) bool) error {
	if rowview.Has(r.Name) {
		return rowview.Read(ctx, s, r, run, yield)
	}
	if r.ByRow {
		return explain(s.path, s.readChunks(ctx, r, run, yield))
	}
	conditions, args := ofRun(run)
	_, err := s.readValues(ctx, r.Select(conditions), args, len(r.Columns), yield)
	return explain(s.path, err)
}

func (s *Store) readChunks(ctx context.Context, r landscape.Relation, run string, yield func(values []any) bool) error {
	conditions, args := ofRun(run)
	if conditions != "" {
		conditions = " where " + conditions
	}
	var chunks [][]any
	list := "select run_id, source, first_row, first_row + rows - 1 from chunks" + conditions + " order by 1, 2, 3"
	_, err := s.readValues(ctx, list, args, 4, func(values []any) bool {
		chunks = append(chunks, append([]any(nil), values...))
		return true
	})
	query := r.Select("run_id = ? and source = ? and row between ? and ?")
	more := err == nil
	for i := 0; more && i < len(chunks); i++ {
		more, err = s.readValues(ctx, query, chunks[i], len(r.Columns), yield)
	}
	return err
}

func ofRun(run string) (conditions string, args []any) {
	if run == "" {
		return "", nil
	}
	return "run_id = ?", []any{run}
}

// readValues calls yield with each row of the answer until it returns false, and reports whether it never did and
// nothing failed.
func (s *Store) readValues(ctx context.Context, query string, args []any, columns int, yield func([]any) bool) (all bool, err error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return false, fmt.Errorf("landscape: read: %w", err)
	}
	defer rows.Close()
	values, targets := make([]any, columns), make([]any, columns)
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return false, fmt.Errorf("landscape: read: %w", err)
		}
		if !yield(values) {
			return false, nil
		}
	}
	return rows.Err() == nil, rows.Err()
}
