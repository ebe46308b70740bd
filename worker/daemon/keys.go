package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/internal/defect"
	"waymark/internal/temporal/codec"
	"waymark/workflows"
)

const (
	// surveyRuns is how many runs are looked at to find out whether a process has the keys of its queue, and surveyEvents how many of
	// the first events of each: in them are the input and the first activity.
	surveyRuns   = 20
	surveyEvents = 12
	// surveyTimeout is how long that may take.
	surveyTimeout = 30 * time.Second
)

// keeper finds out whether this process has the codec keys of its queue.
type keeper struct {
	*process
	temporal  client.Client
	namespace string

	asking sync.Mutex // held while the runs of the queue are looked at
	asked  time.Time  // when that was last

	telling sync.Mutex
	told    map[string]time.Time // when it was last said of a workflow that it cannot be read
}

const (
	// tellPause is how long nothing more is said of a workflow that this process cannot read: its task comes again and again.
	tellPause = time.Minute
	// askPause is the time between two looks at the runs of the queue.
	askPause = 5 * time.Second
	// mostToldOf is of how many workflows it is remembered when that was said.
	mostToldOf = 1_000
)

// news reports whether something was not said of a workflow just now.
func (k *keeper) news(workflow string) bool {
	k.telling.Lock()
	defer k.telling.Unlock()
	if time.Since(k.told[workflow]) < tellPause {
		return false
	}
	if k.told == nil || len(k.told) >= mostToldOf {
		k.told = map[string]time.Time{}
	}
	k.told[workflow] = time.Now()
	return true
}

// unreadable is told of a task that this process could not read, and that went back. Either the run is an odd one, or this process:
// it looks at other runs, and ends if it is the odd one.
func (k *keeper) unreadable(workflow string, err error) {
	if k.news(workflow) {
		k.logger.Error("cannot read a run: the task goes back, for a worker that can", "workflow", workflow, "error", err)
	}
	if !k.asking.TryLock() {
		return
	}
	if time.Since(k.asked) < askPause {
		k.asking.Unlock()
		return
	}
	go defect.Guard("keys", func() {
		defer k.asking.Unlock()
		defer func() { k.asked = time.Now() }()
		if wrong := k.judge(context.Background()); wrong != nil {
			k.fail(wrong)
		}
	})()
}

// fail lets the process end. What comes after the first reasons is not needed any more.
func (d *process) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// runFailed is told of a run that this process let fail.
func (d *process) runFailed(workflow string, err error) {
	d.logger.Warn("run failed", "workflow", workflow, "error", cause(err))
}

// cause returns the message of the error that began it, without Temporal's wrapping.
func cause(err error) string {
	message := err.Error()
	for err != nil {
		var application *temporal.ApplicationError
		if !errors.As(err, &application) {
			break
		}
		message, err = application.Message(), application.Unwrap()
	}
	return message
}

// survey is what the last runs of the queue say about the keys of this process. Only runs that some worker has read count: what was
// started with a wrong key is nobody's.
type survey struct {
	readable, unreadable int
	run                  string // the last that cannot be read
	err                  error  // why
}

// judge returns an error if this process does not have the keys of its queue: of the last runs that workers have read it could read less
// than half. Nil also if that cannot be found out. Those that have ended count as well: what a process begins with another key
// no other can read.
func (k *keeper) judge(ctx context.Context) error {
	ctx, done := context.WithTimeout(codec.Looking(ctx), surveyTimeout)
	defer done()
	s, err := k.survey(ctx)
	if err != nil {
		k.logger.Warn("cannot compare the codec keys with those of other workers", "error", err)
		return nil
	}
	if s.unreadable <= s.readable {
		return nil
	}
	wrong := fmt.Errorf("this worker does not have the codec keys of queue %s: others work on what it cannot read, such as %s: %w "+
		"(all workers of a queue need the same keys, in %s or --codec-keys-file; with other keys, work on another queue)", k.Queue, s.run, s.err, CodecKeysVariable)
	k.ready.set(workService, nil, wrong)
	return wrong
}

// survey looks at the last runs of the queue.
func (k *keeper) survey(ctx context.Context) (survey, error) {
	var s survey
	answer, err := k.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: surveyRuns, Query: fmt.Sprintf("WorkflowType = '%s' and TaskQueue = '%s'", workflows.RunPipelineName, strings.ReplaceAll(k.Queue, "'", `\'`)),
	})
	if err != nil {
		return s, err
	}
	for _, run := range answer.GetExecutions() {
		if err := k.look(ctx, run, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// look adds one run to the survey.
func (k *keeper) look(ctx context.Context, run *workflow.WorkflowExecutionInfo, s *survey) error {
	answer, err := k.temporal.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: k.namespace, MaximumPageSize: surveyEvents,
		Execution: &common.WorkflowExecution{WorkflowId: run.GetExecution().GetWorkflowId(), RunId: run.GetExecution().GetRunId()},
	})
	if err != nil {
		return err
	}
	read := false
	for _, event := range answer.GetHistory().GetEvents() {
		read = read || event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	}
	if !read || !codec.Uses(ctx, answer.GetHistory()) {
		return nil
	}
	err = k.codec.Check(ctx, answer.GetHistory())
	if fault, ok := errors.AsType[*codec.UnreadableError](err); ok && !fault.Plain {
		s.unreadable++
		s.run, s.err = run.GetExecution().GetWorkflowId(), err
		return nil
	}
	s.readable++
	return nil
}
