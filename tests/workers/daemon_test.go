package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/tests/system"
	"waymark/worker/daemon"
	"waymark/workflows"
)

// siteOrders is a document of which one row is refused, and one filtered. Its chunks are so small that the workflow
// asks for an activity for each of them.
const siteOrders = `
name: orders
chunk: {rows: 1000}
sources: {orders: {csv: {path: orders.csv}, schema: {fields: {id: int, total: decimal}}, on_invalid: quarantine}}
steps: [{name: size, set: {large: "row.total > decimal('10')"}}, {name: known, filter: row.id < 2}]
sinks: {all: {jsonl: {path: out/all.jsonl, overwrite: true}}}
`

// smallOrders is the same with chunks of the usual size: all that the run does is done within a task of its workflow.
var smallOrders = strings.Replace(siteOrders, "chunk: {rows: 1000}", "", 1)

const ordersCSV = "id,total\n1,5.00\n2,50.00\nx,7.00\n"

// site is a cluster's Temporal with a folder for everything else.
type site struct {
	folder   string
	temporal *embedded.Server
	client   client.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteWith(t, embedded.Options{})
}

// newSiteWith is newSite with more to choose.
func newSiteWith(t *testing.T, o embedded.Options) *site {
	t.Helper()
	s := &site{folder: t.TempDir()}
	s.start(t, o)
	s.write(t, "pipelines/orders.yaml", siteOrders)
	s.write(t, "pipelines/orders.csv", ordersCSV)
	return s
}

// start starts Temporal.
func (s *site) start(t *testing.T, o embedded.Options) {
	t.Helper()
	var err error
	o.DatabasePath = filepath.Join(s.folder, "temporal.db")
	s.temporal, err = embedded.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.temporal.Stop()) })
	s.client, err = s.temporal.Client(t.Context(), client.Options{})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
}

// address is where Temporal is reached.
func (s *site) address(t *testing.T) string {
	t.Helper()
	holder, held, err := embedded.Holder(filepath.Join(s.folder, "temporal.db"))
	require.NoError(t, err)
	require.True(t, held)
	return holder.Address
}

func (s *site) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// config is that of a process of this site, with the defaults of the flags.
func (s *site) config(address string) daemon.Config {
	var c daemon.Config
	c.Bind(pflag.NewFlagSet("test", pflag.ContinueOnError))
	c.Temporal, c.Files, c.HTTP, c.LogFormat = address, "site", "127.0.0.1:0", "json"
	c.Landscape, c.Payloads = "sqlite:"+filepath.Join(s.folder, "landscape.db"), "file:"+filepath.Join(s.folder, "payloads")
	c.Pipelines = filepath.Join(s.folder, "pipelines")
	return c
}

// run starts a run of the deployed pipeline orders.
func (s *site) run(t *testing.T, c client.Client, id string, input map[string]any) client.WorkflowRun {
	t.Helper()
	if input["pipeline"] == nil {
		input["pipeline"] = "orders"
	}
	input["run"] = id
	return system.Execute(t, c, workflows.WorkflowID(id), input)
}

// daemonProcess is a worker process, in a goroutine.
type daemonProcess struct {
	log
	stop  context.CancelFunc // the first SIGTERM
	ended chan error
}

// log keeps what a process says, line by line.
type log struct {
	mu    sync.Mutex
	more  sync.Cond // there are more lines, or there will be none
	lines []string
	read  int // so many lines were waited for
	over  bool
}

// Write takes one line: that is how slog writes.
func (l *log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	l.more.Broadcast()
	return len(line), nil
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.more.Broadcast()
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}

// next returns the next line, and false if there will be none.
func (l *log) next() (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.read == len(l.lines) && !l.over {
		l.more.Wait()
	}
	if l.read == len(l.lines) {
		return "", false
	}
	l.read++
	return l.lines[l.read-1], true
}

