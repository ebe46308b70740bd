package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"waymark/tests/bench/served"
)

// verified is how many runs of a load are verified at its end.
const verified = 50

// loaded is what happened under a load since it was told last.
type loaded struct {
	mu      sync.Mutex
	took    []time.Duration // of the runs that ended, from request to published
	waiting int             // runs that were asked for and have not ended
	cpu     float64         // seconds that the server had kept processors busy when it was told
}

// load starts runs at a rate, whether or not those before have ended, and prints what ended in each minute. Then it verifies some of them, evenly spread.
func (m *measurement) load(ctx context.Context) error {
	fmt.Printf("%.1f runs/s for %v\n", m.rate, m.time)
	var all errgroup.Group
	now := loaded{cpu: m.server.CPU()}
	runs, began, told := make([]string, int(m.rate*m.time.Seconds())), time.Now(), 0
	for i := range runs {
		at := time.Duration(float64(i) / m.rate * float64(time.Second))
		time.Sleep(time.Until(began.Add(at)))
		if minute := int(at / time.Minute); minute > told {
			told = minute
			now.tell(told, m.server)
		}
		now.asked()
		all.Go(func() (err error) {
			var took time.Duration
			runs[i], took, err = m.run(ctx, fmt.Sprintf("load-%d", i))
			now.ended(took)
			return err
		})
	}
	err := all.Wait()
	now.tell(told+1, m.server)
	if err != nil {
		return err
	}
	fmt.Printf("all %d runs were complete %v after the last one was asked for\n", len(runs), time.Since(began.Add(m.time)).Round(time.Millisecond))
	return m.verify(ctx, runs)
}

func (l *loaded) asked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting++
}

func (l *loaded) ended(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.took = append(l.took, took)
}

// tell prints what happened in a minute that ends.
func (l *loaded) tell(minute int, server *served.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	took, cpu := l.took, server.CPU()
	if slices.Sort(took); len(took) > 0 {
		fmt.Printf("minute %2d: %5d runs ended, median %5d ms, 99th percentile %5d ms, longest %5d ms, %5.1f ms of CPU for each; %4d wait, and the server has %4d MB\n", minute, len(took),
			took[len(took)/2].Milliseconds(), took[len(took)*99/100].Milliseconds(), took[len(took)-1].Milliseconds(), 1000*(cpu-l.cpu)/float64(len(took)), l.waiting, server.Memory()>>20)
	}
	l.took, l.cpu = nil, cpu
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
