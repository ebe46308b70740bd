// Command readers measures the web pages and the HTTP API of `waymark serve` while many people read them and a large
// run is running: `make bench-readers`. Each reader has an access token of its own and asks for the next page as soon
// as the last one has come. The program prints a table, and JSON in its last line. It fails if an answer was an error,
// or if the run ended before the readers did: then give it more -rows.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/tests/services"
)

func main() {
	var m measurement
	flag.StringVar(&m.binary, "binary", "bin/waymark", "the waymark binary to measure")
	flag.IntVar(&m.rows, "rows", 3_000_000, "rows of the run that is running")
	flag.IntVar(&m.readers, "readers", 200, "how many people read at once")
	flag.DurationVar(&m.time, "time", 30*time.Second, "how long they read")
	flag.DurationVar(&m.pause, "pause", 0, "how long a reader looks at a page before asking for the next one")
	flag.IntVar(&m.past, "past", 50, "how many small runs ended before")
	flag.Int64Var(&m.from, "from", 500_000, "how many rows the run has done when the reading begins")
	flag.StringVar(&m.only, "only", "", "the one path that is read")
	flag.BoolVar(&m.idle, "idle", false, "the large run ends before anybody reads")
	flag.Parse()
	if m.only != "" {
		paths = []string{m.only}
	}
	if err := m.take(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type measurement struct {
	binary, only        string
	rows, readers, past int
	time, pause         time.Duration
	idle                bool
	from                int64

	folder, url string
	process     int      // of the server
	tokens      []string // one for each reader
}

const pipeline = `
name: orders
params: {from: {type: string}, to: {type: string}}
sources:
  in:
    csv: {path: "${param:from}"}
    key: [id]
    schema:
      fields:
        {id: int, customer: string, city: string, channel: string, total: decimal, items: int, weight: float,
         paid: bool, placed: string, note: string}
    on_invalid: quarantine
steps:
  - {name: judge, set: {large: row.total > 500}}
  - name: letters # so that the run takes minutes
    set:
      text: "row.customer.split('').map(x, x + row.city).join('-')"
      more: "row.note.split('').map(x, x + row.channel).join('+')"
  - {name: paid, filter: row.paid}
  - {name: triage, gate: row.large, routes: {"true": review, "false": all}}
sinks:
  review: {jsonl: {path: "${param:to}.review"}}
  all: {csv: {path: "${param:to}"}}
`

// The large run, and the file that it reads.
const (
	largeRun  = "large"
	largeFile = "large.csv"
	smallFile = "small.csv"
)

func (m *measurement) take(ctx context.Context) (err error) {
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return err
	}
	if m.folder, err = os.MkdirTemp("", "waymark-bench-readers-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.folder) }()
	if err := m.write(); err != nil {
		return err
	}
	stop, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := m.grant(ctx); err != nil {
		return err
	}
	for i := range m.past {
		if err := m.run(ctx, fmt.Sprintf("small-%d", i), smallFile); err != nil {
			return err
		}
	}
	running, err := m.begin(ctx)
	if err != nil {
		return err
	}
	if m.idle {
		if err := <-running; err != nil {
			return err
		}
	}
	read, err := m.read(ctx)
	if err != nil {
		return err
	}
	passed, err := m.passed(ctx)
	return errors.Join(m.tell(read, passed), err)
}

// write writes the document, the rows of the large run, and a few for the small ones.
func (m *measurement) write() error {
	document := filepath.Join(m.folder, "orders.yaml")
	if err := os.WriteFile(document, []byte(pipeline), 0o600); err != nil {
		return err
	}
	const small = 10
	err := writeRows(filepath.Join(m.folder, largeFile), m.rows)
	return errors.Join(err, writeRows(filepath.Join(m.folder, smallFile), small))
}

func writeRows(path string, rows int) error {
	file, err := os.Create(path) //nolint:gosec // in a folder of our own
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintln(out, "id,customer,city,channel,total,items,weight,paid,placed,note")
	cities, channels := []string{"Bergen", "Porto", "Graz", "Turku", "Lyon"}, []string{"web", "shop", "phone"}
	for i := range rows {
		items := fmt.Sprint(i % 7)
		if i%400 == 0 {
			items = "many" // is refused
		}
		fmt.Fprintf(out, "%d,customer %d,%s,%s,%d.%02d,%s,%.2f,%t,2026-%02d-%02d,note on order %d\n",
			i, i%9973, cities[i%len(cities)], channels[i%len(channels)], i*7919%1000, i%100, items, float64(i%997)/4,
			i%2 == 0, 1+i%12, 1+i%28, i)
	}
	return errors.Join(out.Flush(), file.Close())
}

// serve begins a server.
func (m *measurement) serve(ctx context.Context) (stop func(), err error) {
	log, err := os.Create(filepath.Join(m.folder, "log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, m.binary, //nolint:gosec // what is measured
		"serve", ".", "--port", "0", "--pages", "off", "--http", "off", "--api", "127.0.0.1:0", "--api-rate", "0",
		"--log-level", "info")
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.folder, log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m.process = cmd.Process.Pid
	stop = func() {
		_ = cmd.Process.Kill() // what it executes is not awaited
		_ = cmd.Wait()
		_ = log.Close()
	}
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	for range 600 {
		text, err := os.ReadFile(log.Name())
		if found := listens.FindSubmatch(text); err == nil && found != nil &&
			bytes.Contains(text, []byte("msg=working")) {
			m.url = "http://" + string(found[1])
			return stop, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("the server does not listen:\n%s", text)
}

// grant makes an access token for each reader, as `waymark access grant` does.
func (m *measurement) grant(ctx context.Context) error {
	path := filepath.Join(m.folder, ".waymark", "landscape.db")
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{Keep: true})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	record := client.New(landscape.New(store, time.Now), m.folder, nil)
	for i := range m.readers {
		granted, err := record.GrantAccess(ctx, client.AccessRequest{
			By:   client.By{Actor: "bench", Why: "a measurement"},
			Name: fmt.Sprintf("reader %d", i), Roles: []landscape.Role{landscape.Viewer},
		})
		if err != nil {
			return err
		}
		m.tokens = append(m.tokens, granted.Token)
	}
	return nil
}

// run executes a run on the server.
func (m *measurement) run(ctx context.Context, id, from string) error {
	cmd := exec.CommandContext(ctx, m.binary, //nolint:gosec // what is measured
		"run", "orders.yaml", "--quiet", "--run-id", id, "--param", "from="+from, "--param", "to=out/"+id)
	cmd.Dir = m.folder
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 { // rows were refused
		return nil
	}
	if err != nil {
		return fmt.Errorf("run %s: %w\n%s", id, err, out)
	}
	return nil
}

// begin begins the large run, and returns when it has done the first of its rows. The channel gets its end.
func (m *measurement) begin(ctx context.Context) (<-chan error, error) {
	ended := make(chan error, 1)
	go func() { ended <- m.run(ctx, largeRun, largeFile) }()
	for {
		select {
		case err := <-ended:
			if err == nil && !m.idle {
				err = errors.New("the large run ended at once: give it more -rows")
			}
			ended <- err
			return ended, err
		case <-time.After(100 * time.Millisecond):
		}
		if rows, err := m.passed(ctx); err == nil && rows >= m.from {
			return ended, nil
		}
	}
}

// passed is how many rows of the large run went through its steps.
func (m *measurement) passed(ctx context.Context) (int64, error) {
	var run struct {
		Passed int64  `json:"rows_passed"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	}
	text, err := m.get(ctx, http.DefaultClient, "/v1/runs/"+largeRun, m.tokens[0])
	if err == nil {
		err = json.Unmarshal(text, &run)
	}
	if err == nil && !m.idle && run.Status != "running" {
		err = fmt.Errorf("the large run is %s: give it more -rows; %s", run.Status, run.Reason)
	}
	return run.Passed, err
}

// get asks for a page, or with a token for an answer of the API.
func (m *measurement) get(ctx context.Context, who *http.Client, path, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+path, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := who.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", path, answer.Status, text)
	}
	return text, err
}

// paths are what readers ask for, in turn. Those of the API are asked with a token, the others with the cookie of a
// session.
var paths = []string{"/", "/runs", "/runs/" + largeRun, "/v1/runs", "/v1/runs/" + largeRun}

// answers are what the readers got.
type answers struct {
	mu      sync.Mutex
	took    map[string][]time.Duration
	failed  int
	first   error   // of those that failed
	cpu     float64 // seconds of CPU that the server used meanwhile, for the run as well
	seconds float64 // how long it took
}

// read lets all readers read for the time.
func (m *measurement) read(ctx context.Context) (*answers, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: m.readers}
	defer transport.CloseIdleConnections()
	people := make([]*http.Client, m.readers)
	for i, token := range m.tokens {
		jar, _ := cookiejar.New(nil)
		people[i] = &http.Client{Jar: jar, Transport: transport}
		answer, err := people[i].PostForm(m.url+"/login", url.Values{"token": {token}})
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
	}
	all := &answers{took: map[string][]time.Duration{}}
	before, began := services.CPU(m.process).Seconds(), time.Now()
	var group errgroup.Group
	for i, person := range people {
		group.Go(func() error {
			for k := i; time.Since(began) < m.time; k++ {
				path, token := paths[k%len(paths)], ""
				if strings.HasPrefix(path, "/v1/") {
					token = m.tokens[i]
				}
				asked := time.Now()
				_, err := m.get(ctx, person, path, token)
				all.add(path, time.Since(asked), err)
				time.Sleep(m.pause)
			}
			return nil
		})
	}
	err := group.Wait()
	all.cpu, all.seconds = services.CPU(m.process).Seconds()-before, time.Since(began).Seconds()
	return all, err
}

func (a *answers) add(path string, took time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.took[path] = append(a.took[path], took)
	if err != nil {
		a.failed++
		if a.first == nil {
			a.first = err
		}
	}
}

// figures are the last line.
type figures struct {
	Cores   int             `json:"cores"`
	Rows    int             `json:"rows"`
	Readers int             `json:"readers"`
	Passed  int64           `json:"rows_passed"` // through the steps of the large run, at the end
	Seconds float64         `json:"seconds"`
	Answers int             `json:"answers"`
	Failed  int             `json:"failed"`
	CPU     float64         `json:"cpu_ms_per_answer"` // of the server, with that for the run
	Paths   map[string]path `json:"paths"`
}

// path is how long answers for a path took.
type path struct {
	Answers int     `json:"answers"`
	P50     float64 `json:"p50_ms"`
	P95     float64 `json:"p95_ms"`
	Most    float64 `json:"max_ms"`
}

// tell prints the figures.
func (m *measurement) tell(a *answers, passed int64) error {
	f := figures{
		Cores: runtime.NumCPU(), Rows: m.rows, Passed: passed, Readers: m.readers,
		Seconds: a.seconds, Failed: a.failed, Paths: map[string]path{},
	}
	fmt.Printf("%d cores, %d readers for %.0f s, a run that has done %d of %d rows\n\n",
		f.Cores, f.Readers, a.seconds, f.Passed, f.Rows)
	fmt.Printf("%-20s %8s %9s %9s %9s\n", "path", "answers", "p50 ms", "p95 ms", "max ms")
	for _, asked := range paths {
		took := a.took[asked]
		slices.Sort(took)
		at := func(share int) float64 { return float64(took[(len(took)-1)*share/100].Microseconds()) / 1000 }
		p := path{len(took), at(50), at(95), at(100)}
		f.Answers += p.Answers
		f.Paths[asked] = p
		fmt.Printf("%-20s %8d %9.1f %9.1f %9.1f\n", asked, p.Answers, p.P50, p.P95, p.Most)
	}
	f.CPU = 1000 * a.cpu / float64(f.Answers)
	fmt.Printf("\n%.1f answers/s, %.1f ms of CPU of the server for each, the run included; %d failed\n\n",
		float64(f.Answers)/a.seconds, f.CPU, f.Failed)
	text, err := json.Marshal(f)
	fmt.Println(string(text))
	if a.first != nil {
		err = fmt.Errorf("%d answers failed: %w", a.failed, a.first)
	}
	return err
}
