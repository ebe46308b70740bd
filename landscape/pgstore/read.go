package pgstore

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

// Read does what landscape.Driver says. What broke before the first record is asked again.
func (s *Store) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	t := landscape.TableOf(kind)
	return s.readEach(ctx, t, selectSQL(t, q), arguments(q), yield)
}

// ReadSets does what landscape.SetReader says.
func (s *Store) ReadSets(
	ctx context.Context, kind landscape.Record, prefixes [][]any, q landscape.Query, yield func(landscape.Record) bool,
) error {
	t := landscape.TableOf(kind)
	one := selectSQL(t, landscape.Query{Prefix: prefixes[0], Descending: q.Descending})
	var args []any
	var sets, wanted []string
	for i, value := range prefixes[0] {
		kind, name := "text", fmt.Sprintf("w%d", i+1)
		if reflect.ValueOf(value).CanInt() {
			kind = "bigint"
		}
		values := make([]any, len(prefixes))
		for k, prefix := range prefixes {
			values[k] = encodeAny(prefix[i])
		}
		one = strings.Replace(one, fmt.Sprintf(" = $%d", i+1), " = "+name, 1)
		sets, wanted, args = append(sets, fmt.Sprintf("$%d::%s[]", i+1, kind)), append(wanted, name), append(args, values)
	}
	if q.Limit > 0 {
		one += fmt.Sprintf(" limit %d", q.Limit)
	}
	found, order := make([]string, len(t.Columns)), "nth" // a kind may have a column twice
	for i := range t.Columns {
		found[i] = fmt.Sprintf("f%d", i+1)
		if i < t.Keys {
			order += ", " + found[i] + descending(q)
		}
	}
	query := fmt.Sprintf("select found.* from unnest(%s) with ordinality wanted (%s, nth)"+
		" cross join lateral (%s) found (%s) order by %s",
		strings.Join(sets, ", "), strings.Join(wanted, ", "), one, strings.Join(found, ", "), order)
	return s.readEach(ctx, t, query, args, yield)
}

// readEach calls yield with the records that a query finds, until it returns false.
func (s *Store) readEach(
	ctx context.Context, t *landscape.Table, query string, args []any, yield func(landscape.Record) bool,
) error {
	var begun bool
	var broken error
	err := again(ctx, func() error {
		err := each(ctx, s.pool, t, query, args, func(r landscape.Record) bool { begun = true; return yield(r) })
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

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// Snapshot does what landscape.Snapshotter says.
func (s *Store) Snapshot(ctx context.Context, look func(landscape.RecordReader) error) error {
	var tx pgx.Tx
	err := again(ctx, func() (err error) {
		tx, err = s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		return err
	})
	if err != nil {
		return explain(s.place, err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it has changed nothing
	return look(snapshot{s, tx})
}

// snapshot reads in one transaction.
type snapshot struct {
	store *Store
	tx    pgx.Tx
}

// Read does what landscape.Driver says.
func (s snapshot) Read(
	ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool,
) error {
	t := landscape.TableOf(kind)
	if err := each(ctx, s.tx, t, selectSQL(t, q), arguments(q), yield); err != nil {
		return explain(s.store.place, fmt.Errorf("read %s: %w", t.Name, err))
	}
	return nil
}

func each(
	ctx context.Context, from querier, t *landscape.Table, query string, args []any, yield func(landscape.Record) bool,
) error {
	rows, err := from.Query(ctx, query, args...)
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

// TablesWith does what landscape.TableFinder says.
func (s *Store) TablesWith(ctx context.Context, run string, tables []string) (filled []string, err error) {
	parts, has, into := make([]string, len(tables)), make([]bool, len(tables)), make([]any, len(tables))
	for i, table := range tables {
		parts[i], into[i] = "exists (select from "+table+" where run_id = $1)", &has[i]
	}
	err = again(ctx, func() error {
		return s.pool.QueryRow(ctx, "select "+strings.Join(parts, ", "), landscape.PortableText(run)).Scan(into...)
	})
	if err != nil {
		return nil, explain(s.place, fmt.Errorf("look for records of run %s: %w", run, err))
	}
	for i, table := range tables {
		if has[i] {
			filled = append(filled, table)
		}
	}
	return filled, nil
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

// selectSQL selects what q does. Its parameters are arguments.
func selectSQL(t *landscape.Table, q landscape.Query) string {
	query := fmt.Sprintf("select %s from %s", names(t.Columns), t.Name)
	for i, c := range t.Columns[:len(q.Prefix)] {
		query += fmt.Sprintf("%s%s = $%d", []string{" where ", " and "}[min(i, 1)], c.Name, i+1)
	}
	than, order, parameter := " > ", descending(q), len(q.Prefix)
	if q.Descending {
		than = " < "
	}
	if n := len(q.After); n > 0 {
		places := make([]string, n)
		for i := range places {
			parameter++
			places[i] = fmt.Sprintf("$%d", parameter)
		}
		columns := t.Columns[len(q.Prefix) : len(q.Prefix)+n]
		query += []string{" where (", " and ("}[min(len(q.Prefix), 1)] + names(columns) + ")" + than + "(" + strings.Join(places, ", ") + ")"
	}
	for i, c := range t.Columns[:t.Keys] {
		query += []string{" order by ", ", "}[min(i, 1)] + c.Name + order
	}
	if q.Limit > 0 {
		query += fmt.Sprintf(" limit $%d", parameter+1)
	}
	return query
}

// descending is what follows each column by which a query orders.
func descending(q landscape.Query) string {
	if q.Descending {
		return " desc"
	}
	return ""
}

// arguments are the values of the parameters of what selectSQL returns.
func arguments(q landscape.Query) []any {
	args := slices.Concat(q.Prefix, q.After)
	for i, v := range args {
		args[i] = encodeAny(v)
	}
	if q.Limit > 0 {
		args = append(args, int64(q.Limit))
	}
	return args
}
