package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"waymark/landscape"
)

// insert inserts records of one table with one statement: each column is an array. Measured with chunks of 32,768 rows; see
// docs/adr/0009-postgres.md.
type insert struct {
	table   *landscape.Table
	kinds   map[string]kind
	records [][]any // values, in the order of their keys
	sql     string  // leaves what is there
	onlyNew string  // fails if something is there
	arrays  []any
}

// mostRecords and mostBytes limit one statement.
const (
	mostRecords = 32_768
	mostBytes   = 16 << 20
)

// prepare makes statements of records: each of records of one table that follow each other. Within a statement the keys are in
// order, so that two transactions that insert the same records wait for each other at the first.
func (s *Store) prepare(records []landscape.Record) ([]*insert, error) {
	var list []*insert
	for len(records) > 0 {
		t := landscape.TableOf(records[0])
		i := &insert{table: t, kinds: s.columns[t.Name]}
		size := 0
		for n, r := range records {
			if r.Table() != t.Name || n == mostRecords || size > mostBytes {
				break
			}
			values := t.AppendValues(nil, r)
			for _, v := range values {
				if blob, ok := v.([]byte); ok {
					size += len(blob)
				}
			}
			i.records = append(i.records, values)
		}
		records = records[len(i.records):]
		slices.SortStableFunc(i.records, func(a, b []any) int { return landscape.CompareKeys(a[:t.Keys], b[:t.Keys]) })
		i.onlyNew = insertSQL(t, i.kinds)
		i.sql = i.onlyNew + " on conflict (" + names(t.Columns[:t.Keys]) + ") do nothing"
		if i.arrays = i.columns(len(t.Columns)); i.arrays == nil {
			return nil, fmt.Errorf("landscape: the table %s has a column whose kind is not known", t.Name)
		}
		list = append(list, i)
	}
	return list, nil
}

// columns returns the first columns of the records as arrays.
func (i *insert) columns(first int) []any {
	arrays := make([]any, first)
	for at, c := range i.table.Columns[:first] {
		switch i.kinds[c.Name] {
		case texts:
			arrays[at] = array(i.records, at, landscape.PortableText)
		case numbers:
			arrays[at] = array(i.records, at, func(n int64) int64 { return n })
		case blobs:
			column := make([][]byte, len(i.records)) // nil is NULL
			for row, values := range i.records {
				column[row], _ = values[at].([]byte)
			}
			arrays[at] = column
		default:
			return nil
		}
	}
	return arrays
}

// array returns one column, in which nil is NULL.
func array[T any](records [][]any, at int, as func(T) T) []*T {
	column := make([]*T, len(records))
	for row, values := range records {
		if v, there := values[at].(T); there {
			v = as(v)
			column[row] = &v
		}
	}
	return column
}

var arrayTypes = map[kind]string{texts: "text[]", numbers: "bigint[]", blobs: "bytea[]"}

// unnest turns arrays of the first columns into rows.
func unnest(t *landscape.Table, kinds map[string]kind, first int) string {
	list := make([]string, first)
	for i, c := range t.Columns[:first] {
		list[i] = fmt.Sprintf("$%d::%s", i+1, arrayTypes[kinds[c.Name]])
	}
	return "unnest(" + strings.Join(list, ", ") + ")"
}

func insertSQL(t *landscape.Table, kinds map[string]kind) string {
	return fmt.Sprintf("insert into %s (%s) select * from %s", t.Name, names(t.Columns), unnest(t, kinds, len(t.Columns)))
}

func names(columns []landscape.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Name
	}
	return strings.Join(list, ", ")
}

// compare reports whether one of the records diverges from the one that has its key.
func (i *insert) compare(ctx context.Context, tx pgx.Tx) error {
	t := i.table
	query := fmt.Sprintf("select %s from %s join %s wanted (%s) using (%s)",
		names(t.Columns), t.Name, unnest(t, i.kinds, t.Keys), names(t.Columns[:t.Keys]), names(t.Columns[:t.Keys]))
	rows, err := tx.Query(ctx, query, i.arrays[:t.Keys]...)
	if err != nil {
		return fmt.Errorf("compare %s: %w", t.Name, err)
	}
	defer rows.Close()
	stored := make(map[string][]any, len(i.records))
	for rows.Next() {
		values, err := read(rows)
		if err != nil {
			return fmt.Errorf("compare %s: %w", t.Name, err)
		}
		stored[t.Key(values)] = values
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("compare %s: %w", t.Name, err)
	}
	for _, wanted := range i.records {
		found, there := stored[t.Key(wanted)]
		if !there {
			return fmt.Errorf("compare %s %s: neither inserted nor there", t.Name, t.Key(wanted))
		}
		if err := t.Diverged(found, wanted); err != nil {
			return err
		}
	}
	return nil
}
