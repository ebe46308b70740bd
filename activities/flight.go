package activities

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"waymark/internal/defect"
	"waymark/landscape"
)

// flights are the work that this process does for activities, and the last results. An attempt can end before its work
// does: Temporal gives it up when its heartbeats do not arrive, the process is suspended, or what is done within a
// workflow task takes too long. The work then continues, and the next attempt in this process joins it, or takes the
// result that reached no one. Nothing depends on them: another process does the work itself.
type flights struct {
	mu     sync.Mutex
	open   map[task]*flight
	landed *simplelru.LRU[task, *flight] // that succeeded

	over func(ctx context.Context) bool // reports whether the execution for which an attempt works has ended
}

// task identifies what an execution of a workflow asks for.
type task struct {
	execution string // of the workflow
	activity  string
	run       string
	epoch     int64
	asked     [sha256.Size]byte // digest of the input
}

// flight is one piece of work.
type flight struct {
	done    chan struct{}           // closed at the end; then what follows is known
	out     any                     // the result
	err     error                   // why there is none
	text    atomic.Pointer[string]  // what the work waits for; nil if it does not
	cancel  context.CancelCauseFunc // ends the work
	waiting int                     // attempts that wait for the end; under flights.mu
	lonely  *time.Timer             // ends the work if no attempt joins it; nil while one waits; under flights.mu
	askers  []asker                 // whose attempts waited for it, or took its result; under flights.mu
	missed  bool                    // an attempt ended before the work did; under flights.mu
	within  bool                    // that was one within a task, and its activity has no result yet; under flights.mu
}

// asker is what Temporal repeats until it has a result: one activity that an execution scheduled. It numbers those
// within its tasks by themselves.
type asker struct {
	id     string
	within bool
}

func askerOf(info activity.Info) asker { return asker{info.ActivityID, info.IsLocalActivity} }

const (
	// lonelyTime is how long work continues for which no attempt waits: longer than the longest pause before the next
	// attempt. An execution that was terminated has none.
	lonelyTime = 2 * time.Minute

	// landingTime is how long a process that ends waits for work that was told to end: that takes as long as one write.
	landingTime = 10 * time.Second

	// maxLanded is how many results are remembered. Each has a few hundred bytes.
	maxLanded = 256

	// overTime is how long to wait for an answer whether an execution has ended.
	overTime = 5 * time.Second
)

// errLonely ends work for which no attempt waits any more.
var errLonely = errors.New("no attempt waits for the work any more")

// errStopping ends work for a run that is being stopped: no retry is wanted.
var errStopping = fmt.Errorf("its work is not needed any more: %w", landscape.ErrEnded)

// decides are activities that a run which is being stopped waits for: they say how it began, and how it ends.
var decides = []string{"OpenRun", "RecordAction", "StopRun"}

// taskOf says what an attempt is asked for.
func taskOf(ctx context.Context, run string, epoch int64, in any) (task, error) {
	asked, err := json.Marshal(in)
	if err != nil {
		return task{}, err
	}
	info := activity.GetInfo(ctx)
	return task{info.WorkflowExecution.RunID, info.ActivityType.Name, run, epoch, sha256.Sum256(asked)}, nil
}

// board returns the flight for the task: one that is in the air, one that landed and whose result this attempt may not
// know, or a new one, which do gets into the air. Unless it landed, the caller waits for it.
//
// A result is taken only by an attempt that repeats another one, or by the activity in place of what took too long
// within a task. An activity that is scheduled again, with the same input, wants a new one.
func (f *flights) board(ctx context.Context, t task, do func(context.Context, *flight)) *flight {
	info := activity.GetInfo(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[task]*flight{}
		f.landed, _ = simplelru.NewLRU[task, *flight](maxLanded, nil) // it fails for sizes below one alone
	}
	if there := f.open[t]; there != nil {
		there.waiting++
		there.askers = append(there.askers, askerOf(info))
		if there.lonely != nil {
			there.lonely.Stop()
			there.lonely = nil
		}
		return there
	}
	before, landed := f.landed.Get(t)
	if landed && before.isFor(info) {
		return before
	}
	if landed && slices.Contains(before.askers, askerOf(info)) {
		ctx = context.WithValue(ctx, redone{}, true)
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	made := &flight{done: make(chan struct{}), cancel: cancel, waiting: 1, askers: []asker{askerOf(info)}}
	f.open[t] = made
	go defect.Guard("activity", func() {
		defer cancel(nil)
		defer f.land(t, made)
		made.err = defect.Catch("activity", func() error { do(work, made); return made.err })
	})()
	return made
}

// redone is the key of the context of work that was done before, within a task that Temporal did not take: it does so
// if a signal comes as the execution ends. The task is executed again, and what it does has other circumstances.
type redone struct{}

// repeated reports whether an attempt repeats another one.
func repeated(ctx context.Context) bool {
	return activity.GetInfo(ctx).Attempt > 1 || ctx.Value(redone{}) != nil
}

// isFor reports whether an attempt takes the result of a flight that landed. flights.mu must be held.
func (f *flight) isFor(info activity.Info) bool {
	me := askerOf(info)
	if slices.Contains(f.askers, me) {
		return f.missed || info.Attempt > 1
	}
	if !f.within || me.within {
		return false
	}
	f.within, f.askers = false, append(f.askers, me)
	return true
}

// land notes that a flight ended.
func (f *flights) land(t task, ended *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, t)
	if ended.lonely != nil {
		ended.lonely.Stop()
	}
	if ended.err == nil {
		f.landed.Add(t, ended)
	}
	close(ended.done)
}

