package pages_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/serve/api"
	"waymark/tests/sample"
)

// askedRuns are the runs of the documents of TestPagesAskLittle, with so many rows in each of their four chunks.
var askedRuns = map[string]int{"few": 4, "many": 120}

// askedMost is with how many queries each kind of page reads the record at most. RUN stands for a run.
var askedMost = map[string]int64{
	"/": 12, "/runs": 12, "/runs/RUN": 60, "/runs/RUN/rows?node=both": 60, "/runs/RUN/rows?edge=size:big:true": 30, "/runs/RUN/rows?sink=small": 60, "/runs/RUN/rows?node=quarantine": 45,
	"/runs/RUN/explain?token=in:2": 15, "/runs/RUN/errors": 15, "/runs/RUN/errors?values=true": 15, "/runs/RUN/timeline": 12, "/runs/RUN/compare?with=RUN-before": 130,
	"/runs/RUN/effects": 8, "/runs/RUN/evidence": 32, "/starts": 8, "/pipelines": 8, "/schedules": 5, "/triggers": 5, "/access": 5, "/find?q=in:2": 60,
}

// perRun is how many more queries a page makes for each run that it looks at: each reads a record or a few by its key.
var perRun = map[string]int64{"/find?q=in:2": 13}

// otherRuns is how many more there are at the end.
const otherRuns = 12

// TestPagesAskLittle counts with how many queries each kind of page reads the record: few, and not more of a run with 30 times the rows, or among more runs, but for the lists of runs.
func TestPagesAskLittle(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	folder := t.TempDir()
	state := local.Folder(filepath.Join(folder, "state"))
	home, err := local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	for name, rows := range askedRuns {
		writeAsked(t, folder, name, rows)
		for _, run := range []string{name + "-before", name} {
			execute(t, home, filepath.Join(folder, name+".yaml"), run)
		}
	}
	require.NoError(t, home.Close())

	few, many := countQueries(t, state, "few"), countQueries(t, state, "many")
	home, err = local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	for i := range otherRuns {
		execute(t, home, filepath.Join(folder, "few.yaml"), fmt.Sprintf("other-%d", i))
	}
	require.NoError(t, home.Close())
	crowd := countQueries(t, state, "few")
	for page, most := range askedMost {
		require.Positive(t, few[page], page)
		require.LessOrEqual(t, few[page], most, page)
		require.LessOrEqual(t, many[page], few[page]+few[page]/4, "%s, of a run with more rows", page) // a chunk more, perhaps
		require.LessOrEqual(t, crowd[page], few[page]+otherRuns*perRun[page], "%s, among more runs", page)
	}
}

// writeAsked writes a document with a fork, a gate, a filter and an aggregate, and what it reads.
func writeAsked(t *testing.T, folder, name string, rows int) {
	t.Helper()
	var data strings.Builder
	data.WriteString("id,n\n")
	for i := range 4 * rows {
		fmt.Fprintf(&data, "%d,%s\n", i, map[bool]string{true: "x", false: fmt.Sprint(i % 100)}[i%4 == 3])
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".csv"), []byte(data.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), fmt.Appendf(nil, `name: %[1]s
chunk: {rows: %[2]d}
sources: {in: {csv: {path: %[1]s.csv}, schema: {fields: {id: int, n: int}}}}
steps:
  - {name: both, fork: [left, right]}
  - {name: size, from: left, gate: row.n > 50, routes: {"true": big, "false": small}}
  - {name: even, from: right, filter: row.n %% 2 == 0}
  - {name: total, aggregate: {compute: {n: sum(row.n)}}}
sinks:
  big: {csv: {path: out/%[1]s-big.csv, overwrite: true}}
  small: {csv: {path: out/%[1]s-small.csv, overwrite: true}}
  sums: {csv: {path: out/%[1]s-sums.csv, overwrite: true}, from: total}
`, name, rows), 0o600))
}

func execute(t *testing.T, home *local.Home, document, run string) {
	t.Helper()
	e, err := home.Start(t.Context(), client.StartRequest{File: document, Run: run})
	require.NoError(t, err)
	_, err = e.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// reads is a record whose reads are counted.
type reads struct {
	landscape.Driver
	count atomic.Int64
}

func (r *reads) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	r.count.Add(1)
	return r.Driver.Read(ctx, kind, q, yield)
}

// countQueries asks for each page once, with a client that knows nothing yet, and returns how often that read the record.
func countQueries(t *testing.T, state local.Folder, run string) map[string]int64 {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(string(state), "landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	home, err := local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	s, err := api.New(api.Options{Home: home, Logger: slog.New(slog.DiscardHandler), Code: "test", Private: true})
	require.NoError(t, err)
	granted, err := home.GrantAccess(t.Context(), client.AccessRequest{By: client.By{Why: "a test"}, Name: "ann", Roles: landscape.Roles()})
	require.NoError(t, err)
	ask := func(method, path, body string, cookies []*http.Cookie) *http.Response {
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Host = "localhost"
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, cookie := range cookies {
			request.AddCookie(cookie)
		}
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, request)
		return answer.Result()
	}
	session := ask(http.MethodPost, "/login", url.Values{"token": {granted.Token}}.Encode(), nil).Cookies()
	require.Len(t, session, 1)
	counts := map[string]int64{}
	for page := range askedMost {
		counted := &reads{Driver: store}
		home.Client = client.New(landscape.New(counted, nil), "the record", home)
		answer := ask(http.MethodGet, strings.ReplaceAll(page, "RUN", run), "", session)
		require.Equal(t, http.StatusOK, answer.StatusCode, page)
		counts[page] = counted.count.Load()
	}
	return counts
}
