package recovery

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Abandoned finds runs that are running on record while their workflow is closed, because somebody terminated it in
// Temporal or its process died, and puts on record that they are interrupted, and starts whose workflow was closed
// before the run began, of which none comes. Any number of processes may do that at the same time.
type Abandoned struct {
	Client    client.Client
	Namespace string // the client's
	Log       *landscape.Log
}

// All looks at every run that is running on record, and at every start that is open, and returns the ids of the runs
// that it found. It tells those that wait for places, and may begin, that they may, and those that never will, that
// they need not wait.
func (a Abandoned) All(ctx context.Context) ([]string, error) {
	if err := a.closeOrphans(ctx); err != nil {
		return nil, err
	}
	runs, err := a.Log.RunsWithStatus(ctx, pipeline.Running, "", 0)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, run := range runs {
		interrupted, err := a.look(ctx, run)
		if err != nil {
			return found, err
		}
		if interrupted {
			found = append(found, run.ID)
		}
	}
	for _, state := range []landscape.StartState{landscape.StartAccepted, landscape.StartWaiting} {
		starts, err := a.Log.Starts(ctx, state, nil, 0)
		if err != nil {
			return found, err
		}
		for _, start := range starts {
			ended, err := a.endStart(ctx, start)
			if err != nil {
				return found, err
			}
			if ended {
				found = append(found, start.Run)
			}
		}
	}
	waiting, err := a.Log.AllAdmissible(ctx)
	if err != nil {
		return found, err
	}
	decided, err := a.decided(ctx)
	if err != nil {
		return found, err
	}
	return found, a.wake(ctx, append(waiting, decided...))
}

// release tells the runs that wait for the places of one that ended that they may begin.
func (a Abandoned) release(ctx context.Context, run string) error {
	runs, err := a.Log.Admissible(ctx, run)
	if err != nil {
		return err
	}
	return a.wake(ctx, runs)
}

func (a Abandoned) wake(ctx context.Context, runs []string) error {
	return activities.Wake(ctx, a.Client, runs...)
}

// endStart records that no run comes of an open start whose workflow is closed by now.
func (a Abandoned) endStart(ctx context.Context, start landscape.Start) (bool, error) {
	latest, known, err := cluster.Latest(ctx, a.Client, workflows.WorkflowID(start.Run))
	if err != nil || !known || latest.Open() || start.Decided != 0 {
		return false, err
	}
	if now, err := a.Log.LastStart(ctx, start.Run); err != nil || now != start {
		return false, err // the run began, and ended, since the start was read
	}
	start.State, start.Refusal, start.Reason = landscape.StartRefused, activities.RefusalClosed, HowClosed(start.Run, latest)
	err = a.Log.CallOff(ctx, start)
	if errors.Is(err, landscape.ErrBegun) { // since it was read
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, a.release(ctx, start.Run)
}

// mostClosed is how many workflows Since looks at: more do not end within a few minutes.
const mostClosed = 1000

// Since looks at the runs whose workflows were closed since a moment, and did not complete; it asks the record for
// these alone.
func (a Abandoned) Since(ctx context.Context, moment time.Time) ([]string, error) {
	if err := a.closeOrphans(ctx); err != nil { // Temporal may list late what was open at the beginning
		return nil, err
	}
	answer, err := a.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: mostClosed, Query: fmt.Sprintf(
		"WorkflowType = '%s' and ExecutionStatus in ('Terminated', 'TimedOut', 'Failed', 'Canceled') and CloseTime >= '%s'",
		workflows.RunPipelineName, moment.UTC().Format(time.RFC3339))})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, closed := range answer.GetExecutions() {
		id, ok := strings.CutPrefix(closed.GetExecution().GetWorkflowId(), workflows.WorkflowID(""))
		if !ok {
			continue
		}
		ended, err := a.lookAt(ctx, id)
		if err != nil {
			return found, err
		}
		if ended {
			found = append(found, id)
		}
	}
	return found, nil
}

// lookAt looks at the run with this id, or at its start if it is not recorded.
func (a Abandoned) lookAt(ctx context.Context, id string) (ended bool, err error) {
	run, err := a.Log.Run(ctx, id)
	if err == nil {
		return a.look(ctx, run.RunHead)
	}
	if !errors.Is(err, landscape.ErrNotFound) {
		return false, err
	}
	start, err := a.Log.LastStart(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return a.endStart(ctx, start)
}

// look interrupts a run that is running in the epoch that was read, if its workflow is closed by now. A process that
// resumes the run meanwhile begins another epoch, in which nothing is changed.
func (a Abandoned) look(ctx context.Context, run landscape.RunHead) (bool, error) {
	if run.Status != pipeline.Running {
		return false, nil
	}
	reason, err := a.closed(ctx, run)
	if err != nil || reason == "" {
		return false, err
	}
	err = a.Log.InEpoch(run.ID, run.Epoch).StopRun(ctx, run.ID, pipeline.Interrupted, "interrupted: "+reason)
	if errors.Is(err, landscape.ErrSuperseded) {
		return false, nil
	}
	if err != nil { // perhaps the run ended otherwise, before its workflow was closed
		now, failed := a.Log.Run(ctx, run.ID)
		if failed == nil && now.Status != pipeline.Running {
			err = nil
		}
		return false, err
	}
	return true, a.release(ctx, run.ID)
}

// closed says how the workflow of a run was closed; nothing if it is open, or not one of this Temporal.
func (a Abandoned) closed(ctx context.Context, run landscape.RunHead) (string, error) {
	owners, err := a.Log.Executions(ctx, run.ID, run.Epoch)
	if err != nil || len(owners) == 0 { // recorded without a workflow
		return "", err
	}
	last := owners[len(owners)-1]
	if last.Namespace != a.Namespace {
		return "", nil
	}
	latest, known, err := cluster.Latest(ctx, a.Client, last.Workflow)
	if err != nil || !known || latest.Open() {
		return "", err
	}
	if _, err := a.Client.DescribeWorkflowExecution(ctx, last.Workflow, last.Execution); cluster.Missing(err) {
		return "", nil // another Temporal has a namespace of this name
	} else if err != nil {
		return "", err
	}
	return HowClosed(run.ID, latest), nil
}

// HowClosed says how the workflow of a run was closed.
func HowClosed(run string, latest cluster.Execution) string {
	switch {
	case latest.Queue == workflows.ProcessQueue(run):
		return processEnded
	case latest.Status == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return "its workflow was terminated in Temporal"
	case latest.Status == enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return "its workflow took longer than Temporal was told to let it"
	default:
		return "its workflow ended before it could say how"
	}
}
