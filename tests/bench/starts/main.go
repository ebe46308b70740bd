// Command starts measures many small runs that services ask for through the HTTP API of `waymark serve`: `make bench-starts`. It prints figures and asserts
// nothing but that every run is complete.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver of the record
)

func main() {
	var m measurement
	flag.StringVar(&m.binary, "binary", "bin/waymark", "the waymark binary to measure")
	flag.IntVar(&m.runs, "runs", 1_000, "how many runs")
	flag.IntVar(&m.rows, "rows", 100, "rows of each run")
	flag.IntVar(&m.atOnce, "at-once", 16, "how many services wait for a run at once")
	flag.Float64Var(&m.rate, "rate", 0, "instead: start so many runs in a second, whether or not those before have ended")
	flag.Float64Var(&m.share, "share", 0, "then: start runs at this share of the rate that was measured, whether or not those before have ended")
	flag.DurationVar(&m.time, "time", 30*time.Minute, "how long to do that")
	flag.Parse()
	if err := m.take(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type measurement struct {
	binary             string
	runs, rows, atOnce int
	rate, share        float64
	time               time.Duration

	folder, url, token string
}

const pipeline = `
name: small
params: {to: {type: string}}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, name: string, total: decimal}}}}
steps:
  - {name: judge, set: {large: row.total > 50}}
  - {name: triage, gate: row.large, routes: {"true": review, "false": all}}
sinks:
  review: {jsonl: {path: "${param:to}"}}
  all: {jsonl: {path: "${param:to}.all"}}
`

// take starts a server, and measures with one service first, and then with many at once.
func (m *measurement) take(ctx context.Context) (err error) {
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return err
	}
	if m.folder, err = os.MkdirTemp("", "waymark-starts-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.folder) }()
	server, stop, err := m.serve(ctx)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%d cores, %s; runs of %d rows through the HTTP API, embedded\n", runtime.NumCPU(), runtime.Version(), m.rows)
	if m.rate > 0 {
		return errors.Join(m.load(ctx, server), m.size(ctx))
	}
	if _, err := m.measure(ctx, server, max(m.runs/20, 10), 1); err != nil {
		return err
	}
	sustained, err := m.measure(ctx, server, m.runs, m.atOnce)
	if err != nil {
		return err
	}
	if m.rate = m.share * sustained; m.rate > 0 {
		err = m.load(ctx, server)
	}
	return errors.Join(err, m.size(ctx))
}

// serve starts a server in the folder, and makes an access token.
func (m *measurement) serve(ctx context.Context) (process int, stop func(), err error) {
	var in strings.Builder
	in.WriteString("id,name,total\n")
	for i := range m.rows {
		fmt.Fprintf(&in, "%d,name %d,%d.50\n", i, i, i%100)
	}
	for name, text := range map[string]string{"small.yaml": pipeline, "in.csv": in.String()} {
		if err := os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o600); err != nil {
			return 0, nil, err
		}
	}
	log, err := os.Create(filepath.Join(m.folder, "log"))
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, m.binary, "serve", ".", "--port", "0", "--pages", "off", "--http", "off", "--api", "127.0.0.1:0", "--api-rate", "0", "--log-level", "info")
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.folder, log, log
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = log.Close()
	}
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	for range 600 {
		text, err := os.ReadFile(log.Name())
		if found := listens.FindSubmatch(text); err == nil && found != nil && bytes.Contains(text, []byte("msg=working")) {
			m.url = "http://" + string(found[1])
			grant := exec.CommandContext(ctx, m.binary, "access", "grant", "bench", "--role", "service", "--why", "a measurement")
			grant.Dir = m.folder
			token, err := grant.Output()
			m.token = strings.TrimSpace(string(token))
			return cmd.Process.Pid, stop, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return 0, nil, fmt.Errorf("the server does not listen: %s", log.Name())
}

// measure starts so many runs, some at once, and waits for each. It returns how many were done in a second.
func (m *measurement) measure(ctx context.Context, server, runs, atOnce int) (rate float64, err error) {
	took := make([]time.Duration, runs)
	var all errgroup.Group
	all.SetLimit(atOnce)
	before, began := cpuSeconds(server), time.Now()
	for i := range runs {
		all.Go(func() (err error) {
			_, took[i], err = m.run(ctx, fmt.Sprintf("%d-%d", atOnce, i))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	seconds := time.Since(began).Seconds()
	rate = float64(runs) / seconds
	slices.Sort(took)
	fmt.Printf("%5d runs, %2d at once: %6.2f s, %6.1f runs/s, request to published: median %4d ms, 99th percentile %4d ms; %5.1f ms of CPU for each\n",
		runs, atOnce, seconds, rate, took[runs/2].Milliseconds(), took[runs*99/100].Milliseconds(), 1000*(cpuSeconds(server)-before)/float64(runs))
	return rate, nil
}

// run starts a run, and waits for its end. It returns the run's id.
func (m *measurement) run(ctx context.Context, name string) (id string, took time.Duration, err error) {
	body := fmt.Sprintf(`{"pipeline":"small","params":{"to":"out/%s.jsonl"}}`, name)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/v1/runs", strings.NewReader(body))
	if err != nil {
		return "", 0, err
	}
	for header, value := range map[string]string{"Authorization": "Bearer " + m.token, "Content-Type": "application/json", "Idempotency-Key": name, "Prefer": "wait=60"} {
		request.Header.Set(header, value)
	}
	began := time.Now()
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var run struct{ Run, Status, Reason, Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&run); err != nil {
		return "", 0, err
	}
	if run.Status != "completed" {
		return "", 0, fmt.Errorf("run %s is %s: %s%s", run.Run, run.Status, run.Reason, run.Detail)
	}
	return run.Run, time.Since(began), nil
}

// size says how large the record of a run is.
func (m *measurement) size(ctx context.Context) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(m.folder, ".waymark/landscape.db")+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var bytes, runs int64
	if err := db.QueryRowContext(ctx, "select (select page_count from pragma_page_count) * (select page_size from pragma_page_size), (select count(*) from runs)").Scan(&bytes, &runs); err != nil {
		return err
	}
	fmt.Printf("%5d runs on record, %.1f KB each, indexes included\n", runs, float64(bytes)/float64(runs)/1024)
	return nil
}

// cpuSeconds is how long a process has kept processors busy.
func cpuSeconds(process int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		return 0
	}
	return float64(user+system) / 100
}