// said waits for the line with this message, and returns its other words.
func (l *log) said(t *testing.T, message string) map[string]any {
	t.Helper()
	defer time.AfterFunc(patience, l.close).Stop()
	for {
		line, there := l.next()
		require.True(t, there, "the log ends without %q:\n%s", message, l.text())
		var words map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &words), line)
		if words["msg"] == message {
			return words
		}
	}
}

// begin starts a process with these variables.
func begin(t *testing.T, c daemon.Config, p daemon.Program, env map[string]string) *daemonProcess {
	t.Helper()
	made := &daemonProcess{ended: make(chan error, 1)}
	made.more.L = &made.mu
	ctx, stop := context.WithCancel(context.Background())
	made.stop = stop
	p.Code, p.Stderr = "waymark test", &made.log
	p.Env = func(name string) (string, bool) { value, set := env[name]; return value, set }
	if p.SQLite == nil {
		p.SQLite = openSQLite
	}
	over := make(chan struct{})
	go func() {
		made.ended <- daemon.Run(ctx, c, p)
		made.close()
		close(over)
	}()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return made
}

func openSQLite(ctx context.Context, path string, create bool) (landscape.Driver, error) {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Create: create})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// end tells the process to end, and requires that it does without an error.
func (p *daemonProcess) end(t *testing.T) {
	t.Helper()
	p.stop()
	require.NoError(t, <-p.ended, p.text())
}

