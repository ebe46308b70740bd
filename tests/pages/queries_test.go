package pages_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
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

	pages := slices.Collect(maps.Keys(askedMost))
	few, many := countQueries(t, state, "few", pages), countQueries(t, state, "many", pages)
	home, err = local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	for i := range otherRuns {
		execute(t, home, filepath.Join(folder, "few.yaml"), fmt.Sprintf("other-%d", i))
	}
	require.NoError(t, home.Close())
	crowd := countQueries(t, state, "few", pages)
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

// ReadSets reads many with one query, as Postgres does.
func (r *reads) ReadSets(
	ctx context.Context, kind landscape.Record, prefixes [][]any, q landscape.Query, yield func(landscape.Record) bool,
) error {
	r.count.Add(1)
	for _, q.Prefix = range prefixes {
		if err := r.Driver.Read(ctx, kind, q, yield); err != nil {
			return err
		}
	}
	return nil
}

// TestListsAskOnce: pages and answers about schedules and pipelines read the record as often whether few or many are
// deployed, each with a slot that is done, one that was skipped ahead of its time and, every third, a pause.
func TestListsAskOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	state := local.Folder(filepath.Join(folder, "state"))
	home, err := local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	writeAsked(t, folder, "few", askedRuns["few"])
	execute(t, home, filepath.Join(folder, "few.yaml"), "few")
	require.NoError(t, home.Close())
	var counts []map[string]int64
	for deployed, number := range []int{3, 9} {
		for i := range number {
			deployScheduled(t, state, folder, fmt.Sprintf("beat%d-%02d", deployed, i), i%3 == 0)
		}
		counts = append(counts, countQueries(t, state, "few", []string{
			"/", "/schedules", "/pipelines", "/schedules/default/beat0-00/daily", "/pipelines/beat0-00",
			"/v1/schedules", "/v1/pipelines", "/v1/schedules/default/beat0-01/daily",
		}))
	}
	require.Equal(t, counts[0], counts[1])
	home, err = local.Open(t.Context(), local.Options{State: state})
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	requirePages(t, func(p client.DeployedPage) (ids []string) {
		list, err := home.SchedulesAfter(t.Context(), "", p)
		require.NoError(t, err)
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids
	})
	requirePages(t, func(p client.DeployedPage) (ids []string) {
		list, err := home.PipelinesAfter(t.Context(), "", p)
		require.NoError(t, err)
		for _, s := range list {
			ids = append(ids, s.Pipeline)
		}
		return ids
	})
}

// requirePages requires that the pages of a list of the twelve that were deployed have each once, in the order of all.
func requirePages(t *testing.T, page func(client.DeployedPage) (ids []string)) {
	t.Helper()
	all := page(client.DeployedPage{})
	require.Len(t, all, 12)
	require.IsIncreasing(t, all)
	var paged []string
	for after := ""; len(paged) < len(all); after = paged[len(paged)-1] {
		found := page(client.DeployedPage{After: after, Limit: 5})
		require.Len(t, found, min(5, len(all)-len(paged)))
		paged = append(paged, found...)
	}
	require.Equal(t, all, paged)
	sees := func(pipeline string) bool { return strings.HasPrefix(pipeline, "beat1-") }
	require.Len(t, page(client.DeployedPage{Limit: 5, Sees: sees}), 5, "those that are not seen take no place")
	require.Len(t, page(client.DeployedPage{Sees: sees}), 9)
}

// deployScheduled deploys a pipeline with a schedule of which slots are recorded.
func deployScheduled(t *testing.T, state local.Folder, folder, name string, paused bool) {
	t.Helper()
	home, err := local.Open(t.Context(), local.Options{State: state, Allow: []string{folder}})
	require.NoError(t, err)
	defer func() { require.NoError(t, home.Close()) }()
	document := fmt.Sprintf(`name: %[1]s
sources: {in: {csv: {path: "%[2]s/few.csv"}, schema: {fields: {id: int, n: int}}}}
sinks: {out: {csv: {path: "%[2]s/out/%[1]s.csv", overwrite: true}}}
schedules: {daily: {every: day}}
`, name, folder)
	request := client.DeployRequest{File: filepath.Join(folder, name+".yaml"), Source: []byte(document), Anyway: "a test"}
	_, err = home.Deploy(t.Context(), request)
	require.NoError(t, err)
	id := landscape.ScheduleID(landscape.DefaultEnvironment, name, "daily")
	store, err := sqlitestore.Open(t.Context(), filepath.Join(string(state), "landscape.db"), sqlitestore.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	log := landscape.New(store, nil)
	last, ahead := landscapetest.SlotOf(id, 1, landscape.SlotDue), landscapetest.SlotOf(id, 2, landscape.SlotSkipped)
	last.Deadline, ahead.Deadline = 0, 0
	last.Due, ahead.Due = landscape.MicrosOf(time.Now())-1, landscape.MicrosOf(time.Now().Add(24*time.Hour))
	require.NoError(t, log.TakeSlot(t.Context(), last, "few", landscape.SlotRequest{Actor: "ann", Why: "a test"}))
	require.NoError(t, log.ChangeSlots(t.Context(), nil, []landscape.SlotChange{{To: ahead}}))
	if paused {
		_, err := home.PauseSchedule(t.Context(), id, time.Time{}, client.By{Why: "a test"})
		require.NoError(t, err)
	}
}

// countQueries asks for each page once, with a client that knows nothing yet, and returns how often that read the record.
func countQueries(t *testing.T, state local.Folder, run string, pages []string) map[string]int64 {
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
		if strings.HasPrefix(path, "/v1/") {
			request.Header.Set("Authorization", "Bearer "+granted.Token)
		}
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
	for _, page := range pages {
		counted := &reads{Driver: store}
		home.Client = client.New(landscape.New(counted, nil), "the record", home)
		answer := ask(http.MethodGet, strings.ReplaceAll(page, "RUN", run), "", session)
		require.Equal(t, http.StatusOK, answer.StatusCode, page)
		counts[page] = counted.count.Load()
	}
	return counts
}
