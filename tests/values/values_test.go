package values_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"waymark/activities/recompute"
	"waymark/audit"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/services/pg"
	"waymark/tests/system"
	"waymark/worker"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// world has the values in every place.
type world struct {
	*system.System
	examples []example
	tables   *pgx.Conn // nil by day
}

// TestValues sends each value of docs/values.md from a CSV file into every sink, and from there through every source. By
// day it leaves out Postgres, and most rows of explain.
func TestValues(t *testing.T) {
	w := world{examples: examples(t)}
	planner := worker.Planner{FingerprintKey: []byte("a key for tests")}
	if sample.All() {
		db := pg.New(t)
		t.Setenv("WAYMARK_SECRET_TABLES_DSN", db.DSN())
		require.NoError(t, planner.AllowNetworks.Set("127.0.0.0/8,::1"))
		var err error
		w.tables, err = pgx.Connect(t.Context(), db.DSN()+"&timezone=UTC&datestyle=ISO")
		require.NoError(t, err)
		t.Cleanup(func() { _ = w.tables.Close(t.Context()) })
	}
	w.System = system.StartWith(t, system.Options{
		Planner: func(recompute.Planner) recompute.Planner { return planner }, Members: []worker.Member{{Files: "here"}}, Files: "here",
	})
	w.write(t)
	w.compareSinks(t)
	w.compareRecord(t, "first", "in", w.hashes(func(e example) form { return e.csv }))
	w.readBack(t)
	w.explain(t)
}

// cells is the rows as a CSV file.
func (w world) cells() string {
	var text strings.Builder
	text.WriteString(strings.Join(kinds, ",") + "\n")
	for i, e := range w.examples {
		text.WriteString(e.record(i+1) + "\n")
	}
	return text.String()
}

// lines are the rows in JSON Lines.
func (w world) lines() (lines []string) {
	for i, e := range w.examples {
		lines = append(lines, e.line(i+1))
	}
	return lines
}

// place is a kind of source and sink.
type place struct {
	name, sink, source string
	form               func(example) form
}

const table = `postgres: {dsn: "${secret:TABLES_DSN}", table: copies`

// places are all of them. The branch of a place is called as it is, with an x.
func (w world) places() []place {
	all := []place{
		{"lines", "jsonl: {path: out/lines.jsonl}", "jsonl: {path: out/lines.jsonl}", func(e example) form { return e.json }},
		{"cells", "csv: {path: out/cells.csv}", "csv: {path: out/cells.csv}", func(e example) form { return e.csv }},
		{"columns", "parquet: {path: out/columns}", `parquet: {path: "out/columns/*.parquet"}`, func(e example) form { return e.parquet }},
	}
	if w.tables != nil {
		all = append(all, place{"tables", table + ", create: true}", table + ", order_by: [id]}", func(e example) form { return e.postgres }})
	}
	return all
}

// write has the rows written into every sink.
func (w world) write(t *testing.T) {
	var branches, sinks []string
	for _, p := range w.places() {
		branches = append(branches, "x"+p.name)
		sinks = append(sinks, fmt.Sprintf("  %s: {%s, from: x%s}", p.name, p.sink, p.name))
	}
	w.Write(t, map[string]string{"in.csv": w.cells()})
	_, err := w.Run(t, "first", fmt.Sprintf("name: first\nsources: {in: {csv: {path: in.csv}, schema: %s}}\nsteps: [{name: copies, fork: [%s]}]\nsinks:\n%s\n",
		schema(), strings.Join(branches, ", "), strings.Join(sinks, "\n")))
	require.NoError(t, err)
	w.Verify(t, "first")
}

