package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/webhook"
	"waymark/tests/services/pg"
)

// writtenBy makes each write of a row say which transaction made it.
const writtenBy = `
	create table orders (id int primary key, total numeric, tx xid8 not null default pg_current_xact_id());
	create function written() returns trigger language plpgsql as 'begin new.tx := pg_current_xact_id(); return new; end';
	create trigger written before insert or update on orders for each row execute function written();`

// growing is a table that is looked at now and then.
type growing struct {
	table plugin.Growing
	spec  pipeline.RowTrigger
	after []string
}

func grow(t *testing.T, dsn, table string, schema pipeline.Schema, spec pipeline.RowTrigger) *growing {
	t.Helper()
	return &growing{table: source(t, pipeline.PostgresSource{DSN: dsn, Table: table}, schema).(plugin.Growing), spec: spec}
}

// next returns the next rows.
func (g *growing) next(t *testing.T) (records []string, more bool) {
	t.Helper()
	growth, err := g.table.Grown(t.Context(), g.spec, g.after)
	require.NoError(t, err)
	for i := range growth.Records.Len() {
		records = append(records, string(growth.Records.Record(i)))
	}
	if records != nil {
		require.Len(t, growth.UpTo, len(g.spec.By))
		g.after = growth.UpTo
	}
	return records, growth.More
}

// TestRowsBehindATransactionThatGoesOnWait: a row whose transaction began before that of others, and ends after it, is not left out.
func TestRowsBehindATransactionThatGoesOnWait(t *testing.T) {
	db := pg.New(t)
	early, late := connect(t, db.DSN()), connect(t, db.DSN())
	early.exec(writtenBy)
	g := grow(t, db.DSN(), "orders", fields("id", "int"), pipeline.RowTrigger{By: []string{"tx", "id"}, Most: 2})
	empty, more := g.next(t)
	require.Empty(t, empty)
	require.False(t, more)

	early.exec("begin")
	early.exec("insert into orders values (9, 1)")
	late.exec("insert into orders values (1, 1), (2, 1), (3, 1)")
	empty, _ = g.next(t)
	require.Empty(t, empty, "the transaction goes on")
	early.exec("commit")
	records, more := g.next(t)
	require.Equal(t, []string{`{"id":9}`, `{"id":1}`}, records)
	require.True(t, more)
	records, _ = g.next(t)
	require.Equal(t, []string{`{"id":2}`, `{"id":3}`}, records)
	empty, more = g.next(t)
	require.Empty(t, empty)
	require.False(t, more)

	late.exec("update orders set total = 2 where id = 2")
	late.exec("delete from orders where id = 3")
	records, more = g.next(t)
	require.Equal(t, []string{`{"id":2}`}, records, "it changed")
	require.False(t, more)
}

// TestEachWriteIsFoundOnce: writers whose transactions overlap, and some of which come to nothing, write a table that is looked at meanwhile. Each row is found in its last version, and no
// version twice.
func TestEachWriteIsFoundOnce(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(writtenBy)
	const writers, transactions, ids = 4, 40, 60
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			if err := writeAtRandom(ctx, db.DSN(), rand.New(rand.NewPCG(uint64(i), 15)), transactions, ids); err != nil {
				stop(err)
			}
		})
	}
	g := grow(t, db.DSN(), "orders", fields("id", "int", "tx", "string"), pipeline.RowTrigger{By: []string{"tx", "id"}, Most: 7})
	var found []string
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	for over := false; ; {
		records, more := g.next(t)
		found = append(found, records...)
		if over && !more {
			break
		}
		select {
		case <-done:
			over = over || len(records) == 0
		default:
		}
	}
	require.NoError(t, context.Cause(ctx))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(found))), len(found), "a version twice")
	for _, last := range d.all(`select format('{"id":%s,"tx":"%s"}', id, tx) from orders`) {
		require.Contains(t, found, last)
	}
}

