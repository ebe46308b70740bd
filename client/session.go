package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/workflows"
)

// Session is what starts and resumes runs. Either it has a Temporal server of its own, whose lock keeps other processes out, and this
// process executes the runs; or the workers of a cluster execute them. A Host makes it; its methods may be called concurrently.
type Session struct {
	*Connection
	Log       *landscape.Log
	Payloads  func(ctx context.Context) (*payload.Store, error) // opens the payload store, when it is first needed
	Planner   worker.Planner
	Code      string   // of this build of the program: what it computes is recorded with it
	Place     string   // of the landscape, for people
	Queue     string   // of the cluster's workers; empty if this process executes the runs
	Files     string   // how the cluster's workers call the files that this machine sees; empty for the host's name
	State     string   // folder with the server's database; empty on a cluster
	Databases []string // files that runs of this process write, besides their payloads and outputs
	Actor     string   // who uses the session: does what nobody asked for, such as ending a run that was replaced
	Warn      func(message string)
	Active    *sync.Map // ids of the runs that this process executes; all sessions of one server share it
	Private   bool      // no other state folder has runs in this landscape
	Release   func() error
	Gone      func() bool // what executes the runs ended, and nobody started it again; nil if that cannot be
}

// Close releases what the session opened. Runs that this process executes must have ended.
func (s *Session) Close() error { return s.Release() }

// OnCluster reports whether the workers of a cluster execute the runs, and this process only follows them.
func (s *Session) OnCluster() bool { return s.Queue != "" }

// FilesName is how the cluster's workers call the files that this machine sees.
func (s *Session) FilesName() string {
	if s.Files != "" {
		return s.Files
	}
	return HostName()
}

// HostName is the name of this machine, as records have it.
func HostName() string {
	host, _ := activities.HostName()
	return host
}

// sees reports whether this machine sees the files of the run.
func (s *Session) sees(run landscape.Run) bool { return !s.OnCluster() || run.Host == s.FilesName() }

// queueOf returns the task queue of a run.
func (s *Session) queueOf(run string) string {
	if s.OnCluster() {
		return s.Queue
	}
	return workflows.ProcessQueue(run)
}

// as is the connection under the name by which the run's record says who wanted this.
func (s *Session) as(by By) (sdk.Client, error) {
	options := s.options
	options.Identity = activities.Identity(by.trigger(), by.Actor, HostName())
	return sdk.NewClientFromExisting(s.Temporal, options)
}

// work starts a worker for the run and returns what stops it. On a cluster there are others.
func (s *Session) work(ctx context.Context, run string) (stop func(), err error) {
	if s.OnCluster() {
		return func() {}, nil
	}
	executing, err := s.activities(ctx, run)
	if err != nil {
		return nil, err
	}
	sdkworker.SetBinaryChecksum(s.Code) // or else the SDK reads the whole binary to name it: 0.8 s of a run's start
	w := worker.New(s.Temporal, workflows.ProcessQueue(run), executing)
	if err := w.Start(); err != nil {
		return nil, err
	}
	usher := s.usher(ctx, run)
	return func() {
		usher()
		w.Stop()
	}, nil
}

// usherEvery is how often a process of its own looks whether its run that waits may begin.
const usherEvery = time.Second

// usher tells a run that waits for places when it may begin, and returns what ends that. A run that frees a place tells those that wait in its own
// Temporal; those of processes of their own it does not reach.
func (s *Session) usher(ctx context.Context, run string) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go defect.Guard("usher", func() {
		defer close(done)
		ticker := time.NewTicker(usherEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if decided, err := s.wake(ctx, run); decided && err == nil {
				return
			}
		}
	})()
	return func() {
		cancel()
		<-done
	}
}

// wake tells a run that waits, and may begin now, to ask again. It reports whether there is nothing left to wait for: the run has begun, or never will.
func (s *Session) wake(ctx context.Context, run string) (decided bool, err error) {
	start, err := s.Log.LastStart(ctx, run)
	if err != nil || start.State != landscape.StartWaiting {
		return start.State != landscape.StartAccepted, err
	}
	runs, err := s.Log.AllAdmissible(ctx)
	if err != nil || !slices.Contains(runs, run) {
		return false, err
	}
	return false, activities.Wake(ctx, s.Temporal, run)
}

// alone begins an execution of a run, unless this process executes the run already, or is about to: then the error is of kind Busy. Its caller
// is the only one until the Execution is closed. On a cluster the server sees to that.
func (s *Session) alone(run string, begin func() (*Execution, error)) (*Execution, error) {
	if s.OnCluster() {
		return begin()
	}
	if _, active := s.Active.LoadOrStore(run, nil); active {
		return nil, beingExecuted(run)
	}
	begun := false
	defer func() {
		if !begun {
			s.Active.Delete(run)
		}
	}()
	e, err := begin()
	if err != nil || e == nil {
		return nil, err
	}
	begun = true
	stop := e.stop
	e.stop = func() {
		stop()
		s.Active.Delete(run)
	}
	return e, nil
}

