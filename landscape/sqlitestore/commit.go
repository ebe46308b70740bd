package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
)

// Commit does what landscape.Driver says.
func (s *Store) Commit(ctx context.Context, b landscape.Batch) (err error) {
	defer func() { err = explain(s.path, err) }()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("landscape: begin: %w", err)
	}
	if err := apply(ctx, tx, b); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("landscape: roll back: %w", undo))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("landscape: commit: %w", err)
	}
	return nil
}

func apply(ctx context.Context, tx *sql.Tx, b landscape.Batch) error {
	for rest := b.Insert; len(rest) > 0; {
		n := sameTable(rest)
		if err := insertAll(ctx, tx, landscape.TableOf(rest[0]), rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for _, m := range b.Move {
		if err := move(ctx, tx, m); err != nil {
			return err
		}
	}
	if b.Check == "" {
		return nil
	}
	findings, err := sweep(ctx, tx, b.Check, countChecks)
	if err == nil && len(findings) > 0 {
		return &landscape.ImbalanceError{Run: b.Check, Findings: findings}
	}
	return err
}

// sameTable returns how many of the first records belong to the same table as the first.
func sameTable(records []landscape.Record) int {
	name := records[0].Table()
	for i, r := range records {
		if r.Table() != name {
			return i
		}
	}
	return len(records)
}

// insertRows is how many small records one statement inserts. Measured: the driver's binding is quadratic in the
// parameters.
const insertRows = 32

// wideBytes is the length from which a blob makes a record wide. Measured: with the guards, a statement for each wide record
// costs less than one for several.
const wideBytes = 1024

// insertAll inserts records of one table, and compares those that were there with what is stored.
func insertAll(ctx context.Context, tx *sql.Tx, t *landscape.Table, records []landscape.Record) error {
	most := insertRows
	if isWide(t, records[0]) {
		most = 1
	}
	var full *sql.Stmt
	for len(records) > 0 {
		n := min(len(records), most)
		stmt := full
		if stmt == nil || n < most {
			var err error
			if stmt, err = tx.PrepareContext(ctx, insertSQL(t, n)); err != nil {
				return fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
			}
			defer stmt.Close()
		}
		if n == most {
			full = stmt
		}
		if err := insert(ctx, tx, stmt, t, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func isWide(t *landscape.Table, r landscape.Record) bool {
	return slices.ContainsFunc(t.AppendValues(nil, r), func(v any) bool {
		blob, ok := v.([]byte)
		return ok && len(blob) >= wideBytes
	})
}

// insert inserts records of one table. A guard refuses all of them if one is there already: then it goes one by one.
func insert(ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, t *landscape.Table, records []landscape.Record) error {
	values := make([]any, 0, len(records)*len(t.Columns))
	for _, r := range records {
		values = t.AppendValues(values, r)
	}
	_, err := stmt.ExecContext(ctx, values...)
	if err == nil {
		return nil
	}
	if !isConstraint(err) {
		return fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
	}
	for ; len(values) > 0; values = values[len(t.Columns):] {
		if err := insertOne(ctx, tx, t, values[:len(t.Columns)]); err != nil {
			return err
		}
	}
	return nil
}

// insertOne compares a record with the one that has its key, and inserts it if there is none.
func insertOne(ctx context.Context, tx *sql.Tx, t *landscape.Table, values []any) error {
	err := compare(ctx, tx, t, values)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, err := tx.ExecContext(ctx, insertSQL(t, 1), values...); err != nil {
		return fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
	}
	return nil
}

// compare reads the record with the key of wanted and reports whether it diverges.
func compare(ctx context.Context, tx *sql.Tx, t *landscape.Table, wanted []any) error {
	stored, targets := row(t)
	query := selectSQL(t, t.Keys)
	if err := tx.QueryRowContext(ctx, query, wanted[:t.Keys]...).Scan(targets...); err != nil {
		return fmt.Errorf("landscape: compare %s %s: %w", t.Name, t.Key(wanted), err)
	}
	return t.Diverged(stored, wanted)
}

func insertSQL(t *landscape.Table, rows int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", ") + ")"
	return fmt.Sprintf("insert into %s (%s) values %s", t.Name, names(t.Columns), strings.TrimSuffix(strings.Repeat(one+", ", rows), ", "))
}

func names(columns []landscape.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
	}
	return strings.Join(list, ", ")
}

// move sets the columns tagged move if they are as expected.
func move(ctx context.Context, tx *sql.Tx, m landscape.Move) error {
	t := landscape.TableOf(m.To)
	from, to := t.AppendValues(nil, m.From), t.AppendValues(nil, m.To)
	var set, where []string
	var values, expected []any
	for i, c := range t.Columns {
		switch {
		case c.Key:
			where, expected = append(where, c.Name+" = ?"), append(expected, from[i])
		case c.Move:
			set, values = append(set, c.Name+" = ?"), append(values, to[i])
			where, expected = append(where, c.Name+" is ?"), append(expected, from[i])
		}
	}
	query := fmt.Sprintf("update %s set %s where %s", t.Name, strings.Join(set, ", "), strings.Join(where, " and "))
	result, err := tx.ExecContext(ctx, query, append(values, expected...)...)
	if err != nil {
		return fmt.Errorf("landscape: move %s %s: %w", t.Name, t.Key(to), err)
	}
	moved, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("landscape: move %s %s: %w", t.Name, t.Key(to), err)
	}
	if moved == 0 {
		return fmt.Errorf("%s %s: %w", t.Name, t.Key(to), landscape.ErrStale)
	}
	return nil
}
