package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/landscape/sweep"
)

// Commit does what landscape.Driver says.
func (s *Store) Commit(ctx context.Context, b landscape.Tx) (err error) {
	defer func() { err = explain(s.path, err) }()
	at := momentsOf(b)
	if err := at.hit("begin"); err != nil {
		return err
	}
	if err := s.inserts.prepare(ctx, s, b.Insert); err != nil {
		return err
	}
	moves, err := s.prepareMoves(ctx, b.Move)
	if err != nil {
		return err
	}
	pass, err := s.prepareGuard(ctx, b.Guard)
	if err != nil {
		return err
	}
	w := &waiting{ctx: ctx, tx: b, moves: moves, pass: pass}
	if b.Check != "" {
		if w.checks, err = s.writes.all(ctx, s.write, questions(sweep.Counts)...); err != nil {
			return fmt.Errorf("landscape: sweep: %w", err)
		}
	}
	if b.Seal != nil {
		if w.counts, err = s.writes.of(ctx, s.write, countSQL(b.Seal)); err != nil {
			return fmt.Errorf("landscape: seal: %w", err)
		}
	}
	if b.Append != nil {
		if w.append, err = s.writes.of(ctx, s.write, appendSQL); err != nil {
			return fmt.Errorf("landscape: append to the log: %w", err)
		}
	}
	if err := processors.Breathe(ctx); err != nil {
		return err
	}
	if err := s.commit(w); err != nil {
		return err
	}
	return at.hit("committed")
}

// appendSQL appends an entry to the log, unless that has one about the same. A trigger counts it in the log's head.
const appendSQL = `
	insert into log (position, about, entry, leaf)
	select size, ?, ?, ? from log_head where not exists (select * from log where about = ?)`

// apply does all of a landscape.Tx but commit it.
func (s *Store) apply(ctx context.Context, tx *sql.Tx, w *waiting) error {
	b, at := w.tx, momentsOf(w.tx)
	if err := w.pass.check(ctx, tx); err != nil {
		return err
	}
	repeats := false
	err := eachInsert(b.Insert, func(t *landscape.Table, records []landscape.Record) error {
		some, err := insert(ctx, tx, tx.StmtContext(ctx, s.inserts.of(t, len(records))), t, records)
		repeats = repeats || some
		return err
	})
	if err != nil {
		return err
	}
	if b.Repeats != nil {
		*b.Repeats = repeats
	}
	if err := at.hit("inserted"); err != nil {
		return err
	}
	for i, m := range b.Move {
		if err := move(ctx, tx.StmtContext(ctx, w.moves[i]), m); err != nil {
			return err
		}
	}
	if b.Remove != "" {
		if err := remove(ctx, tx, b.Remove); err != nil {
			return err
		}
	}
	if b.Seal != nil {
		if err := seal(ctx, tx, *b.Seal, w.counts); err != nil {
			return err
		}
	}
	if b.Check != "" {
		if err := balanced(ctx, tx, b.Check, w.checks); err != nil {
			return err
		}
	}
	for _, entry := range b.Append {
		stmt := tx.StmtContext(ctx, w.append) //nolint:sqlclosecheck // the transaction closes it
		if _, err := stmt.ExecContext(ctx, entry.About, entry.Entry, entry.Leaf, entry.About); err != nil {
			return fmt.Errorf("landscape: append to the log: %w", err)
		}
	}
	return at.hit("committing")
}

// remove removes what is recorded of an archived run, children before parents.
func remove(ctx context.Context, tx *sql.Tx, run string) error {
	for _, t := range slices.Backward(landscape.Archivable()) {
		if _, err := tx.ExecContext(ctx, "delete from "+t.Name+" where run_id = ?", run); err != nil {
			return fmt.Errorf("landscape: remove run %s from %s: %w", run, t.Name, err)
		}
	}
	return nil
}