// leave notes that an attempt, perhaps one within a task, does not wait any more.
func (f *flights) leave(left *flight, within bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left.waiting--
	left.missed, left.within = true, left.within || within
	if left.waiting == 0 {
		left.lonely = time.AfterFunc(lonelyTime, defect.Guard("activity", func() { left.cancel(errLonely) }))
	}
}

// stop ends the work that an execution has asked for, in the process which records that its run stops. Heartbeats
// tell other processes, but only after the record is made, and that waits until no one uses the source.
func (f *flights) stop(execution, run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for t, flown := range f.open {
		if t.execution == execution && t.run == run && !slices.Contains(decides, t.activity) {
			flown.cancel(errStopping)
		}
	}
}

// Land waits for the work that these activities have in hand, and ends it where no attempt waits for it. It is for a
// process that takes no more work, whose attempts are over: what they left behind must not write to stores that are
// being closed, or end in the middle of a file. Work that does not listen is left behind after landingTime. Call it
// before the stores are closed; repeating it does nothing.
func Land(a *Activities) {
	a.flights.mu.Lock()
	var open []*flight
	for _, flown := range a.flights.open {
		if flown.waiting == 0 {
			flown.cancel(errLonely)
		}
		open = append(open, flown)
	}
	a.flights.mu.Unlock()
	late := time.After(landingTime)
	for _, flown := range open {
		select {
		case <-flown.done:
		case <-late:
			return
		}
	}
}

// await waits for the end of a flight as long as Temporal waits for the attempt. If the attempt is ordered to stop, so
// is the work, and await waits for its end. The same happens if the execution has ended: the run was stopped, or the
// workflow was terminated. If Temporal has only lost track of the attempt, the work continues.
func (f *flights) await(ctx context.Context, flown *flight) error {
	select {
	case <-flown.done:
		return nil
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	if !lostSight(ctx, cause) || f.noMore(ctx, cause) {
		flown.cancel(cause)
		<-flown.done
		return nil
	}
	select {
	case <-flown.done:
		return nil
	default:
	}
	f.leave(flown, activity.GetInfo(ctx).IsLocalActivity)
	return fmt.Errorf("this attempt was given up, the work continues for the next one: %w", cause)
}

// lostSight reports whether an attempt ended because Temporal does not know how it is doing: not because anyone wants
// its work to stop. Work within a task of the workflow may take longer than the task has time for. An activity that is
// still running at the end of its own, long, limit hangs, and is stopped.
func lostSight(ctx context.Context, cause error) bool {
	if errors.Is(cause, context.DeadlineExceeded) {
		return activity.GetInfo(ctx).IsLocalActivity
	}
	_, service := errors.AsType[serviceerror.ServiceError](cause)
	return service
}

// noMore reports whether no attempt follows one that Temporal does not know any more, because its execution has ended.
// What Temporal says of the attempt is the same if it waited too long for heartbeats.
func (f *flights) noMore(ctx context.Context, cause error) bool {
	_, unknown := errors.AsType[*serviceerror.NotFound](cause)
	return unknown && f.over(ctx)
}

// executionOver reports whether the execution for which an attempt works has ended, as far as Temporal says so.
func executionOver(ctx context.Context) bool {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), overTime)
	defer done()
	info := activity.GetInfo(ctx)
	answer, err := serviceOf(ctx).DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: info.Namespace,
		Execution: &common.WorkflowExecution{
			WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID,
		},
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return true
	}
	running := answer.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	return err == nil && !running
}
