package sqlitestore

import (
	"context"
	"fmt"
	"strings"

	"waymark/landscape"
)

// Read does what landscape.Driver says.
func (s *Store) Read(ctx context.Context, kind landscape.Record, prefix []any, yield func(landscape.Record) bool) (err error) {
	defer func() { err = explain(s.path, err) }()
	t := landscape.TableOf(kind)
	stmt, err := s.reads.of(ctx, s.read, selectSQL(t, len(prefix))) //nolint:sqlclosecheck // it stays
	if err != nil {
		return fmt.Errorf("landscape: read %s: %w", t.Name, err)
	}
	rows, err := stmt.QueryContext(ctx, prefix...)
	if err != nil {
		return fmt.Errorf("landscape: read %s: %w", t.Name, err)
	}
	defer rows.Close()
	values, targets := row(t)
	for rows.Next() {
		clear(values)
		if err := rows.Scan(targets...); err != nil {
			return fmt.Errorf("landscape: read %s: %w", t.Name, err)
		}
		record, err := t.Record(values)
		if err != nil {
			return fmt.Errorf("landscape: read: %w", err)
		}
		if !yield(record) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("landscape: read %s: %w", t.Name, err)
	}
	return nil
}

// row returns room for the columns of one record, and pointers to it for Scan.
func row(t *landscape.Table) (values, targets []any) {
	values, targets = make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		targets[i] = &values[i]
	}
	return values, targets
}

// selectSQL selects the records whose first key columns are given.
func selectSQL(t *landscape.Table, keys int) string {
	query := fmt.Sprintf("select %s from %s", names(t.Columns), t.Name)
	for i, c := range t.Columns[:keys] {
		query += []string{" where ", " and "}[min(i, 1)] + c.Name + " = ?"
	}
	return query + " order by " + strings.TrimSpace(names(t.Columns[:t.Keys]))
}