// get returns a page.
func get(t *testing.T, address any, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", address, path), nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

func TestAProcessRunsWhatIsDeployed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write(t, "pipelines/orders.yaml", smallOrders)
	p := begin(t, s.config(s.address(t)), daemon.Program{}, nil)
	address := p.said(t, "listening")["address"]
	p.said(t, "working")
	code, text := get(t, address, "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	require.Equal(t, "temporal: ok\nlandscape: ok\npayloads: ok\nwork: ok\n", text)
	code, _ = get(t, address, "/healthz")
	require.Equal(t, http.StatusOK, code)

	var result workflows.RunResult
	require.NoError(t, s.run(t, s.client, "r1", map[string]any{}).Get(t.Context(), &result))
	require.Equal(t, []activities.Refusal{{Code: "CONVERT", Rows: 1}}, result.RefusedBy)
	result.Ending = activities.Ending{}
	require.Equal(t, workflows.RunResult{Run: "r1", Status: pipeline.CompletedWithFailures, Rows: 3, Refused: 1}, result)
	out, err := os.ReadFile(filepath.Join(s.folder, "pipelines/out/all.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(out), "\n"))

	require.Eventually(t, func() bool { // counting is done beside the work
		_, text = get(t, address, "/metrics")
		return strings.Contains(text, `waymark_runs_total{pipeline="orders",status="completed_with_failures"} 1`)
	}, patience, 10*time.Millisecond)
	require.Contains(t, text, `waymark_rows_total{kind="read",node="orders",pipeline="orders"} 3`)
	require.Contains(t, text, `waymark_rows_total{kind="filtered",node="known",pipeline="orders"} 1`)
	require.Contains(t, text, `waymark_rows_total{kind="quarantined",node="orders",pipeline="orders"} 1`)
	require.Contains(t, text, "temporal_local_activity_execution_latency_seconds_count{")
	require.NotRegexp(t, `site/[0-9]`, text, "the queue of the process has no name of its own in metrics")
	p.end(t)
	require.Contains(t, p.text(), `"msg":"drained"`)
}

func TestAProcessWaitsForTemporal(t *testing.T) {
	t.Parallel()
	s := &site{folder: t.TempDir()}
	port := freePort(t)
	address := fmt.Sprintf("127.0.0.1:%d", port)
	c := s.config(address)
	c.Pipelines = ""
	p := begin(t, c, daemon.Program{}, nil)
	pages := p.said(t, "listening")["address"]
	why := p.said(t, "waiting for temporal")["error"]
	require.Contains(t, why, address)
	require.Contains(t, why, "nobody listens there")
	code, text := get(t, pages, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, fmt.Sprintf("temporal: %v\nlandscape: not reached yet\npayloads: not reached yet\nwork: not reached yet\n", why))
	code, _ = get(t, pages, "/healthz")
	require.Equal(t, http.StatusOK, code, "waiting is no reason to be killed")

	s.start(t, embedded.Options{Port: port})
	p.said(t, "working")
	code, text = get(t, pages, "/readyz")
	require.Equal(t, http.StatusOK, code, text)
	p.end(t)
}

func TestAProcessThatWaitsEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := &site{folder: t.TempDir()}
	c := s.config("127.0.0.1:1")
	c.Pipelines = ""
	p := begin(t, c, daemon.Program{}, nil)
	p.said(t, "waiting for temporal")
	p.end(t)
}

// gate is a landscape that lets no records of a kind be committed for a while.
type gate struct {
	landscape.Driver
	kind  landscape.Record
	waits chan struct{} // gets something when a commit begins to wait
	open  chan struct{} // closed when commits may go on
}

func (g *gate) Commit(ctx context.Context, b landscape.Tx) error {
	if !slices.ContainsFunc(b.Insert, func(r landscape.Record) bool { return r.Table() == g.kind.Table() }) {
		return g.Driver.Commit(ctx, b)
	}
	select {
	case g.waits <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return g.Driver.Commit(ctx, b)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gated is a program whose landscape is a gate.
func gated(g *gate) daemon.Program {
	return daemon.Program{SQLite: func(ctx context.Context, path string, create bool) (landscape.Driver, error) {
		var err error
		g.Driver, err = openSQLite(ctx, path, create)
		return g, err
	}}
}

// attempts returns how many attempts of activities the run's history has, and the failures of the earlier ones.
func attempts(t *testing.T, c client.Client, id string) (most int32, failures string) {
	t.Helper()
	for _, event := range system.Events(t, c, workflows.WorkflowID(id), "") {
		started := event.GetActivityTaskStartedEventAttributes()
		most = max(most, started.GetAttempt())
		failures += started.GetLastFailure().GetMessage()
	}
	return most, failures
}

func TestWhatIsInHandComesToItsEnd(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := newSite(t)
	g := &gate{kind: landscape.Chunk{}, waits: make(chan struct{}, 1), open: make(chan struct{})}
	p := begin(t, s.config(s.address(t)), gated(g), nil)
	p.said(t, "working")
	run := s.run(t, s.client, "r1", map[string]any{})
	<-g.waits
	p.stop()
	p.said(t, "draining")
	close(g.open)
	require.NoError(t, <-p.ended)
	require.NotContains(t, p.text(), "giving back")

	next := begin(t, s.config(s.address(t)), daemon.Program{}, nil)
	require.NoError(t, run.Get(t.Context(), nil))
	most, failures := attempts(t, s.client, "r1")
	require.EqualValues(t, 1, most, "what was in hand is done: %s", failures)
	next.end(t)
}

func TestWhatTakesTooLongIsGivenBack(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	for what, kind := range map[string]landscape.Record{"an activity": landscape.Chunk{}, "what is done within a task": landscape.Run{}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			g := &gate{kind: kind, waits: make(chan struct{}, 1), open: make(chan struct{})}
			c := s.config(s.address(t))
			c.Drain = 0
			p := begin(t, c, gated(g), nil)
			p.said(t, "working")
			run := s.run(t, s.client, "r1", map[string]any{})
			<-g.waits
			p.end(t)
			require.Contains(t, p.text(), "giving back")

			next := begin(t, s.config(s.address(t)), daemon.Program{}, nil)
			var result workflows.RunResult
			require.NoError(t, run.Get(t.Context(), &result))
			require.EqualValues(t, 3, result.Rows)
			if most, failures := attempts(t, s.client, "r1"); kind == (landscape.Run{}) { // a chunk is asked for again, of another process
				require.GreaterOrEqual(t, most, int32(2))
				require.Regexp(t, "the worker process ends|context canceled", failures, "Temporal was told, and did not have to find out")
			}
			next.end(t)
		})
	}
}
