package client

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"waymark/activities"
	"waymark/workflows"
)

// takenAfter is after how long work that nobody took is a sign that nobody will. A worker that has nothing else to do takes it at once.
const takenAfter = 10 * time.Second

// unpolled notices work of a run that no worker takes.
type unpolled struct {
	since map[string]time.Time // when work that waits was first seen to wait
}

// work is what waits for a worker.
type work struct {
	key   string
	queue string // on which it waits; empty for that of the run
}

// look says what a run's workflow is waiting with: whether there is work that nobody took yet; and the queue of that which has waited
// for too long, while nobody does anything else for the run, if there is some.
func (u *unpolled) look(found *workflowservice.DescribeWorkflowExecutionResponse, now time.Time) (waits bool, late *work) {
	before := u.since
	u.since = map[string]time.Time{}
	all, busy := waitingWork(found)
	for _, w := range all {
		since, known := before[w.key]
		if !known {
			since = now
		}
		u.since[w.key] = since
		if late == nil && !busy && now.Sub(since) >= takenAfter {
			late = &w
		}
	}
	return len(all) > 0, late
}

// waitingWork returns what waits for a worker, and whether somebody works for the run meanwhile. What is about to be given to others
// anyway does not count, and neither does what is to be tried again later.
func waitingWork(found *workflowservice.DescribeWorkflowExecutionResponse) (all []work, busy bool) {
	if task := found.GetPendingWorkflowTask(); task != nil {
		busy = task.GetState() == enums.PENDING_WORKFLOW_TASK_STATE_STARTED
		if !busy {
			all = append(all, work{key: "decision " + task.GetScheduledTime().String()})
		}
	}
	for _, activity := range found.GetPendingActivities() {
		switch activity.GetState() {
		case enums.PENDING_ACTIVITY_STATE_STARTED:
			busy = true
		case enums.PENDING_ACTIVITY_STATE_SCHEDULED:
			if w, counts := waitingActivity(activity); counts {
				all = append(all, w)
			}
		}
	}
	return all, busy
}

func waitingActivity(activity *workflow.PendingActivityInfo) (work, bool) {
	options := activity.GetActivityOptions()
	near := options.GetScheduleToStartTimeout().AsDuration()
	if near > 0 && near <= takenAfter || activity.GetNextAttemptScheduleTime() != nil {
		return work{}, false
	}
	return work{fmt.Sprintf("%s %d", activity.GetActivityId(), activity.GetAttempt()), options.GetTaskQueue().GetName()}, true
}

// text says that nobody takes the work; common is the queue of all workers.
func (w *work) text(common string) string {
	queue := strings.TrimSuffix(w.queue, activities.SharesQueue(""))
	if files, near := strings.CutPrefix(queue, workflows.FilesQueue(common, "")); near {
		return fmt.Sprintf("%sno worker that sees the files of %q takes the work of queue %s: those there are busy, or gone", WaitingWord, files, common)
	}
	return fmt.Sprintf("%sno worker takes the work of queue %s: those there are busy, or gone", WaitingWord, common)
}