// writeAtRandom inserts, changes and deletes rows in transactions of all lengths, a quarter of which come to nothing.
func writeAtRandom(ctx context.Context, dsn string, random *rand.Rand, transactions, ids int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for range transactions {
		if _, err := conn.Exec(ctx, "begin"); err != nil {
			return err
		}
		id := random.IntN(ids)
		for range 1 + random.IntN(3) {
			statement := "insert into orders (id, total) values ($1, $2) on conflict (id) do update set total = excluded.total"
			args := []any{id, random.IntN(1000)}
			if random.IntN(8) == 0 {
				statement, args = "delete from orders where id = $1", args[:1]
			}
			if _, err := conn.Exec(ctx, statement, args...); err != nil {
				return err
			}
			id = min(id+1+random.IntN(4), ids) // in ascending order: no deadlock
			time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
		}
		end := "commit"
		if random.IntN(4) == 0 {
			end = "rollback"
		}
		if _, err := conn.Exec(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// TestADatabaseThatWasRestored from a dump counts its transactions from the start again: nobody can tell which rows are new.
func TestADatabaseThatWasRestored(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(writtenBy)
	d.exec("insert into orders values (1, 1)")
	table := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "orders"}, fields("id", "int")).(plugin.Growing)
	_, err := table.Grown(t.Context(), pipeline.RowTrigger{By: []string{"tx", "id"}}, []string{"9000000000", "1"})
	require.Regexp(t, `^the last row that arrived was written by transaction 9000000000, and the database has come to [0-9]+, as one does that was restored from a dump`, requireFault(t, "NO_ORDER", err))
}

// TestRowsSettle: with moments, a row arrives when it is old enough; one without a moment never does.
func TestRowsSettle(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(`create table "or'ders" (id text primary key, at timestamptz)`)
	d.exec(`insert into "or'ders" values ('it''s \', now() - interval '1 hour'), ('b', now() - interval '1 hour'), ('young', now() + interval '1 hour'), ('null', null)`)
	g := grow(t, db.DSN(), "or'ders", fields("id", "string"), pipeline.RowTrigger{By: []string{"at", "id"}, Settle: pipeline.Duration(10 * time.Second), Most: 1})
	var all []string
	for range 2 {
		records, more := g.next(t)
		require.True(t, more)
		all = append(all, records...)
	}
	require.Equal(t, []string{`{"id":"b"}`, `{"id":"it's \\"}`}, all, "of one moment, in the order of their keys")
	empty, _ := g.next(t)
	require.Empty(t, empty)
}

// TestTablesAtWhichNothingCanArrive names what is wrong, and the cure.
func TestTablesAtWhichNothingCanArrive(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(writtenBy)
	d.exec(`create table loose (id int, at timestamptz, tx xid8); create unique index on loose (id) where id > 0; create table plain (id int primary key, at timestamptz, day date, tx xid8)`)
	second := pipeline.Duration(time.Second)
	for want, of := range map[string]struct {
		table string
		spec  pipeline.RowTrigger
	}{
		`there is no column "x" to order by; the columns are id, total, tx`:                                                               {"orders", pipeline.RowTrigger{By: []string{"x", "id"}}},
		`two rows could be alike in tx: add the columns of the primary key, or of a unique index of the table, to by`:                     {"orders", pipeline.RowTrigger{By: []string{"tx"}}},
		`two rows could be alike in tx, id: add the columns of the primary key, or of a unique index of the table, to by`:                 {"loose", pipeline.RowTrigger{By: []string{"tx", "id"}}},
		`"tx" is of type xid8, by which the database knows when a row is settled: delete settle`:                                          {"orders", pipeline.RowTrigger{By: []string{"tx", "id"}, Settle: second}},
		`a transaction that ends later can still add a row before those that are there: add settle: TIME, longer than transactions`:       {"plain", pipeline.RowTrigger{By: []string{"at", "id"}}},
		`"day", the first column of by, must be of type xid8, and each write set it to pg_current_xact_id(), or of type timestamptz, and`: {"plain", pipeline.RowTrigger{By: []string{"day", "id"}, Settle: second}},
		`relation "public.gone" does not exist (SQLSTATE 42P01): check schema and name; without a schema a table is looked for in public`: {"gone", pipeline.RowTrigger{By: []string{"id"}}},
	} {
		table := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: of.table}, pipeline.Schema{}).(plugin.Growing)
		_, err := table.Grown(t.Context(), of.spec, nil)
		require.ErrorContains(t, err, want)
	}
}