// balanced refuses a run with whose counts something is wrong.
func balanced(ctx context.Context, tx *sql.Tx, run string, prepared []*sql.Stmt) error {
	wrong, err := findings(ctx, tx, run, sweep.Counts, prepared)
	if err == nil && len(wrong) > 0 {
		return &landscape.ImbalanceError{Run: run, Findings: wrong}
	}
	return err
}

// countSQL counts the records that a seal binds, table by table, and then how often effects were moved. Its parameter is the run.
func countSQL(s *landscape.NewSeal) string {
	parts := make([]string, 0, len(s.Counts)+1)
	for _, c := range s.Counts {
		parts = append(parts, "(select count(*) from "+c.Table+" where run_id = ?1)")
	}
	parts = append(parts, fmt.Sprintf("(select coalesce(sum(changed_us & %d), 0) from effects where run_id = ?1)", landscape.MovedBits))
	return "select " + strings.Join(parts, ", ")
}

// seal inserts the seal of a run, unless the run has other records than it binds. counts is the statement of countSQL.
func seal(ctx context.Context, tx *sql.Tx, s landscape.NewSeal, counts *sql.Stmt) error {
	n := len(s.Counted())
	found, into := make([]int64, n), make([]any, n)
	for i := range found {
		into[i] = &found[i]
	}
	stmt := tx.StmtContext(ctx, counts) //nolint:sqlclosecheck // the transaction closes it
	if err := stmt.QueryRowContext(ctx, s.Run).Scan(into...); err != nil {
		return fmt.Errorf("landscape: seal: count the records of run %s: %w", s.Run, err)
	}
	if err := s.Fits(found); err != nil {
		return err
	}
	t := landscape.TableOf(s.RunSeal)
	return insertOne(ctx, tx, t, t.AppendValues(nil, s.RunSeal))
}

// insert inserts records of one table. A guard refuses all of them if one is there already: then it goes one by one.
// repeats says that this was so.
func insert(
	ctx context.Context, tx *sql.Tx, stmt *sql.Stmt, t *landscape.Table, records []landscape.Record,
) (repeats bool, err error) {
	values := make([]any, 0, len(records)*len(t.Columns))
	for _, r := range records {
		values = t.AppendValues(values, r)
	}
	_, err = stmt.ExecContext(ctx, values...)
	if err == nil {
		return false, nil
	}
	if !isConstraint(err) {
		return false, fmt.Errorf("landscape: insert into %s: %w", t.Name, err)
	}
	for ; len(values) > 0; values = values[len(t.Columns):] {
		if err := insertOne(ctx, tx, t, values[:len(t.Columns)]); err != nil {
			return true, err
		}
	}
	return true, nil
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
	query := landscape.Query{Prefix: wanted[:t.Keys]}
	if err := tx.QueryRowContext(ctx, selectSQL(t, query), query.Prefix...).Scan(targets...); err != nil {
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

// move sets the columns tagged move if they are as expected. stmt is that of moveSQL.
func move(ctx context.Context, stmt *sql.Stmt, m landscape.Move) error {
	t := landscape.TableOf(m.To)
	from, to := t.AppendValues(nil, m.From), t.AppendValues(nil, m.To)
	var values, expected []any
	for i, c := range t.Columns {
		if c.Move {
			values = append(values, to[i])
		}
		if c.Move || c.Key {
			expected = append(expected, from[i])
		}
	}
	result, err := stmt.ExecContext(ctx, append(values, expected...)...)
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

// moveSQL sets the columns tagged move of the record with a key, if they are as expected: their values, then, in order of the columns,
// the key and what is expected.
func moveSQL(t *landscape.Table) string {
	var set, where []string
	for _, c := range t.Columns {
		switch {
		case c.Key:
			where = append(where, c.Name+" = ?")
		case c.Move:
			set, where = append(set, c.Name+" = ?"), append(where, c.Name+" is ?")
		}
	}
	return fmt.Sprintf("update %s set %s where %s", t.Name, strings.Join(set, ", "), strings.Join(where, " and "))
}
