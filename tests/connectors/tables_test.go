package connectors_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/engine/plan"
	"waymark/plugin"
	"waymark/tests/services/pg"
	"waymark/tests/system"
	"waymark/worker"
)

const (
	// load puts records of a file into a table that takes one row for each name, and into one that keeps the latest row of each id.
	load = `
name: load
chunk: {rows: 40}
sources:
  orders:
    csv: {path: orders.csv}
    schema: {fields: {id: int, name: string, amount: decimal, placed: timestamp}}
steps:
  - {name: copies, fork: [a, b]}
sinks:
  once:   {postgres: {dsn: "${secret:TABLES_DSN}", table: once}, from: a}
  latest: {postgres: {dsn: "${secret:TABLES_DSN}", table: dw.latest, mode: upsert, key: [id], create: true}, from: b}
`
	// unload reads one of them again.
	unload = `
name: unload
chunk: {rows: 7}
sources:
  orders:
    postgres: {dsn: "${secret:TABLES_DSN}", table: dw.latest}
    schema: {fields: {id: int, name: string, amount: decimal, placed: timestamp}}
sinks:
  back: {jsonl: {path: back.jsonl}}
`
)

// orders is a file of n records: every tenth has the id of the first, so that it replaces it, and every 15th an amount that is refused.
func orders(n int) (text string, latest map[int]string) {
	var b strings.Builder
	b.WriteString("id,name,amount,placed\n")
	latest = map[int]string{}
	for i := range n {
		id, amount := i, fmt.Sprintf("%d.%02d", i, i%100)
		if i%10 == 0 {
			id = 0
		}
		if i%15 == 1 {
			amount = "-" + amount
		}
		fmt.Fprintf(&b, "%d,n%d,%s,2001-01-31T23:59:59.5Z\n", id, i, amount)
		latest[id] = fmt.Sprintf(`{"id":%d,"name":"n%d","amount":%s,"placed":"2001-01-31T23:59:59.5Z"}`, id, i, amount)
	}
	return b.String(), latest
}

func TestRowsGoIntoTablesAndComeBack(t *testing.T) {
	ctx := context.Background()
	db := pg.New(t)
	t.Setenv("WAYMARK_SECRET_TABLES_DSN", db.DSN())
	conn, err := pgx.Connect(ctx, db.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(ctx) })
	_, err = conn.Exec(ctx, `create schema dw; create table once (id bigint, name text unique, amount numeric check (amount >= 0), placed timestamptz)`)
	require.NoError(t, err)
	count := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(ctx, query).Scan(&n))
		return n
	}

	const n, refusals = 150, 10
	s := start(t)
	text, latest := orders(n)
	s.Write(t, map[string]string{"orders.csv": text})
	result, err := s.Run(t, "load", load)
	require.NoError(t, err)
	require.Equal(t, int64(n), result.Rows)
	require.Equal(t, int64(refusals), result.Refused)
	require.Equal(t, n-refusals, count("select count(*) from once"))
	require.Equal(t, len(latest), count("select count(*) from dw.latest"))
	require.Contains(t, strings.Join(s.Verify(t, "load"), "\n"), "were compared, not the rows of the table")
	effects, err := s.Log.Effects(ctx, "load")
	require.NoError(t, err)
	refused := map[string]int64{}
	for _, effect := range effects {
		refused[effect.Sink] += effect.Refused
	}
	require.Equal(t, int64(refusals), refused["once"])
	require.Zero(t, refused["latest"])

	_, err = s.Run(t, "unload", unload)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(s.Read(t, "back.jsonl")), "\n")
	require.Len(t, lines, len(latest))
	for i, id := 0, 0; id < n; id++ {
		if want, is := latest[id]; is {
			require.Equal(t, want, lines[i])
			i++
		}
	}
	s.Verify(t, "unload")

	_, err = s.Run(t, "again", load)
	require.NoError(t, err)
	require.Equal(t, n-refusals, count("select count(*) from once"), "a unique column refuses what is there")
	require.Equal(t, len(latest), count("select count(*) from dw.latest"))
	s.Verify(t, "again")
	at, err := url.Parse(result.Outputs[0].Path)
	require.NoError(t, err)
	at.Scheme, at.User, at.RawQuery = "postgresql", url.UserPassword("ann", "pw"), "sslmode=disable"
	for target, sink := range map[string]string{"once": "once", "public.once": "once", "dw.latest": "latest", at.String(): result.Outputs[0].Sink} {
		outputs, err := s.Client.Outputs(ctx, target, 0)
		require.NoError(t, err, target)
		require.Equal(t, []any{client.OutputPublished, "again"}, []any{outputs.State, outputs.Run}, target)
		require.Len(t, outputs.Published, 2, target)
		for i, run := range []string{"again", "load"} {
			require.Equal(t, []any{run, sink, true}, []any{outputs.Published[i].Run, outputs.Published[i].Sink, outputs.Published[i].There}, target)
		}
	}
	_, err = conn.Exec(ctx, `delete from once where id = (select max(id) from once)`)
	require.NoError(t, err)
	edited, err := s.Client.Find(ctx, "load")
	require.NoError(t, err)
	_, err = s.Client.Attest(ctx, edited, client.AttestRequest{By: client.By{Actor: "ann"}})
	require.NoError(t, err)
	lost, err := s.Client.Outputs(ctx, "once", 0)
	require.NoError(t, err)
	require.Equal(t, client.OutputChanged, lost.State, "the entries are there, and an attestation found that a row is not")
	require.Equal(t, plugin.Missing, lost.Published[1].Attested.Result)
	_, err = conn.Exec(ctx, `delete from dw.waymark_parts where run = 'again'`)
	require.NoError(t, err)
	outputs, err := s.Client.Outputs(ctx, "dw.latest", 0)
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{outputs.Published[0].There, outputs.Published[1].There})
	requireNowhere(t, filepath.Dir(s.Database), db.Password())
}