// TestFoundRowsAreReadAsTheTableHadThem: what is stored gives the records and rejections that the table gave, in chunks of any size; a payload that was changed is a fault.
func TestFoundRowsAreReadAsTheTableHadThem(t *testing.T) {
	db := pg.New(t)
	d := connect(t, db.DSN())
	d.exec(writtenBy)
	d.exec("insert into orders select i, case when i % 3 = 0 then 'NaN'::numeric else i end from generate_series(1, 10) i")
	spec, schema := pipeline.RowTrigger{By: []string{"tx", "id"}}, fields("id", "int", "total", "decimal")
	table := source(t, pipeline.PostgresSource{DSN: db.DSN(), Table: "orders"}, schema)
	growth, err := table.(plugin.Growing).Grown(t.Context(), spec, nil)
	require.NoError(t, err)
	path := webhook.FoundPath("default/orders/new", 1)
	packed, body := webhook.PackFound(path, &growth.Records)
	stored := packed
	s, err := NewSource("in", pipeline.PostgresSource{DSN: db.DSN(), Table: "orders"}, schema, anywhere, func(context.Context, string) ([]byte, error) { return stored, nil })
	require.NoError(t, err)
	pin := plugin.SourceInfo{Trigger: "default/orders/new", Files: []plugin.FileInfo{webhook.FoundRows(path, "digest", body)}}
	d.exec("drop table orders")
	for _, limits := range []plugin.Limits{many, {Rows: 1, Bytes: 1 << 20}, {Rows: 4, Bytes: 1 << 20}, {Rows: 100, Bytes: 30}} {
		var records []string
		var bad []plugin.BadRecord
		var c plugin.Chunk
		at := plugin.Cursor{}
		for {
			r, err := s.Open(t.Context(), at, pin)
			require.NoError(t, err)
			if err = r.Next(t.Context(), limits, &c); err != nil {
				break
			}
			for _, b := range c.Bad {
				bad = append(bad, plugin.BadRecord{Index: b.Index + len(records), Rejection: b.Rejection})
			}
			for i := range c.Len() {
				records = append(records, string(c.Record(i)))
			}
			at = r.Cursor()
		}
		require.Equal(t, growth.Records.Bad, bad)
		require.Len(t, bad, 3)
		require.Len(t, records, 10)
		for i, record := range records {
			require.Equal(t, string(growth.Records.Record(i)), record)
		}
	}
	for name, wrong := range map[string][]byte{"changed": slices.Concat(packed[:len(packed)-3], []byte("9}\n")), "another": webhook.Pack("rc_1", body)} {
		stored = wrong
		r, err := s.Open(t.Context(), plugin.Cursor{}, pin)
		require.NoError(t, err)
		require.NotEmpty(t, requireFault(t, "SOURCE_CHANGED", r.Next(t.Context(), many, new(plugin.Chunk))), name)
	}
}

// BenchmarkGrown looks at a table with a million rows, behind all but the last hundred.
func BenchmarkGrown(b *testing.B) {
	db := pg.New(b)
	d := connect(b, db.DSN())
	d.exec(writtenBy)
	d.exec("alter table orders disable trigger written; create index on orders (tx, id)")
	d.exec("insert into orders select i, i, (i / 100 + 1)::text::xid8 from generate_series(1, 1000000) i; analyze orders")
	table := source(b, pipeline.PostgresSource{DSN: db.DSN(), Table: "orders"}, fields("id", "int")).(plugin.Growing)
	for b.Loop() {
		growth, err := table.Grown(b.Context(), pipeline.RowTrigger{By: []string{"tx", "id"}, Most: 100}, []string{"0", "0"})
		require.NoError(b, err)
		require.LessOrEqual(b, growth.Records.Len(), 100, fmt.Sprint(growth.UpTo))
	}
}