// compareSinks compares what is in the places with the page.
func (w world) compareSinks(t *testing.T) {
	require.Equal(t, strings.Join(w.lines(), "\n")+"\n", w.Read(t, "out/lines.jsonl"))
	require.Equal(t, w.cells(), w.Read(t, "out/cells.csv"))
	var want []string
	for _, p := range w.places() {
		for i, e := range w.examples {
			if code := p.form(e).code; code != "" {
				want = append(want, fmt.Sprint(p.name, " ", i+1, " ", code))
			}
		}
	}
	require.Equal(t, want, w.query(t, "select node || ' ' || row || ' ' || code from errors where run_id = 'first' order by lane, row"))
	if w.tables == nil {
		return
	}
	for i, e := range w.examples {
		if e.kind == "any" || e.postgres.code != "" {
			continue
		}
		var text string
		sql := fmt.Sprintf("select %s::text from copies where id = $1", pgx.Identifier{e.kind}.Sanitize())
		require.NoError(t, w.tables.QueryRow(t.Context(), sql, i+1).Scan(&text), e.shown)
		require.Equal(t, e.postgres.text, text)
	}
}

// hashes are those of the rows that are in a place, in order.
func (w world) hashes(form func(example) form) (hashes []string) {
	for i, e := range w.examples {
		switch f := form(e); {
		case f.isNull:
			hashes = append(hashes, e.hashOfNull(i+1))
		case f.code == "":
			hashes = append(hashes, e.hash(i+1))
		}
	}
	return hashes
}

// compareRecord compares the rows of a source on record.
func (w world) compareRecord(t *testing.T, run, source string, want []string) {
	t.Helper()
	got := w.query(t, "select output_hash from node_states where run_id = $1 and node = $2 order by row", run, source)
	require.Equal(t, len(want), len(got), source)
	for i := range want {
		require.Equal(t, want[i], got[i], "row %d of %s", i+1, source)
	}
}

// readBack reads every place, and a JSON document.
func (w world) readBack(t *testing.T) {
	places := append(w.places(), place{name: "array", source: "json: {path: in.json}", form: func(e example) form { return e.json }})
	w.Write(t, map[string]string{"in.json": "[" + strings.Join(w.lines(), ",\n") + "]"})
	var sources, sinks []string
	for _, p := range places {
		sources = append(sources, fmt.Sprintf("  %s: {%s, schema: %s}", p.name, p.source, schema()))
		sinks = append(sinks, fmt.Sprintf("  back_%s: {jsonl: {path: back/%[1]s.jsonl}, from: %[1]s}", p.name))
	}
	_, err := w.Run(t, "second", "name: second\nsources:\n"+strings.Join(sources, "\n")+"\nsinks:\n"+strings.Join(sinks, "\n")+"\n")
	require.NoError(t, err)
	for _, p := range places {
		w.compareRecord(t, "second", p.name, w.hashes(p.form))
	}
}

// explain asks for rows of the first run.
func (w world) explain(t *testing.T) {
	auditor := audit.New(w.Log.Reader, w.Payloads, w.Planner)
	for i := 0; i < len(w.examples); i += sample.Step(7) {
		story, err := auditor.Explain(t.Context(), audit.Question{Run: "first", Row: int64(i + 1)})
		require.NoError(t, err)
		require.Equal(t, w.examples[i].fields(i+1), fieldsOf(story), w.examples[i].shown)
		require.True(t, story.Nodes[0].Verified)
	}
}

// fields is the row as it is shown.
func (e example) fields(number int) map[string]string {
	all := map[string]string{}
	for i, value := range e.row(number, "null", cell, e.shown) {
		all[kinds[i]] = value
	}
	return all
}

// fieldsOf are the fields of a row that a source read.
func fieldsOf(story *audit.Explanation) map[string]string {
	all := map[string]string{}
	for _, change := range story.Nodes[0].Changes {
		all[change.Field] = "null"
		if change.After != nil {
			all[change.Field] = *change.After
		}
	}
	return all
}

// query returns the texts of a query of the landscape.
func (w world) query(t *testing.T, query string, args ...any) (texts []string) {
	t.Helper()
	db, err := sql.Open("sqlite", w.Database)
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query, args...)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		texts = append(texts, text)
	}
	require.NoError(t, rows.Err())
	return texts
}
