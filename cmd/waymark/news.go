package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"waymark/internal/sqlitefile"
)

// newsInterval is how often Temporal is asked for activities that fail, or wait, and the record for a pause.
const newsInterval = 2 * time.Second

// watch finds out what there is to tell, besides figures, about a run that is going.
type watch struct {
	execution *execution
	handle    sdk.WorkflowRun
	told      map[string]bool // activities whose failure was told
	still     *stillness
	clock     wallClock
	locks     lockWatch
	untaken   untaken
	held      string // what kept the run from moving at the last look
}

func newWatch(e *execution, handle sdk.WorkflowRun) *watch {
	now := time.Now()
	return &watch{
		execution: e, handle: handle, told: map[string]bool{}, still: &stillness{moved: now},
		clock: wallClock{now}, locks: lockWatch{files: e.app.databases()},
	}
}

// databases returns the files that runs of this state folder write besides their payloads and outputs; none on a cluster.
func (a *app) databases() []string {
	if a.onCluster() {
		return nil
	}
	files := []string{a.inState("temporal.db")}
	if path, err := a.landscapePath(); err == nil {
		files = append(files, path)
	}
	return files
}

// tell tells what is new: each failure once, and what keeps the run from moving when that begins and ends.
func (w *watch) tell(ctx context.Context, view progressView) {
	ctx, done := context.WithTimeout(ctx, newsInterval)
	defer done()
	found := w.describe(ctx)
	activities := found.GetPendingActivities()
	failing := w.failures(activities, view)
	held := w.pause(ctx)
	if held == "" {
		held = waiting(w.execution.machine.temporal.Converter, activities)
	}
	if held == "" {
		held = w.hindrance(ctx, found)
	}
	w.hold(held, view)
	if now := time.Now(); held == "" && !failing && w.still.due(now) {
		view.say(fmt.Sprintf("nothing has moved for %.0f s; %s", now.Sub(w.still.moved).Seconds(), w.suspicion(ctx, activities)))
	}
}

// hindrance says what of the world around keeps the run from moving; nothing if nothing is known of it.
func (w *watch) hindrance(ctx context.Context, found *workflowservice.DescribeWorkflowExecutionResponse) string {
	m := w.execution.machine
	if !m.onCluster() {
		return w.localHindrance()
	}
	waits, late := w.untaken.look(found, time.Now())
	if !waits {
		return "" // somebody works for it
	}
	if why := w.execution.workerless(ctx); why != "" {
		return why
	}
	if why := m.temporal.Unreadable(ctx, w.handle.GetID()); why != "" {
		return waitingWord + why
	}
	if late == nil {
		return ""
	}
	return late.text(m.queue)
}

// blameAfter is how long a run stands still before the clock or a lock is to blame: both may do no harm.
const blameAfter = 2 * newsInterval

// localHindrance is the same of a run that works in a state folder.
func (w *watch) localHindrance() string {
	now := time.Now()
	locked := w.locks.look(sqlitefile.FindHolder)
	if now.Sub(w.still.moved) < blameAfter {
		return fullDisk(w.execution.app.state)
	}
	if held := cmp.Or(w.clock.behind(now, now.Sub(w.clock.begun)), locked); held != "" {
		return waitingWord + held
	}
	return fullDisk(w.execution.app.state)
}

// suspicion says what the run works at, if nothing that is known keeps it from moving.
func (w *watch) suspicion(ctx context.Context, activities []*workflow.PendingActivityInfo) string {
	if work := atWork(activities, w.summaries(ctx), time.Now()); work != "" {
		return "it works at " + work
	}
	if w.execution.machine.onCluster() {
		return "nothing is at work: waymark doctor looks for the cause"
	}
	return "nothing is at work, and neither the clock nor a lock nor a full disk is the cause: waymark doctor looks further"
}

// describe returns what is on its way; nil if Temporal does not answer, which the run itself tells.
func (w *watch) describe(ctx context.Context) *workflowservice.DescribeWorkflowExecutionResponse {
	description, err := w.execution.machine.temporal.Temporal.DescribeWorkflowExecution(ctx, w.handle.GetID(), w.handle.GetRunID())
	if err != nil {
		return nil
	}
	return description
}

// failures tells about activities that failed and are tried again, each once, and returns whether there are any.
func (w *watch) failures(activities []*workflow.PendingActivityInfo, view progressView) (failing bool) {
	for _, activity := range activities {
		if activity.GetLastFailure() == nil {
			continue
		}
		failing = true
		if !w.told[activity.GetActivityId()] {
			w.told[activity.GetActivityId()] = true
			view.say(fmt.Sprintf("%s failed and is tried again: %s", activity.GetActivityType().GetName(), cause(w.execution.machine.temporal.Failures.FailureToError(activity.GetLastFailure()))))
		}
	}
	return failing
}

// pause says by whom the run is paused; nothing if it is not.
func (w *watch) pause(ctx context.Context) string {
	paused, err := w.execution.machine.record.client.Paused(ctx, w.execution.id())
	if err != nil || paused == nil {
		return ""
	}
	return "paused " + pausedLine(paused)
}

// hold shows what keeps the run from moving, and says so when it begins or ends, but not of each activity that waits for the
// same.
func (w *watch) hold(held string, view progressView) {
	if held == w.held {
		return
	}
	before := w.held
	w.held = held
	view.hold(held)
	switch {
	case held == "":
		view.say("going on")
	case strings.HasPrefix(before, waitingWord) && strings.HasPrefix(held, waitingWord):
	default:
		view.say(held)
	}
}

// sparePages is how little space a disk has on which Temporal cannot write any more.
const sparePages = 8

// fullDisk says that the disk with the folder is full; nothing if it is not. Temporal, whose state is there, keeps that to itself.
func fullDisk(folder string) string {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil || disk.Bavail > sparePages {
		return ""
	}
	return fmt.Sprintf("%sthe disk with %s is full", waitingWord, folder)
}

// waitingWord begins the heartbeats of activities that wait for the world to become better, such as a full disk.
const waitingWord = "waiting: "

// waiting returns what an activity waits for; nothing if none does.
func waiting(stored converter.DataConverter, activities []*workflow.PendingActivityInfo) string {
	for _, activity := range activities {
		var detail string
		if details := activity.GetHeartbeatDetails(); details == nil || stored.FromPayloads(details, &detail) != nil {
			continue
		}
		if strings.HasPrefix(detail, waitingWord) {
			return detail
		}
	}
	return ""
}
