// Command starts measures many small runs that services ask for through the HTTP API of `waymark serve`: `make bench-starts`. It prints figures and asserts
// nothing but that every run is complete.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver of the record

	"waymark/tests/bench/served"
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

	folder string
	server *served.Server
}

// take starts a server, and measures with one service first, and then with many at once.
func (m *measurement) take(ctx context.Context) (err error) {
	if m.binary, err = filepath.Abs(m.binary); err != nil {
		return err
	}
	if m.folder, err = os.MkdirTemp("", "waymark-starts-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(m.folder) }()
	if err := m.serve(ctx); err != nil {
		return err
	}
	defer m.server.Stop()
	fmt.Printf("%d cores, %s; runs of %d rows through the HTTP API, embedded\n", runtime.NumCPU(), runtime.Version(), m.rows)
	if m.rate > 0 {
		return errors.Join(m.load(ctx), m.size(ctx))
	}
	if _, err := m.measure(ctx, max(m.runs/20, 10), 1); err != nil {
		return err
	}
	sustained, err := m.measure(ctx, m.runs, m.atOnce)
	if err != nil {
		return err
	}
	if m.rate = m.share * sustained; m.rate > 0 {
		err = m.load(ctx)
	}
	return errors.Join(err, m.size(ctx))
}

// serve starts a server in the folder.
func (m *measurement) serve(ctx context.Context) (err error) {
	for name, text := range map[string]string{"small.yaml": served.Small, "in.csv": served.SmallInput(m.rows)} {
		if err := os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	m.server, err = served.Start(ctx, m.binary, m.folder)
	return err
}

// measure starts so many runs, some at once, and waits for each. It returns how many were done in a second.
func (m *measurement) measure(ctx context.Context, runs, atOnce int) (rate float64, err error) {
	took := make([]time.Duration, runs)
	var all errgroup.Group
	all.SetLimit(atOnce)
	before, began := m.server.CPU(), time.Now()
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
		runs, atOnce, seconds, rate, took[runs/2].Milliseconds(), took[runs*99/100].Milliseconds(), 1000*(m.server.CPU()-before)/float64(runs))
	return rate, nil
}

// run starts a run, and waits for its end. It returns the run's id.
func (m *measurement) run(ctx context.Context, name string) (id string, took time.Duration, err error) {
	return m.server.Run(ctx, "small", name, map[string]string{"to": "out/" + name + ".jsonl"})
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
