package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
)

// Read does what landscape.Driver says.
func (s *Store) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	return s.each(ctx, nil, kind, q, yield)
}

// Snapshot does what landscape.Snapshotter says. Meanwhile the write-ahead log cannot be emptied.
func (s *Store) Snapshot(ctx context.Context, look func(landscape.RecordReader) error) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return explain(s.path, fmt.Errorf("landscape: %w", err))
	}
	defer tx.Rollback() //nolint:errcheck // it has changed nothing
	return look(snapshot{s, tx})
}

// snapshot reads in one transaction.
type snapshot struct {
	store *Store
	tx    *sql.Tx
}

// Read does what landscape.Driver says.
func (s snapshot) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	return s.store.each(ctx, s.tx, kind, q, yield)
}

// each reads records, in a transaction if there is one.
func (s *Store) each(
	ctx context.Context, tx *sql.Tx, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) (err error) {
	defer func() { err = explain(s.path, err) }()
	t := landscape.TableOf(kind)
	stmt, err := s.reads.of(ctx, s.read, selectSQL(t, q))
	if err != nil {
		return fmt.Errorf("landscape: read %s: %w", t.Name, err)
	}
	if tx != nil {
		stmt = tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // the transaction closes it
	}
	rows, err := stmt.QueryContext(ctx, arguments(q)...)
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

// TablesWith does what landscape.TableFinder says.
func (s *Store) TablesWith(ctx context.Context, run string, tables []string) (filled []string, err error) {
	defer func() { err = explain(s.path, err) }()
	parts, has, into := make([]string, len(tables)), make([]bool, len(tables)), make([]any, len(tables))
	for i, table := range tables {
		parts[i], into[i] = "exists (select 1 from "+table+" where run_id = ?1)", &has[i]
	}
	stmt, err := s.reads.of(ctx, s.read, "select "+strings.Join(parts, ", ")) //nolint:sqlclosecheck // it stays
	if err == nil {
		err = stmt.QueryRowContext(ctx, run).Scan(into...)
	}
	if err != nil {
		return nil, fmt.Errorf("landscape: look for records of run %s: %w", run, err)
	}
	for i, table := range tables {
		if has[i] {
			filled = append(filled, table)
		}
	}
	return filled, nil
}

// row returns room for the columns of one record, and pointers to it for Scan.
func row(t *landscape.Table) (values, targets []any) {
	values, targets = make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range values {
		targets[i] = kept{&values[i]}
	}
	return values, targets
}

// kept takes a value from the driver as it is. database/sql would clone each blob, and this driver gives each a memory of its own.
type kept struct{ into *any }

// Scan does what sql.Scanner says.
func (k kept) Scan(value any) error {
	*k.into = value
	return nil
}

// selectSQL selects what q does. Its parameters are arguments.
func selectSQL(t *landscape.Table, q landscape.Query) string {
	query := fmt.Sprintf("select %s from %s", names(t.Columns), t.Name)
	for i, c := range t.Columns[:len(q.Prefix)] {
		query += []string{" where ", " and "}[min(i, 1)] + c.Name + " = ?"
	}
	than, order := " > ", ""
	if q.Descending {
		than, order = " < ", " desc"
	}
	if n := len(q.After); n > 0 {
		columns := t.Columns[len(q.Prefix) : len(q.Prefix)+n]
		query += []string{" where (", " and ("}[min(len(q.Prefix), 1)] + names(columns) + ")" + than + "(?" + strings.Repeat(", ?", n-1) + ")"
	}
	for i, c := range t.Columns[:t.Keys] {
		query += []string{" order by ", ", "}[min(i, 1)] + c.Name + order
	}
	if q.Limit > 0 {
		query += " limit ?"
	}
	return query
}

// arguments are the values of the parameters of what selectSQL returns.
func arguments(q landscape.Query) []any {
	args := slices.Concat(q.Prefix, q.After)
	if q.Limit > 0 {
		args = append(args, int64(q.Limit))
	}
	return args
}