// TestRefusedRowsAreFedAgainIntoTheSameTable: the table is mended, and the rows that it refused come after the others.
func TestRefusedRowsAreFedAgainIntoTheSameTable(t *testing.T) {
	const document = `
name: load
sources:
  orders:
    csv: {path: orders.csv}
    schema: {fields: {id: int, name: string, amount: decimal, placed: timestamp}}
sinks:
  once: {postgres: {dsn: "${secret:TABLES_DSN}", table: once}}
`
	ctx := context.Background()
	db := pg.New(t)
	t.Setenv("WAYMARK_SECRET_TABLES_DSN", db.DSN())
	conn, err := pgx.Connect(ctx, db.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(ctx) })
	_, err = conn.Exec(ctx, `create table once (id bigint, name text, amount numeric constraint positive check (amount >= 0), placed timestamptz);
		create function drops() returns trigger language plpgsql as $$ begin if new.name = 'n7' then return null; end if; return new; end $$;
		create trigger drops before insert on once for each row execute function drops()`)
	require.NoError(t, err)
	s := start(t)
	text, _ := orders(60)
	s.Write(t, map[string]string{"orders.csv": text})
	result, err := s.Run(t, "first", document)
	require.NoError(t, err)
	require.Equal(t, int64(5), result.Refused, "four by the constraint, and the one that the trigger drops")

	_, err = conn.Exec(ctx, "alter table once drop constraint positive; drop trigger drops on once")
	require.NoError(t, err)
	retry, err := s.Client.Retry(ctx, client.RetryRequest{Of: "first", Run: "second"})
	require.NoError(t, err)
	result, err = system.End(t, retry.Execution)
	require.NoError(t, err)
	require.Equal(t, int64(5), result.Rows)
	require.Zero(t, result.Refused)
	s.Verify(t, "first")
	s.Verify(t, "second")
	var rows string
	require.NoError(t, conn.QueryRow(ctx, `select string_agg(run || ' ' || state || ' ' || rows || ' ' || refused, ', ' order by run) from waymark_outputs`).Scan(&rows))
	require.Equal(t, "first published 55 5, second published 5 0", rows)
	require.NoError(t, conn.QueryRow(ctx, `select count(*) || ' ' || count(distinct name) from once`).Scan(&rows))
	require.Equal(t, "60 60", rows)
}

func TestATableThatIsNotThereStopsTheRunInWords(t *testing.T) {
	db := pg.New(t)
	t.Setenv("WAYMARK_SECRET_TABLES_DSN", db.DSN())
	s := start(t)
	text, _ := orders(10)
	s.Write(t, map[string]string{"orders.csv": text})
	_, err := s.Run(t, "load", load)
	require.ErrorContains(t, err, "there is no such table: make it, or set create: true")
	require.NotContains(t, err.Error(), db.Password())
	_, err = s.Run(t, "unload", unload)
	require.ErrorContains(t, err, "check schema and name")
	require.NotContains(t, err.Error(), db.Password())
	requireNowhere(t, filepath.Dir(s.Database), db.Password())
}

// TestThePagesDocumentCompiles: the document of docs/postgres.md is one, and its SQL is what the sink would make.
func TestThePagesDocumentCompiles(t *testing.T) {
	page, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	require.Len(t, blocks, 1)
	t.Setenv("WAYMARK_SECRET_ORDERS_DSN", "host=shop dbname=sales")
	t.Setenv("WAYMARK_SECRET_DW_DSN", "postgres://waymark:canary-password@warehouse/dw")
	compiled, err := worker.Planner{FingerprintKey: []byte("k")}.Plan(plan.Request{File: "postgres.md", Folder: t.TempDir(), Document: blocks[0][1]})
	require.NoError(t, err)
	description := string(compiled.JSON())
	require.Contains(t, description, `"postgres://warehouse:5432/dw/dw.orders"`)
	require.Contains(t, description, `"guarantee":"transactional"`)
	require.NotContains(t, description, "canary")
}
