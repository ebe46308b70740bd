package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

// Read does what landscape.Driver says. What broke before the first record is asked again.
func (s *Store) Read(ctx context.Context, kind landscape.Record, prefix []any, yield func(landscape.Record) bool) error {
	t := landscape.TableOf(kind)
	args := make([]any, len(prefix))
	for i, v := range prefix {
		args[i] = encodeAny(v)
	}
	var begun bool
	var broken error
	err := again(ctx, func() error {
		err := s.each(ctx, t, args, func(r landscape.Record) bool { begun = true; return yield(r) })
		if begun { // who yields a record twice is no reader
			broken, err = err, nil
		}
		return err
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return explain(s.place, fmt.Errorf("read %s: %w", t.Name, err))
	}
	return nil
}

func (s *Store) each(ctx context.Context, t *landscape.Table, prefix []any, yield func(landscape.Record) bool) error {
	rows, err := s.pool.Query(ctx, selectSQL(t, len(prefix)), prefix...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := read(rows)
		if err != nil {
			return err
		}
		record, err := t.Record(values)
		if err != nil {
			return err
		}
		if !yield(record) {
			return nil
		}
	}
	return rows.Err()
}

// read returns the values of the present row, as landscape.Table has them.
func read(rows pgx.Rows) ([]any, error) {
	values, err := rows.Values()
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = decode(text)
		}
	}
	return values, nil
}

// selectSQL selects the records whose first key columns are given.
func selectSQL(t *landscape.Table, keys int) string {
	query := fmt.Sprintf("select %s from %s", names(t.Columns), t.Name)
	for i, c := range t.Columns[:keys] {
		query += fmt.Sprintf("%s%s = $%d", []string{" where ", " and "}[min(i, 1)], c.Name, i+1)
	}
	return query + " order by " + strings.TrimSpace(names(t.Columns[:t.Keys]))
}
