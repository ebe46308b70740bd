package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"waymark/pipeline"
	"waymark/plugin"
)

// loader puts rows into a table, within a transaction, and leaves out those that the table refuses.
type loader struct {
	conn    *pgconn.PgConn
	columns []string
	data    []byte
	ends    []int // where each row ends in data; nil until a row is refused
	rows    int
	copy    string // the statement that takes rows
	clear   string // before rows are taken, if any were before; "" for none
	merge   string // after rows were taken; "" for none
	refused []plugin.RefusedRow
}

// load puts the rows of a part into the table, and returns those that the table refused.
func (t *target) load(ctx context.Context, conn *pgconn.PgConn, h *header, data []byte) ([]plugin.RefusedRow, error) {
	l := &loader{conn: conn, columns: h.names(), data: data, rows: bytes.Count(data, []byte{'\n'})}
	l.copy = fmt.Sprintf("copy %s (%s) from stdin with (format text, encoding 'UTF8')", quotedTable(t.table), list(l.columns))
	if h.Mode == pipeline.UpsertMode {
		if err := l.upsert(ctx, quotedTable(t.table), h.Key); err != nil {
			return nil, err
		}
	}
	if l.rows == 0 {
		return nil, nil
	}
	err := l.take(ctx, 0, l.rows)
	return l.refused, err
}

// upsert has rows taken by a table of the session, and merged from there: of the rows with one key the last one stays.
func (l *loader) upsert(ctx context.Context, table string, key []string) error {
	const fresh = "pg_temp.waymark_rows"
	columns := list(l.columns)
	if err := l.exec(ctx, fmt.Sprintf("create temporary table waymark_rows on commit drop as select %s from %s with no data", columns, table)); err != nil {
		return err
	}
	action := "do nothing" // every column is in the key
	var changes []string
	for _, c := range l.columns {
		if !slices.Contains(key, c) {
			changes = append(changes, quoted(c)+" = excluded."+quoted(c))
		}
	}
	if len(changes) > 0 {
		action = "do update set " + strings.Join(changes, ", ")
	}
	l.copy = fmt.Sprintf("copy %s (%s) from stdin with (format text, encoding 'UTF8')", fresh, columns)
	l.clear = "truncate " + fresh
	// ctid ascends in the order in which rows were taken: nothing else happens to the table.
	l.merge = fmt.Sprintf(`insert into %s (%s) overriding system value
		select %s from (select distinct on (%s) %s, ctid as " waymark at" from %s order by %s, ctid desc) as newest order by " waymark at"
		on conflict (%s) %s`, table, columns, columns, list(key), columns, fresh, list(key), list(key), action)
	return nil
}

func (l *loader) exec(ctx context.Context, sql string) error {
	return l.conn.Exec(ctx, sql).Close()
}

// firstStep is how many rows are tried together after a row was refused and nothing tells how far the next such row is.
const firstStep = 64

// take puts the rows from, to into the table, all but those that it refuses. What is known of where a refused row is only saves
// work: a row counts as refused if it is refused alone, after those before it were taken.
func (l *loader) take(ctx context.Context, from, to int) error {
	step := to - from
	for from < to {
		end := min(to, from+step)
		at, err := l.try(ctx, from, end)
		switch {
		case err == nil:
			from, step = end, 2*step
		case !isAboutRow(err):
			return err
		case end-from == 1:
			l.refuse(from, err)
			from, step = end, max(step, firstStep)
		case at > from && at < end:
			step = at - from // those before it
		case at == from:
			step = 1
		default:
			step = (end - from) / 2
		}
	}
	return nil
}

// try puts rows into the table, all or, with an error, none. It also returns the row that the error is about, or -1 if it is not known.
func (l *loader) try(ctx context.Context, from, to int) (at int, err error) {
	if err := l.exec(ctx, "savepoint waymark_rows"); err != nil {
		return -1, err
	}
	_, err = l.conn.CopyFrom(ctx, bytes.NewReader(l.slice(from, to)), l.copy)
	if at = l.lineOf(err); at >= 0 {
		at += from
	}
	if err == nil && l.merge != "" {
		err = l.exec(ctx, l.merge)
	}
	if err == nil {
		end := "release savepoint waymark_rows"
		if l.clear != "" {
			end = l.clear + "; " + end
		}
		return -1, l.exec(ctx, end)
	}
	if class(err) == "" {
		return -1, err // the connection is gone, and the transaction with it
	}
	if failed := l.exec(ctx, "rollback to savepoint waymark_rows; release savepoint waymark_rows"); failed != nil {
		return -1, failed
	}
	return at, err
}

// slice returns the bytes of rows.
func (l *loader) slice(from, to int) []byte {
	if from == 0 && to == l.rows {
		return l.data
	}
	if l.ends == nil {
		l.ends = make([]int, 1, l.rows+1)
		for at, c := range l.data {
			if c == '\n' {
				l.ends = append(l.ends, at+1)
			}
		}
	}
	return l.data[l.ends[from]:l.ends[to]]
}

// place finds the line in what Postgres says about where a COPY failed, in the languages that it speaks.
var place = regexp.MustCompile(`^COPY [^\n]*?, \pL+ (\d+)(?:, \pL+ ([^\n]*?)(?::|$))?`)

// lineOf returns the number, from 0, of the row of a COPY that an error is about, or -1.
func (l *loader) lineOf(err error) int {
	state, is := errors.AsType[*pgconn.PgError](err)
	if !is {
		return -1
	}
	for _, where := range strings.Split(state.Where, "\n") {
		if found := place.FindStringSubmatch(where); found != nil {
			if line, err := strconv.Atoi(found[1]); err == nil {
				return line - 1
			}
		}
	}
	return -1
}

// refuse notes that the table refused a row.
func (l *loader) refuse(at int, err error) {
	state, _ := errors.AsType[*pgconn.PgError](err)
	l.refused = append(l.refused, plugin.RefusedRow{Row: int64(at), Rejection: l.rejection(state)})
}
