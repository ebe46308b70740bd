package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/pipeline"
	"waymark/plugin"
)

// loader puts rows into a table, within a transaction, and leaves out those that the table rejects.
type loader struct {
	conn    *pgconn.PgConn
	columns []string
	data    []byte
	ends    []int // where each row ends in data; nil until a row is rejected
	rows    int
	copy    string // the statement that takes rows
	next    string // the statements that make a savepoint for the next rows, after what became of the last ones
	refused []plugin.RejectedRow
}

// The statements that come before rows are tried, in one message with what tries them.
const (
	begin = "savepoint waymark_rows; "
	again = "rollback to savepoint waymark_rows; "
	goOn  = "release savepoint waymark_rows; savepoint waymark_rows; "
)

// load puts the rows of a part into the table, and returns those that the table rejected.
func (t *target) load(ctx context.Context, tx pgx.Tx, h *header, data []byte) ([]plugin.RejectedRow, error) {
	exact, err := t.exact(ctx, tx, h, data)
	if err != nil {
		return nil, err
	}
	l := &loader{conn: tx.Conn().PgConn(), columns: h.names(), data: exact.data, rows: bytes.Count(exact.data, []byte{'\n'}), next: begin}
	if l.rows == 0 {
		return exact.refused, nil
	}
	l.copy = copyInto(quotedTable(t.table), l.columns)
	if l.data, err = t.withArrays(ctx, tx, l.columns, l.data); err != nil {
		return nil, err
	}
	if h.Mode == pipeline.UpsertMode {
		err = t.upsert(ctx, tx, l, h)
	} else {
		err = l.take(ctx, l.rows, l.rows, l.copyRows, l.reject)
	}
	if err == nil && l.next == again {
		err = l.exec(ctx, again)
	}
	return exact.all(l.refused), err
}

// upsert tries the rows as if all their keys were new, which takes half the time, and merges them if not.
func (t *target) upsert(ctx context.Context, tx pgx.Tx, l *loader, h *header) error {
	_, err := l.copyRows(ctx, 0, l.rows)
	switch {
	case err == nil:
		// The index that kept keys apart is still there, and nobody can take it away before this transaction ends.
		return t.checkKey(ctx, tx, h)
	case !isAboutRow(err):
		return err
	}
	if err := l.exec(ctx, again); err != nil {
		return err
	}
	forms, err := t.manyFormed(ctx, tx, h.Key)
	if err != nil {
		return err
	}
	return l.merge(ctx, newMerge(quotedTable(t.table), l.columns, h.Key, forms))
}

func copyInto(table string, columns []string) string {
	return fmt.Sprintf("copy %s (%s) from stdin with (format text, encoding 'UTF8')", table, list(columns))
}

func (l *loader) exec(ctx context.Context, sql string) error {
	return l.conn.Exec(ctx, sql).Close()
}

// firstStep is how many rows are tried together after a row was rejected and nothing tells how far the next such row is. If there
// were no more than nearRows between the last two, rows are tried one by one: that takes the fewest statements.
const (
	firstStep = 64
	nearRows  = 8
)

// take tries rows, step of them at first, until each is in the table or rejected. try puts rows there, all or, with an error, none; it also
// returns the row that the error is about, or -1. What is known of where a rejected row is only saves work: a row counts as rejected if it
// is rejected alone, or with all that were tried with it, after those before it were taken.
func (l *loader) take(ctx context.Context, rows, step int, try func(ctx context.Context, from, to int) (int, error), refuse func(at int, err error)) error {
	near := false         // the last two rejected rows are
	last := -nearRows - 1 // the row that was rejected last
	for from := 0; from < rows; {
		end := min(rows, from+step)
		at, err := try(ctx, from, end)
		lost, isLost := errors.AsType[*lostRows](err)
		switch {
		case err == nil:
			from = end
			if !near || from-last > nearRows {
				near, step = false, 2*step
			}
		case !isAboutRow(err):
			return err
		case end-from == 1 || isLost && lost.all:
			near, last = from-last <= nearRows, end-1
			for ; from < end; from++ {
				refuse(from, err)
			}
			if step = max(step, firstStep); near {
				step = 1
			}
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

// lostRows says that a table did not keep all rows, and did not say so: a trigger took them away.
type lostRows struct{ all bool }

func (e *lostRows) Error() string { return "a trigger of the table dropped rows" }

// copyRows puts rows into the table that copy names.
func (l *loader) copyRows(ctx context.Context, from, to int) (at int, err error) {
	tag, err := l.conn.CopyFrom(ctx, bytes.NewReader(l.slice(from, to)), l.next+l.copy)
	if at = l.lineOf(err); at >= 0 {
		at += from
	}
	if err == nil && tag.RowsAffected() != int64(to-from) {
		err = &lostRows{all: tag.RowsAffected() == 0}
	}
	l.tried(err)
	return at, err
}

// tried keeps what was done since the savepoint, or with an error undoes it, when something is done next.
func (l *loader) tried(err error) {
	l.next = goOn
	if err != nil {
		l.next = again
	}
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
	state, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
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

// reject notes that the table rejected a row.
func (l *loader) reject(at int, err error) {
	why := plugin.Rejection{Code: codeSinkDropped, Message: "a trigger of the table dropped the row"}
	if state, ok := errors.AsType[*pgconn.PgError](err); ok {
		why = l.rejection(state)
	}
	l.refused = append(l.refused, plugin.RejectedRow{Row: int64(at), Rejection: why})
}
