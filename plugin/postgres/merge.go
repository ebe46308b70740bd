package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// freshRows is the table of the session that takes rows of an upsert.
const freshRows = "pg_temp.waymark_rows"

// merge puts the rows of freshRows into a table: of those with one key the last one.
type merge struct {
	prepare string // makes freshRows
	clear   string // empties it
	keys    string // counts its keys
	apart   string // merges rows whose keys are apart
	newest  string // merges the last row of each key
	absent  string // counts those of them that the table does not hold exactly as they are
}

func newMerge(table string, columns, key []string) *merge {
	all, keys := list(columns), list(key)
	action := "do nothing" // every column is in the key
	if changes := changed(columns, key); len(changes) > 0 {
		action = "do update set " + strings.Join(changes, ", ")
	}
	into := fmt.Sprintf("insert into %s (%s) overriding system value select %[2]s from ", table, all)
	action = fmt.Sprintf(" on conflict (%s) %s", keys, action)
	// ctid ascends in the order in which rows were taken: nothing else happens to the table.
	newest := fmt.Sprintf(`(select distinct on (%s) %s, ctid as " waymark at" from %s order by %[1]s, ctid desc) as n`, keys, all, freshRows)
	var same, alike []string
	for _, c := range columns {
		if slices.Contains(key, c) {
			same = append(same, fmt.Sprintf("t.%s = n.%[1]s", quoted(c)))
		}
		alike = append(alike, fmt.Sprintf("t.%s::text is not distinct from n.%[1]s::text", quoted(c)))
	}
	return &merge{
		prepare: fmt.Sprintf("create temporary table waymark_rows on commit drop as select %s from %s with no data", all, table),
		clear:   "truncate " + freshRows + "; ",
		keys:    fmt.Sprintf("select count(*) from (select distinct %s from %s) as k", keys, freshRows),
		apart:   into + freshRows + action,
		newest:  into + newest + ` order by " waymark at"` + action,
		absent: fmt.Sprintf("select count(*) from %s where not exists (select from %s t where %s and %s)",
			newest, table, strings.Join(same, " and "), strings.Join(alike, " and ")),
	}
}

// changed returns what an upsert sets where the key is there.
func changed(columns, key []string) (changes []string) {
	for _, c := range columns {
		if !slices.Contains(key, c) {
			changes = append(changes, quoted(c)+" = excluded."+quoted(c))
		}
	}
	return changes
}

// do merges the rows, of which there are so many. It fails with lostRows if the table has not taken each key's last row.
func (m *merge) do(ctx context.Context, conn *pgconn.PgConn, rows int64) error {
	keys := rows
	if rows > 1 {
		var err error
		if keys, err = count(ctx, conn, m.keys); err != nil {
			return err
		}
	}
	statement := m.newest
	if keys == rows {
		statement = m.apart // without sorting
	}
	results, err := conn.Exec(ctx, statement).ReadAll()
	if err != nil {
		return err
	}
	kept := results[0].CommandTag.RowsAffected()
	if kept == keys {
		return nil
	}
	// Rows that change nothing may not count as written: the table holds them already.
	absent, err := count(ctx, conn, m.absent)
	if err != nil || absent == 0 {
		return err
	}
	return &lostRows{all: absent == keys}
}

// count returns the number that a query has for an answer.
func count(ctx context.Context, conn *pgconn.PgConn, query string) (int64, error) {
	results, err := conn.Exec(ctx, query).ReadAll()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
}
