package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"

	"waymark/activities"
	"waymark/internal/defect"
)

// maxEvents is how many activities may have ended without being counted yet. What comes on top is only counted as
// missed.
const maxEvents = 1_024

// event is an activity that ended.
type event struct {
	activity string
	run      string
	took     time.Duration
	lag      time.Duration // between its scheduling and its start
	in, out  any
	err      error
}

// watcher sees activities end. It is done with each when it has put it into a channel; somebody else counts.
type watcher struct {
	interceptor.WorkerInterceptorBase
	counts *counts
	names  names
	events chan event
	logger *slog.Logger
}

func newWatcher(counts *counts, recorded func(context.Context, string) (Run, error)) *watcher {
	return &watcher{counts: counts, names: names{ask: recorded}, events: make(chan event, maxEvents), logger: slog.New(slog.DiscardHandler)}
}

// InterceptActivity is called for each activity.
func (w *watcher) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &inbound{watcher: w}
	i.Next = next
	return i
}

type inbound struct {
	interceptor.ActivityInboundInterceptorBase
	watcher *watcher
}

// ExecuteActivity lets the activity be done, and tells of it.
func (i *inbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	began := time.Now()
	out, err := i.Next.ExecuteActivity(ctx, in)
	e := event{
		activity: info.ActivityType.Name, took: time.Since(began), lag: max(info.StartedTime.Sub(info.ScheduledTime), 0), out: out, err: err,
	}
	_ = defect.Catch("telemetry", func() error { i.tell(e, in); return nil })
	return out, err
}

// tell tells of an activity with its input and output.
func (i *inbound) tell(e event, in *interceptor.ExecuteActivityInput) {
	if len(in.Args) == 1 {
		e.in = in.Args[0]
		e.run = runOf(e.in)
	}
	i.watcher.tell(e)
}

func (w *watcher) tell(e event) {
	select {
	case w.events <- e:
	default:
		w.counts.missed.Add(context.Background(), 1)
	}
}

// work counts until done is closed.
func (w *watcher) work(done <-chan struct{}) {
	for {
		select {
		case e := <-w.events:
			_ = defect.Catch("telemetry", func() error { w.count(e); return nil })
		case <-done:
			return
		}
	}
}

func (w *watcher) count(e event) {
	if opened, ok := e.out.(activities.Opened); ok && begins(e) {
		w.names.learn(e.run, Run{opened.Pipeline, time.Now().Add(-e.took)})
	}
	of := w.names.of(e.run)
	w.counts.add(e, of)
	w.log(e, of)
}

// log says of a run that it began, was resumed, or ended.
func (w *watcher) log(e event, of Run) {
	status, ended := e.ended(of.Pipeline)
	_, resumed := e.in.(activities.ResumeInput)
	switch {
	case e.err != nil:
	case begins(e):
		w.logger.Info("run began", "run", e.run, "pipeline", of.Pipeline)
	case resumed:
		w.logger.Info("run resumed", "run", e.run, "pipeline", of.Pipeline)
	case ended && of.Started.IsZero():
		w.logger.Info("run ended", "run", e.run, "pipeline", of.Pipeline, "status", status)
	case ended:
		w.logger.Info("run ended", "run", e.run, "pipeline", of.Pipeline, "status", status, "seconds", time.Since(of.Started).Round(time.Millisecond).Seconds())
	}
}

// runOf returns the run that an activity with this input is about.
func runOf(in any) string {
	switch in := in.(type) {
	case activities.OpenInput:
		return in.Run
	case activities.FindInput:
		return in.Run
	case batch:
		run, _ := in.Work()
		return run
	case activities.FinishInput:
		return in.Run
	case activities.SmallRunInput:
		return in.Run
	case activities.StopInput:
		return in.Run
	case activities.ResumeInput:
		return in.Run
	case activities.ActionInput:
		return in.Run
	}
	return ""
}

// nobody is the label of runs whose pipeline is unknown.
const nobody = "unknown"

// maxNames is how many runs' pipelines are remembered.
const maxNames = 1_000

// askTimeout is how long the record may take to tell a run's pipeline.
const askTimeout = 5 * time.Second

// names remembers the pipelines of runs. It is used by one goroutine.
type names struct {
	ask   func(ctx context.Context, run string) (Run, error)
	known map[string]Run
}

func (n *names) learn(run string, of Run) {
	if len(n.known) >= maxNames || n.known == nil {
		n.known = map[string]Run{}
	}
	n.known[run] = of
}

// of returns what is recorded of the run. For one that is not recorded yet the record is asked again.
func (n *names) of(run string) Run {
	if of := n.known[run]; of.Pipeline != "" {
		return of
	}
	ctx, done := context.WithTimeout(context.Background(), askTimeout)
	defer done()
	of, err := n.ask(ctx, run)
	if err != nil || of.Pipeline == "" {
		return Run{Pipeline: nobody}
	}
	n.learn(run, of)
	return of
}
