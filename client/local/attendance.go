package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"waymark/client"
	"waymark/internal/defect"
	"waymark/internal/temporal/cluster"
	"waymark/workflows"
)

// attendance knows which runs of a cluster are executed: one for all who ask the process. While somebody asks, it has
// Temporal list the open workflows about once a second, whatever the number of runs and of those who ask; while nobody
// asks, it does nothing. Only a run that the list lacks is asked for by itself, because the list is a moment late. What
// Temporal does not answer is unknown. It is safe for concurrent use.
type attendance struct {
	list  func(ctx context.Context) (open map[string]bool, err error) // ids of open workflows, mostListed at most
	alone func(ctx context.Context, run string) (open bool, err error)

	ctx   context.Context //nolint:containedctx // ends with close: what is asked outlasts the request that asked
	end   context.CancelFunc
	asked sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	newest  *listing            // the last one that began; nil before the first
	known   *listing            // the last one that Temporal answered; nil before the first
	singles map[string]*verdict // by run; never more than mostSingles
	asking  int                 // singles that Temporal has not answered
}

// How old knowledge may be, and what is asked for at once.
const (
	listEvery    = time.Second      // the list is asked for again when it is older
	listPatience = time.Second      // how long who asks waits for a new list
	listGood     = 3 * time.Second  // while Temporal is silent, the last list counts for so long
	openGood     = time.Second      // of a run that the list lacks and that is executed: a list has it soon
	closedGood   = 10 * time.Second // of one that is not: a list that has it counts more
	mostListed   = 10_000
	mostSingles  = 1_000
	mostAsking   = 16
)

// listing is one answer of Temporal, or the wait for it.
type listing struct {
	began time.Time
	done  chan struct{}
	open  map[string]bool
}

// verdict is what Temporal answered about one run, or the wait for it.
type verdict struct {
	began time.Time
	done  chan struct{}
	open  bool
	err   error
}

func newAttendance(
	list func(context.Context) (map[string]bool, error), alone func(context.Context, string) (bool, error),
) *attendance {
	a := &attendance{list: list, alone: alone, singles: map[string]*verdict{}}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a
}

// close ends what is being asked. From then on all is unknown.
func (a *attendance) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.end()
	a.asked.Wait()
}

// forget makes the next who ask hear only what Temporal answers from now on.
func (a *attendance) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.newest, a.known, a.singles = nil, nil, map[string]*verdict{}
}

// executes reports whether the run has an open workflow; nil if that is not known.
func (a *attendance) executes(ctx context.Context, run string) *bool {
	known := a.listed(ctx)
	if known == nil {
		return nil
	}
	if open := known.open[workflows.WorkflowID(run)]; open {
		return &open
	}
	return a.single(ctx, run)
}

// listed returns the list that counts now; nil if Temporal is silent.
func (a *attendance) listed(ctx context.Context) *listing {
	now := time.Now()
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	if a.newest == nil || now.Sub(a.newest.began) > listEvery && isDone(a.newest.done) {
		a.newest = &listing{began: now, done: make(chan struct{})}
		a.begin(a.newest.find)
	}
	newest, first := a.newest, a.known == nil
	a.mu.Unlock()
	patience := listPatience - now.Sub(newest.began)
	if first && newest.began.Equal(now) { // a connection has to be made
		patience = client.AnswerTimeout
	}
	await(ctx, newest.done, patience)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || time.Since(a.known.began) > listGood {
		return nil
	}
	return a.known
}

// begin has a goroutine ask Temporal something.
func (a *attendance) begin(ask func(context.Context, *attendance)) {
	a.asked.Add(1)
	go defect.Guard("attendance", func() {
		defer a.asked.Done()
		ctx, done := context.WithTimeout(a.ctx, client.AnswerTimeout)
		defer done()
		ask(ctx, a)
	})()
}

func (l *listing) find(ctx context.Context, a *attendance) {
	defer close(l.done)
	open, err := a.list(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && a.newest == l { // it was not forgotten
		l.open, a.known = open, l
	}
}

// single asks for one run; nil if too many are asked for, or Temporal is silent.
func (a *attendance) single(ctx context.Context, run string) *bool {
	now := time.Now()
	a.mu.Lock()
	v := a.singles[run]
	if v == nil || v.stale(now) {
		if a.asking >= mostAsking || a.closed {
			a.mu.Unlock()
			return nil
		}
		a.asking++
		a.makeRoom(now)
		v = &verdict{began: now, done: make(chan struct{}), err: errUnanswered}
		a.singles[run] = v
		a.begin(func(ctx context.Context, a *attendance) { v.find(ctx, a, run) })
	}
	a.mu.Unlock()
	await(ctx, v.done, listPatience-now.Sub(v.began))
	if !isDone(v.done) || v.err != nil {
		return nil
	}
	return &v.open
}

// errUnanswered is the error of a verdict until Temporal answers.
var errUnanswered = errors.New("temporal has not answered")

func (v *verdict) find(ctx context.Context, a *attendance, run string) {
	defer close(v.done)
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asking--
	}()
	v.open, v.err = a.alone(ctx, run)
}

// stale reports whether the verdict counts no more.
func (v *verdict) stale(now time.Time) bool {
	if !isDone(v.done) {
		return false
	}
	good := openGood
	if v.err == nil && !v.open {
		good = closedGood
	}
	return now.Sub(v.began) > good
}

// makeRoom drops verdicts that count no more, or all, when there are too many.
func (a *attendance) makeRoom(now time.Time) {
	if len(a.singles) < mostSingles {
		return
	}
	for run, v := range a.singles {
		if v.stale(now) {
			delete(a.singles, run)
		}
	}
	if len(a.singles) >= mostSingles {
		a.singles = map[string]*verdict{}
	}
}

// await waits until something is done, but no longer than patience, and than somebody wants to know it.
func await(ctx context.Context, done <-chan struct{}, patience time.Duration) {
	if isDone(done) || patience <= 0 {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// openRuns finds the open workflows of runs.
const openRuns = "WorkflowType = '" + workflows.RunPipelineName + "' and ExecutionStatus = 'Running'"

// openOn lists the open workflows of runs on a cluster.
func openOn(ctx context.Context, c *client.Connection) (open map[string]bool, err error) {
	open = map[string]bool{}
	for found, err := range cluster.Workflows(ctx, c.Temporal, openRuns) {
		if err != nil {
			return nil, err
		}
		if len(open) == mostListed {
			break
		}
		open[found.GetExecution().GetWorkflowId()] = true
	}
	return open, nil
}