// activities are those of this process for a run.
func (s *Session) activities(ctx context.Context, run string) (*activities.Activities, error) {
	payloads, err := s.Payloads(ctx)
	if err != nil {
		return nil, err
	}
	planner := s.Planner
	planner.Run = run
	return activities.NewAt(activities.Affinity{Scratch: s.State, Unserved: s.unserved}, s.Log, payloads, planner, s.Code), nil
}

// abandon ends the workflow that a process which is gone left open for the run, if there is one. Nothing of it is needed: the record
// says how far the run is. On a cluster somebody executes a run with an open workflow.
func (s *Session) abandon(ctx context.Context, run string) error {
	open, err := s.Open(ctx, run)
	switch {
	case err != nil || !open:
		return err
	case s.OnCluster():
		return beingExecuted(run)
	}
	return s.Terminate(ctx, run, "its process ended")
}

func beingExecuted(run string) error {
	return &Error{Kind: Busy, Code: RunBusy, Message: fmt.Sprintf("run %s is being worked on already", run), Cure: Watch, Run: run}
}

// end records that the run is cancelled.
func (s *Session) end(ctx context.Context, run string, order workflows.Command) error {
	if err := s.abandon(ctx, run); err != nil {
		return err
	}
	return s.Log.CancelRun(ctx, run, order.Final, order.Actor, order.Why)
}

// discard removes what the run staged, if that can be seen here, and what is kept of its standard input.
func (s *Session) discard(ctx context.Context, id string) error {
	return errors.Join(s.discardStaged(ctx, id), s.forgetInput(id))
}

func (s *Session) discardStaged(ctx context.Context, id string) error {
	run, err := s.Log.Run(ctx, id)
	if err != nil {
		return err
	}
	files, err := writesFiles(run)
	if err != nil {
		return err
	}
	if files && !s.sees(run) {
		return fmt.Errorf("it lies among the files of %q, and this machine sees those of %q", run.Host, s.FilesName())
	}
	executing, err := s.activities(ctx, "")
	if err != nil {
		return err
	}
	return activities.Discard(ctx, executing, id)
}

// markInterrupted records that earlier runs of this state folder, besides the one given, were interrupted: a run that is running
// according to its record, while the lock of the server says that no other process executes it. Runs of another state folder in the same
// landscape are left alone, and so are those of a cluster, whose workers come and go. It returns all interrupted runs, the newest first;
// none of a cluster's landscape, which many share.
func (s *Session) markInterrupted(ctx context.Context, besides string) (interrupted []landscape.RunHead, err error) {
	if s.OnCluster() {
		return nil, nil
	}
	if interrupted, err = s.Log.RunsWithStatus(ctx, pipeline.Interrupted, "", 0); err != nil {
		return nil, err
	}
	running, err := s.Log.RunsWithStatus(ctx, pipeline.Running, "", 0)
	if err != nil {
		return nil, err
	}
	for _, run := range running {
		if run.ID == besides || s.executes(run.ID) {
			continue
		}
		ours, err := s.owns(ctx, run.ID)
		if err == nil && ours {
			err = s.Log.StopRun(ctx, run.ID, pipeline.Interrupted, ProcessEnded)
			interrupted = append(interrupted, run)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.endStarts(ctx, besides); err != nil {
		return nil, err
	}
	slices.SortFunc(interrupted, NewestFirst)
	return interrupted, nil
}

// executes reports whether this process executes the run.
func (s *Session) executes(run string) bool {
	_, active := s.Active.Load(run)
	return active
}

// owns reports whether the run is one of this state folder that nobody continues.
func (s *Session) owns(ctx context.Context, run string) (bool, error) {
	latest, known, err := cluster.Latest(ctx, s.Temporal, workflows.WorkflowID(run))
	if err != nil || known && served(latest, run) {
		return false, err
	}
	return known || s.Private, nil
}

// unserved reports whether the run waits for the next process that serves: while this one has the state folder there is none.
func (s *Session) unserved(ctx context.Context, run string) (bool, error) {
	latest, known, err := cluster.Latest(ctx, s.Temporal, workflows.WorkflowID(run))
	return known && served(latest, run), err
}

// served reports whether the run belongs to those who serve: one that ended has left the workflow open for the next one.
func served(latest cluster.Execution, run string) bool {
	return latest.Open() && latest.Queue != workflows.ProcessQueue(run)
}
