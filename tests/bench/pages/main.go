// Command pages measures the web pages of `waymark serve` on a large record: `make bench-ui`. It prints figures and asserts nothing but that every page is
// there.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
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
	"time"
)

func main() {
	var m measurement
	flag.StringVar(&m.binary, "binary", "bin/waymark", "the waymark binary to measure")
	flag.IntVar(&m.rows, "rows", 1_000_000, "rows of the record")
	flag.IntVar(&m.times, "times", 20, "how often each page is asked for")
	flag.Parse()
	if err := m.take(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type measurement struct {
	binary      string
	rows, times int

	folder, url string
	http        *http.Client
}

const pipeline = `
name: large
params: {least: {type: int, default: "500"}, to: {type: string}}
sources: {in: {csv: {path: in.csv}, key: [id], schema: {fields: {id: int, name: string, total: int}}, on_invalid: quarantine}}
steps:
  - {name: judge, set: {large: "row.total > param.least"}}
  - {name: few, filter: row.total < 990}
  - {name: triage, gate: row.large, routes: {"true": review, "false": all}}
sinks:
  review: {jsonl: {path: "${param:to}.review"}}
  all: {csv: {path: "${param:to}"}}
`

// refusedOf is how many rows there are to each one that is refused.
const refusedOf = 500

func (m *measurement) take(ctx context.Context) (err error) {
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return err
	}
	if m.folder, err = os.MkdirTemp("", "waymark-bench-pages-*"); err != nil {
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
	alone, err := m.run(ctx, "one", "500")
	if err != nil {
		return err
	}
	watching, unwatch := context.WithCancel(ctx)
	go m.watch(watching)
	watched, err := m.run(ctx, "two", "490")
	unwatch()
	if err != nil {
		return err
	}
	fmt.Printf("%d cores, %s, %d rows\n\n", runtime.NumCPU(), runtime.Version(), m.rows)
	fmt.Printf("%-32s %9s %9s %9s %9s %9s %9s\n", "page", "first ms", "p50 ms", "p95 ms", "bytes", "gzip", "elements")
	for _, page := range m.pages() {
		if err := m.measure(ctx, page[0], page[1]); err != nil {
			return err
		}
	}
	fmt.Printf("\na run takes %.1f s alone, and %.1f s while somebody looks at its page every second\n", alone.Seconds(), watched.Seconds())
	return nil
}

// pages are names and paths.
func (m *measurement) pages() [][2]string {
	middle := m.rows / 2
	return [][2]string{
		{"home", "/"}, {"runs", "/runs"}, {"run", "/runs/two"}, {"rows behind a number", "/runs/two/rows?edge=" + url.QueryEscape("triage:review:true")},
		{"rows behind a small number", "/runs/two/rows?node=quarantine"}, {"row", fmt.Sprintf("/runs/two/explain?row=%d", middle)}, {"its neighbour", fmt.Sprintf("/runs/two/explain?row=%d", middle+1)},
		{"row by line of an output", fmt.Sprintf("/runs/two/explain?sink=all&line=%d", m.rows/4)}, {"row by key", fmt.Sprintf("/runs/two/explain?key=%s", url.QueryEscape(fmt.Sprint("id=", middle)))},
		{"refused rows", "/runs/two/errors"}, {"completion records", "/runs/two/effects"}, {"evidence", "/runs/two/evidence"}, {"find a record", "/find?q=" + url.QueryEscape(record(middle))},
		{"compare two runs", "/runs/two/compare?with=one"},
	}
}

func record(i int) string { return fmt.Sprintf("%d,customer %d,%d", i, i%9973, i*7919%1000) }

// write writes data and document.
func (m *measurement) write() error {
	file, err := os.Create(filepath.Join(m.folder, "in.csv")) //nolint:gosec // a folder of our own
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintln(out, "id,name,total")
	for i := range m.rows {
		line := record(i)
		if i%refusedOf == 7 {
			line += "x"
		}
		fmt.Fprintln(out, line)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.folder, "large.yaml"), []byte(pipeline), 0o600)
}

// serve begins a server, and signs in.
func (m *measurement) serve(ctx context.Context) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, m.binary, "serve", ".", "--port", "0", "--pages", "off", "--api", "127.0.0.1:0", "--api-rate", "0", "--login-link") //nolint:gosec // what is measured
	cmd.Dir = m.folder
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	link := regexp.MustCompile(`sign in +(http://\S+)/login\?code=(\S+)`)
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if found := link.FindStringSubmatch(lines.Text()); found != nil {
			m.url = found[1]
			jar, _ := cookiejar.New(nil)
			m.http = &http.Client{Jar: jar}
			go func() { _, _ = io.Copy(io.Discard, said) }()
			answer, err := m.http.PostForm(m.url+"/login", url.Values{"code": {found[2]}})
			if err != nil {
				return stop, err
			}
			return stop, answer.Body.Close()
		}
	}
	return stop, fmt.Errorf("%s serve printed no link to sign in with", m.binary)
}

// run executes a run on the server.
func (m *measurement) run(ctx context.Context, id, least string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, m.binary, "run", "large.yaml", "--quiet", "--run-id", id, "--param", "least="+least, "--param", "to=out/"+id) //nolint:gosec // what is measured
	cmd.Dir = m.folder
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 3 { //nolint:errorlint // rows were refused
		err = nil
	}
	if err != nil {
		return 0, fmt.Errorf("run %s: %w\n%s", id, err, out)
	}
	return time.Since(begun), nil
}

// watch looks at the page of the second run as a browser does, once a second.
func (m *measurement) watch(ctx context.Context) {
	for ctx.Err() == nil {
		_, _ = m.get(ctx, "/runs/two")
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (m *measurement) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := m.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	page, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.500s", path, answer.Status, page)
	}
	return page, err
}

func (m *measurement) measure(ctx context.Context, name, path string) error {
	var took []time.Duration
	var page []byte
	times := m.times
	for i := 0; i < times; i++ {
		asked := path
		if strings.HasPrefix(name, "row by") || name == "row" { // other rows are not remembered
			asked = strings.Replace(path, fmt.Sprint(m.rows/2), fmt.Sprint(m.rows/2+rand.IntN(m.rows/4)), 1) //nolint:gosec // no secret
		}
		begun := time.Now()
		got, err := m.get(ctx, asked)
		if err != nil {
			return err
		}
		took, page = append(took, time.Since(begun)), got
		if took[0] > 2*time.Second {
			times = min(times, 5)
		}
	}
	first := took[0]
	slices.Sort(took)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(page)
	_ = w.Close()
	at := func(share int) float64 { return float64(took[(len(took)-1)*share/100].Microseconds()) / 1000 }
	fmt.Printf("%-32s %9.1f %9.1f %9.1f %9d %9d %9d\n", name, float64(first.Microseconds())/1000, at(50), at(95), len(page), packed.Len(), strings.Count(string(page), "<")-strings.Count(string(page), "</"))
	return nil
}
