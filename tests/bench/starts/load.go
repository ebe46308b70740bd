package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// verified is how many runs of a load are verified at its end.
const verified = 50

// minute is what happened in one minute of a load.
type minute struct {
	took    []time.Duration // of the runs that began in it, from request to published
	waiting int             // runs that had been asked for and were not complete when it ended
	memory  int64           // bytes that the server had then
}

// load starts runs at a rate, whether or not those before have ended, and prints each minute. Then it verifies some of them, evenly spread.
func (m *measurement) load(ctx context.Context, server int) error {
	fmt.Printf("%.0f runs/s for %v\n", m.rate, m.time)
	minutes, runs, err := m.keepRate(ctx, server)
	if err != nil {
		return err
	}
	for i, at := range minutes {
		slices.Sort(at.took)
		fmt.Printf("minute %2d: %5d runs, median %5d ms, 99th percentile %5d ms, longest %5d ms; at its end %3d waited, and the server had %4d MB\n", i+1, len(at.took),
			at.took[len(at.took)/2].Milliseconds(), at.took[len(at.took)*99/100].Milliseconds(), at.took[len(at.took)-1].Milliseconds(), at.waiting, at.memory>>20)
	}
	return m.verify(ctx, runs)
}

// keepRate returns the minutes, and the ids of all runs in the order in which they were asked for.
func (m *measurement) keepRate(ctx context.Context, server int) (minutes []minute, runs []string, err error) {
	var all errgroup.Group
	var mutex sync.Mutex
	waiting, total := 0, int(m.rate*m.time.Seconds())
	minutes, runs = make([]minute, (m.time+time.Minute-1)/time.Minute), make([]string, total)
	began := time.Now()
	for i := range total {
		at := time.Duration(float64(i) / m.rate * float64(time.Second))
		in := &minutes[at/time.Minute]
		time.Sleep(time.Until(began.Add(at)))
		mutex.Lock()
		waiting++
		in.waiting = waiting
		mutex.Unlock()
		if i%int(m.rate+1) == 0 {
			in.memory = residentBytes(server)
		}
		all.Go(func() error {
			run, took, err := m.run(ctx, fmt.Sprintf("load-%d", i))
			mutex.Lock()
			defer mutex.Unlock()
			waiting--
			runs[i], in.took = run, append(in.took, took)
			return err
		})
	}
	err = all.Wait()
	fmt.Printf("all %d runs were complete %v after the last one was asked for\n", total, time.Since(began.Add(m.time)).Round(time.Millisecond))
	return minutes, runs, err
}

// verify verifies some of the runs as `waymark verify` does.
func (m *measurement) verify(ctx context.Context, runs []string) error {
	step := max(len(runs)/verified, 1)
	count := 0
	for i := 0; i < len(runs); i += step {
		cmd := exec.CommandContext(ctx, m.binary, "verify", runs[i])
		cmd.Dir = m.folder
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run %s: %w: %s", runs[i], err, out)
		}
		count++
	}
	fmt.Printf("%d runs verified\n", count)
	return nil
}

var resident = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// residentBytes is how much memory a process has.
func residentBytes(process int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		return 0
	}
	found := resident.FindSubmatch(text)
	if found == nil {
		return 0
	}
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
