package postgres

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"waymark/plugin"
)

// freshRows is the table of the session that takes the rows of an upsert, each with its number in the column rowNumber.
const (
	freshRows = "pg_temp.waymark_rows"
	rowNumber = " waymark row"
)

// merge is what puts the rows of freshRows into a table: of those with one key the last one.
type merge struct {
	prepare string // makes freshRows
	columns string
	key     string
	into    string // inserts what is between it and action
	action  string
	held    string // holds for a row n if the table has it exactly as it is
}

// newMerge merges rows by their key. Columns of the key are updated as well if they are among manyFormed: the table
// then has the form that the last row with this key has.
func newMerge(table string, columns, key, manyFormed []string) *merge {
	held := []string{fmt.Sprintf("%s = %s", exactly(columnsOf("t", columns)), exactly(columnsOf("n", columns)))}
	var changes []string
	for _, name := range columns {
		c, inKey := quoted(name), slices.Contains(key, name)
		if inKey {
			held = append(held, fmt.Sprintf("t.%s = n.%[1]s", c))
		}
		if !inKey || slices.Contains(manyFormed, name) {
			changes = append(changes, fmt.Sprintf("%s = excluded.%[1]s", c))
		}
	}
	m := &merge{columns: list(columns), key: list(key)}
	m.prepare = fmt.Sprintf("create temporary table waymark_rows on commit drop as select 0 as %s, %s from %s with no data", quoted(rowNumber), m.columns, table)
	m.into = fmt.Sprintf("insert into %s (%s) overriding system value ", table, m.columns)
	m.action = fmt.Sprintf(" on conflict (%s) do nothing", m.key) // there is nothing to change
	if len(changes) > 0 {
		m.action = fmt.Sprintf(" on conflict (%s) do update set %s", m.key, strings.Join(changes, ", "))
	}
	m.held = fmt.Sprintf("exists (select from %s t where %s)", table, strings.Join(held, " and "))
	return m
}

// manyFormed returns the columns among names that can hold equal values in several forms, such as the numeric 5 and
// 5.00, the float 0 and -0, or the intervals of 1 day and of 24 hours.
func (t *target) manyFormed(ctx context.Context, tx pgx.Tx, names []string) ([]string, error) {
	rows, err := tx.Query(ctx, `
		select attname::text from pg_attribute left join pg_collation c on c.oid = attcollation
		where attrelid = $1::regclass and attname = any($2::text[]) and not attisdropped and (
			not coalesce(c.collisdeterministic, true) or atttypid <> all(
				'{bigint,integer,smallint,boolean,text,varchar,uuid,date,timestamp,timestamptz,time,bytea}'::regtype[]))
		order by attnum`, quotedTable(t.table), names)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// merge takes the rows into a table of the session, and merges them from there.
func (l *loader) merge(ctx context.Context, m *merge) error {
	if err := l.exec(ctx, l.next+m.prepare); err != nil {
		return err
	}
	l.next = goOn
	l.copy = copyInto(freshRows, append([]string{rowNumber}, l.columns...))
	l.number()
	if err := l.take(ctx, l.rows, l.rows, l.copyRows, l.reject); err != nil {
		return err
	}
	rows := l.taken()
	try := func(ctx context.Context, from, to int) (int, error) {
		err := m.do(ctx, l, rows[from:to])
		l.tried(err)
		return -1, err
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := try(ctx, 0, len(rows)); err == nil || !isAboutRow(err) {
		return err
	}
	if err := l.exec(ctx, l.next+fmt.Sprintf("create unique index on %s (%s)", freshRows, quoted(rowNumber))); err != nil {
		return err
	}
	l.next = goOn
	err := l.take(ctx, len(rows), max(len(rows)/2, 1), try, func(at int, err error) { l.reject(rows[at], err) })
	slices.SortFunc(l.refused, func(a, b plugin.RejectedRow) int { return cmp.Compare(a.Row, b.Row) })
	return err
}

// number puts the number of each row before it.
func (l *loader) number() {
	numbered := make([]byte, 0, len(l.data)+8*l.rows)
	row := 0
	for line := range bytes.Lines(l.data) {
		numbered = append(append(strconv.AppendInt(numbered, int64(row), 10), '\t'), line...)
		row++
	}
	l.data, l.ends = numbered, nil
}

// taken returns the numbers of the rows that were not rejected.
func (l *loader) taken() []int {
	taken := make([]int, 0, l.rows)
	rejected := l.refused
	for row := range l.rows {
		if len(rejected) > 0 && rejected[0].Row == int64(row) {
			rejected = rejected[1:]
			continue
		}
		taken = append(taken, row)
	}
	return taken
}

// do merges the rows with these numbers, which are all that there are between the first and the last. It fails with lostRows if the table
// has not taken the last row of each key.
func (m *merge) do(ctx context.Context, l *loader, rows []int) error {
	some := fmt.Sprintf("from %s where %s between %d and %d", freshRows, quoted(rowNumber), rows[0], rows[len(rows)-1])
	newest := fmt.Sprintf("select distinct on (%s) * %s order by %[1]s, %[3]s desc", m.key, some, quoted(rowNumber))
	keys, before := int64(len(rows)), l.next
	if len(rows) == 1 {
		some = fmt.Sprintf("from %s where %s = %d", freshRows, quoted(rowNumber), rows[0])
		newest = "select * " + some
	} else {
		found, err := count(ctx, l.conn, fmt.Sprintf("%sselect count(*) from (select distinct %s %s) as k", before, m.key, some))
		if err != nil {
			return err
		}
		keys, before = found, ""
	}
	source := fmt.Sprintf("select %s %s", m.columns, some) // without sorting: they are found as they came
	if keys < int64(len(rows)) {
		source = fmt.Sprintf("select %s from (%s) as n order by %s", m.columns, newest, quoted(rowNumber))
	}
	results, err := l.conn.Exec(ctx, before+m.into+source+m.action).ReadAll()
	if err != nil {
		return err
	}
	if results[len(results)-1].CommandTag.RowsAffected() == keys {
		return nil
	}
	// Rows that change nothing may not count as written: the table holds them already.
	absent, err := count(ctx, l.conn, fmt.Sprintf("select count(*) from (%s) as n where not %s", newest, m.held))
	if err != nil || absent == 0 {
		return err
	}
	return &lostRows{all: absent == keys}
}

// count returns the number with which the last of the statements answers.
func count(ctx context.Context, conn *pgconn.PgConn, statements string) (int64, error) {
	results, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(results[len(results)-1].Rows[0][0]), 10, 64)
}
