package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"waymark/pipeline"
	"waymark/plugin"
)

var _ plugin.Growing = (*Source)(nil)

const (
	// mostGrownBytes is about how many bytes of rows are read at once.
	mostGrownBytes = 8 << 20
	// xid8OID is the type of transaction numbers that do not wrap around. Source: pg_type.dat of PostgreSQL.
	xid8OID = 5069
)

// Grown returns the first rows behind a position that no transaction can add a row before any more. Of a row that was written several times meanwhile it sees the last version, and
// none of one that was deleted.
func (s *Source) Grown(ctx context.Context, trigger pipeline.RowTrigger, after []string) (growth plugin.Growth, err error) {
	conn, err := s.database.connect(ctx)
	if err != nil {
		return growth, s.classify("connect", err)
	}
	r := &reader{source: s, conn: conn, hash: sha256.New(), rows: firstRows}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.selected, err = s.beginGrown(ctx, conn, trigger, after); err != nil {
		return growth, err
	}
	found, most := &growth.Records, mostGrown(trigger)
	for found.Len() < most && len(found.Data) < mostGrownBytes && !r.bottom {
		r.rows = min(r.rows, most-found.Len())
		if err := r.fetch(ctx); err != nil {
			return plugin.Growth{}, err
		}
		for r.given < r.ahead.Len() {
			r.give(found)
		}
	}
	for _, value := range r.last {
		growth.UpTo = append(growth.UpTo, string(value))
	}
	growth.More = found.Len() == most || !r.bottom
	found.Context = r.selected.context
	return growth, nil
}

// mostGrown is how many rows are read at once.
func mostGrown(trigger pipeline.RowTrigger) int {
	return cmp.Or(trigger.Most, pipeline.DefaultTriggerRows)
}

// beginGrown takes a snapshot in a transaction of conn, and declares the cursor over the rows behind a position.
func (s *Source) beginGrown(ctx context.Context, conn *pgx.Conn, trigger pipeline.RowTrigger, after []string) (*selection, error) {
	if err := s.transaction(ctx, conn); err != nil {
		return nil, err
	}
	chosen, all, err := s.columns(ctx, conn)
	if err != nil {
		return nil, err
	}
	order, err := s.order(all, trigger.By)
	if err == nil {
		err = s.checkKey(ctx, conn, trigger.By)
	}
	if err != nil {
		return nil, err
	}
	settled, err := s.settled(order[0], time.Duration(trigger.Settle))
	if err == nil && order[0].oid == xid8OID && after != nil {
		err = s.checkCounter(ctx, conn, after[0])
	}
	if err != nil {
		return nil, err
	}
	selected := &selection{columns: chosen, order: order, context: s.context(chosen)}
	selected.query = fmt.Sprintf("%s limit %d", s.selectOf(chosen, order, settled+behind(order, after)), mostGrown(trigger))
	return selected, s.declare(ctx, conn, selected)
}

// checkCounter refuses a database whose transactions have smaller numbers than those of rows that arrived: new rows would come before these.
func (s *Source) checkCounter(ctx context.Context, conn *pgx.Conn, last string) error {
	var next string
	var restored bool
	err := conn.QueryRow(ctx, "select pg_snapshot_xmax(pg_current_snapshot())::text, $1::text::xid8 >= pg_snapshot_xmax(pg_current_snapshot())", last).Scan(&next, &restored)
	if err != nil {
		return s.classify("look at the transactions", err)
	}
	if restored {
		return s.fault(codeNoOrder, "the last row that arrived was written by transaction %s, and the database has come to %s, as one does that was restored from a dump: give the trigger another name, "+
			"at which all rows arrive", last, next)
	}
	return nil
}

// settled returns the condition that holds for rows before which none can come any more. It depends on the type of the first column that puts them in order.
func (s *Source) settled(first column, settle time.Duration) (string, error) {
	name := quoted(alias, first.name)
	switch {
	case first.oid == xid8OID && settle != 0:
		return "", s.fault(codeNoOrder, "%s is of type xid8, by which the database knows when a row is settled: delete settle", excerpt(first.name))
	case first.oid == xid8OID:
		return name + " < pg_snapshot_xmin(pg_current_snapshot())", nil
	case first.oid == pgtype.TimestamptzOID && settle == 0:
		return "", s.fault(codeNoOrder, "a transaction that ends later can still add a row before those that are there: add settle: TIME, longer than transactions that write the table take")
	case first.oid == pgtype.TimestamptzOID:
		return fmt.Sprintf("%s < now() - interval '%d microseconds'", name, settle.Microseconds()), nil
	}
	return "", s.fault(codeNoOrder, "%s, the first column of by, must be of type xid8, and each write set it to pg_current_xact_id(), or of type timestamptz, and each write set it to now()", excerpt(first.name))
}

// behind returns the condition that holds for rows behind a position that have a value in each column of the order.
func behind(order []column, after []string) string {
	var names, values []string
	var condition strings.Builder
	for i, c := range order {
		name := quoted(alias, c.name)
		condition.WriteString(" and " + name + " is not null")
		if names = append(names, name); after != nil {
			values = append(values, "'"+strings.ReplaceAll(after[i], "'", "''")+"'") // standard_conforming_strings is on: a backslash is one
		}
	}
	if after != nil {
		fmt.Fprintf(&condition, " and (%s) > (%s)", strings.Join(names, ", "), strings.Join(values, ", "))
	}
	return condition.String()
}

// checkKey refuses columns in which two rows could be alike: of these one might never arrive.
func (s *Source) checkKey(ctx context.Context, conn *pgx.Conn, columns []string) error {
	var unique bool
	err := conn.QueryRow(ctx, `
		select exists (
			select from pg_index i
			where i.indrelid = $1::regclass and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null and (
				select bool_and(a.attname = any($2::text[]))
				from unnest(i.indkey::int2[]) with ordinality as k (attnum, nr) join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
				where k.nr <= i.indnkeyatts))`, quotedTable(s.table), columns).Scan(&unique)
	if err != nil {
		return s.classify("look for a key", err)
	}
	if !unique {
		return s.fault(codeNoOrder, "two rows could be alike in %s: add the columns of the primary key, or of a unique index of the table, to by", strings.Join(columns, ", "))
	}
	return nil
}
