// Package worker registers everything that runs pipelines on a Temporal worker, and compiles documents for it.
package worker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/internal/processors"
	"waymark/workflows"
	"waymark/workflows/slots"
)

// New returns a worker for the queue, not yet started, of a process that works alone: all work comes by this queue.
func New(c client.Client, queue string, act *activities.Activities) worker.Worker {
	w := worker.New(c, queue, guarded(patient(worker.Options{MaxConcurrentActivityExecutionSize: sharedActivities()})))
	registerWorkflows(w)
	w.RegisterActivity(act)
	return landing{w, act}
}

// landing is a worker that, when it stops, leaves nothing behind of attempts that Temporal gave up.
type landing struct {
	worker.Worker
	act *activities.Activities
}

// Stop takes no more work, and waits for what is in hand.
func (l landing) Stop() {
	l.Worker.Stop()
	activities.Land(l.act)
}

// NewAnswering returns a worker for the queue, not yet started, that answers questions about its workflows and does
// none of their activities.
func NewAnswering(c client.Client, queue string) worker.Worker {
	w := worker.New(c, queue, patient(worker.Options{LocalActivityWorkerOnly: true}))
	registerWorkflows(w)
	return w
}

const (
	// heartbeatInterval is how often an activity's heartbeats go to Temporal at most. That an activity is cancelled
	// comes back with them: by itself the SDK would send one in four fifths of the heartbeat timeout, and a run that
	// waits for a source would be stopped as late. It is the deadline of each of these calls as well: package beat
	// keeps one that misses it from cancelling the activity.
	heartbeatInterval = time.Second

	// deadlockTimeout is how long workflow code may compute before the SDK fails its task, as that of a program with a
	// defect. Ours takes milliseconds; on a machine that is busy, or was suspended, the SDK's usual second passes
	// without a defect.
	deadlockTimeout = 2 * time.Minute
)

// catching is what all workers have in common: an activity that panics fails, and is tried again.
type catching struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity is called for each activity.
func (*catching) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	return &caught{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type caught struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity lets the activity be done.
func (c *caught) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (out any, err error) {
	err = defect.Catch("activity", func() (err error) { out, err = c.Next.ExecuteActivity(ctx, in); return err })
	return out, err
}

// patient returns options of a worker on a machine that may be slow, and that outlives its defects.
func patient(o worker.Options) worker.Options {
	o.Interceptors = append(slices.Clip(o.Interceptors), &catching{})
	o.MaxHeartbeatThrottleInterval, o.DeadlockDetectionTimeout = heartbeatInterval, deadlockTimeout
	return o
}

// sharedActivities is how many activities a process takes at once from a queue that is not its own alone: one more,
// which waits for the disk, than compute at once. What waits here does nobody else.
func sharedActivities() int { return processors.Computing() + 1 }

// ownActivities is how many activities a process takes at once from the queue that is its own. Nobody else would do
// them: so those of long runs wait in the process for a place, and those of short runs come by.
const ownActivities = 1000

func registerWorkflows(w worker.Worker) {
	for name, executes := range map[string]any{
		workflows.RunPipelineName: workflows.RunAsked, workflows.ListPipelinesName: workflows.ListPipelines, workflows.PreflightName: workflows.Preflight,
	} {
		w.RegisterWorkflowWithOptions(executes, workflow.RegisterOptions{Name: name, VersioningBehavior: workflow.VersioningBehaviorPinned})
	}
}

// Member says how a process takes part in the work of a cluster.
type Member struct {
	Queue       string // the common task queue; "" is workflows.TaskQueue
	Files       string // name of the files that the process sees; "" is the host's name
	Pipelines   string // folder of deployed documents; "" if there are none
	Environment string // in which pipelines run whose starts name none; "" is landscape.DefaultEnvironment

	Keeper *slots.Keeper // does what schedules are due to do; nil if the process does not

	// Options are those of the common queue's worker. The time to stop, and the like, hold for the process's other
	// queues as well. How many activities and tasks of workflows there are at once is not for them to say.
	Options worker.Options
}

// Affinity returns where the process stands: its queues have names that no other process has, but for those of its
// files.
func (m Member) Affinity() (activities.Affinity, error) {
	files := m.Files
	if files == "" {
		host, err := activities.HostName()
		if err != nil {
			return activities.Affinity{}, fmt.Errorf("name of this host: %w; give the name of its files with --files", err)
		}
		files = host
	}
	shared := workflows.FilesQueue(m.queue(), files)
	own := shared + "/" + strconv.Itoa(os.Getpid()) + "-" + uuid.NewString()[:8]
	return activities.Affinity{Files: files, FilesQueue: shared, OwnQueue: own, Pipelines: m.Pipelines, Environment: m.Environment}, nil
}

func (m Member) queue() string { return cmp.Or(m.Queue, workflows.TaskQueue) }

// Group is the workers of one process of a cluster: one that takes workflows and whatever anybody can do, one for what
// needs the files that the process sees, one for what the process has in memory, and two for the shares of runs that
// are split: those that need the files, and those that do not.
type Group []worker.Worker

// Group returns the workers, not yet started. act are the activities of a process at the place.
func (m Member) Group(c client.Client, affinity activities.Affinity, act *activities.Activities) Group {
	common := guarded(patient(m.Options))
	common.MaxConcurrentActivityExecutionSize = sharedActivities()
	first := worker.New(c, m.queue(), common)
	registerWorkflows(first)
	first.RegisterActivity(act)
	if m.Keeper != nil {
		slots.Register(first, m.Keeper)
	}
	group := Group{landing{first, act}}
	for queue, options := range map[string]worker.Options{
		affinity.FilesQueue:                         besideOptions(common, besidePollers, sharedActivities()),
		affinity.OwnQueue:                           besideOptions(common, besidePollers, ownActivities),
		activities.SharesQueue(m.queue()):           sharesOptions(common, act),
		activities.SharesQueue(affinity.FilesQueue): sharesOptions(common, act),
	} {
		w := worker.New(c, queue, options)
		w.RegisterActivity(act)
		group = append(group, landing{w, act})
	}
	return group
}

// besidePollers is how many requests for work a process keeps open on each of its further queues.
const besidePollers = 2

// besideOptions are those of a worker for so many activities at once, and for nothing else. Their queues belong to no
// version of a deployment: they come and go with processes and files.
func besideOptions(common worker.Options, pollers, activities int) worker.Options {
	beside := common
	beside.DisableWorkflowWorker = true
	beside.MaxConcurrentActivityTaskPollers, beside.MaxConcurrentActivityExecutionSize = pollers, activities
	beside.DeploymentOptions = worker.DeploymentOptions{}
	return beside
}

// Start starts all workers, or none.
func (g Group) Start() error {
	for i, w := range g {
		if err := w.Start(); err != nil {
			g[:i].Stop()
			return fmt.Errorf("worker: %w", err)
		}
	}
	return nil
}

// Stop takes no more work, and waits until what is in hand is done, as long as the options say. Then it gives the rest
// back.
func (g Group) Stop() {
	var stopping sync.WaitGroup
	for _, w := range g {
		stopping.Go(defect.Guard("stop", w.Stop))
	}
	stopping.Wait()
}
