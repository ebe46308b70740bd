package client

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"waymark/internal/sqlitefile"
	"waymark/landscape"
	"waymark/workflows"
)

// watchInterval is how often Temporal is asked for activities that fail, or wait, and the record for a pause.
const watchInterval = 2 * time.Second

// watch finds out what there is to tell, besides figures, about a run that is being executed.
type watch struct {
	*follower
	told     map[string]bool // activities whose failure was told
	stall    *stillness
	clock    wallClock
	locks    lockWatch
	unpolled unpolled
	held     hindrance // what kept the run from moving at the last look
}

// hindrance is what keeps a run from moving; nothing if its message is empty.
type hindrance struct {
	message string
	cure    Cure
}

func newWatch(f *follower) *watch {
	now := time.Now()
	return &watch{
		follower: f, told: map[string]bool{}, stall: &stillness{moved: now}, clock: wallClock{now},
		locks: lockWatch{files: f.session.Databases},
	}
}

// look tells what is new: each failure once, and what keeps the run from moving when that begins and ends.
func (w *watch) look(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, watchInterval)
	defer done()
	found := w.describe(ctx)
	activities := found.GetPendingActivities()
	failing := w.failures(activities)
	held := hindrance{message: w.pause(ctx)}
	if held.message == "" {
		held.message = w.queued(ctx)
	}
	if held.message == "" {
		held.message = waiting(w.session.Converter, activities)
	}
	if held.message == "" {
		held = w.hindrance(ctx, found)
	}
	w.hold(held)
	if now := time.Now(); held.message == "" && !failing && w.stall.due(now) {
		what, cure := w.suspicion(ctx, activities)
		w.send(Event{Kind: StalledEvent, Message: fmt.Sprintf("nothing has moved for %.0f s; %s", now.Sub(w.stall.moved).Seconds(), what), Cure: cure})
	}
}

// hindrance says what of the world around keeps the run from moving, as far as that is known.
func (w *watch) hindrance(ctx context.Context, found *workflowservice.DescribeWorkflowExecutionResponse) hindrance {
	if !w.session.OnCluster() {
		return hindrance{message: w.localHindrance()}
	}
	waits, late := w.unpolled.look(found, time.Now())
	if !waits {
		return hindrance{} // somebody executes it
	}
	if message, cure := w.Workerless(ctx); message != "" {
		return hindrance{message, cure}
	}
	if why := w.session.Unreadable(ctx, w.Workflow); why != "" {
		return hindrance{message: WaitingWord + why}
	}
	if late == nil {
		return hindrance{}
	}
	return hindrance{late.text(w.session.Queue), FindWorkers}
}

// Workerless says that the run waits for a worker; nothing if there is one, or if that is not known.
func (e *Execution) Workerless(ctx context.Context) (message string, cure Cure) {
	queue, files := e.session.Queue, e.input.Files
	switch {
	case e.session.Unattended(ctx, queue):
		return fmt.Sprintf("%sno worker listens on queue %s", WaitingWord, queue), StartWorker
	case files != "" && e.session.Unattended(ctx, workflows.FilesQueue(queue, files)):
		return fmt.Sprintf("%sno worker of queue %s sees the files of %q", WaitingWord, queue, files), StartWorkerThere
	}
	return "", ""
}

// blameAfter is how long a run stands still before the clock or a lock is to blame: both may do no harm.
const blameAfter = 2 * watchInterval

// localHindrance is the same of a run that a process executes.
func (w *watch) localHindrance() string {
	now := time.Now()
	locked := w.locks.look(sqlitefile.FindHolder)
	if now.Sub(w.stall.moved) < blameAfter {
		return fullDisk(w.session.State)
	}
	if held := cmp.Or(w.clock.behind(now, now.Sub(w.clock.begun)), locked); held != "" {
		return WaitingWord + held
	}
	return fullDisk(w.session.State)
}

// suspicion says what the run works at, if nothing that is known keeps it from moving.
func (w *watch) suspicion(ctx context.Context, activities []*workflow.PendingActivityInfo) (message string, cure Cure) {
	if work := atWork(activities, w.summaries(ctx), time.Now()); work != "" {
		return "it works at " + work, ""
	}
	if w.session.OnCluster() {
		return "nothing is at work", Diagnose
	}
	return "nothing is at work, and neither the clock nor a lock nor a full disk is the cause", Diagnose
}

// describe returns the pending work; nil if Temporal does not answer, which the run itself tells.
func (w *watch) describe(ctx context.Context) *workflowservice.DescribeWorkflowExecutionResponse {
	description, err := w.session.Temporal.DescribeWorkflowExecution(ctx, w.handle.GetID(), w.handle.GetRunID())
	if err != nil {
		return nil
	}
	return description
}

// failures tells about activities that failed and are tried again, each once, and returns whether there are any.
func (w *watch) failures(activities []*workflow.PendingActivityInfo) (failing bool) {
	for _, activity := range activities {
		if activity.GetLastFailure() == nil {
			continue
		}
		failing = true
		if !w.told[activity.GetActivityId()] {
			w.told[activity.GetActivityId()] = true
			failure := w.session.Failures.FailureToError(activity.GetLastFailure())
			w.send(Event{Kind: FailingEvent, Message: fmt.Sprintf("%s failed and is tried again: %s", activity.GetActivityType().GetName(), Cause(failure))})
		}
	}
	return failing
}

// pause says who paused the run; nothing if it is not paused.
func (w *watch) pause(ctx context.Context) string {
	paused, err := pausedAt(ctx, w.session.Log.Reader, w.Run)
	if err != nil || paused == nil {
		return ""
	}
	return "paused by " + paused.Actor + ": " + paused.Why
}

// queued says for which places the run waits, or for the end of which other run; nothing if it waits for none.
func (w *watch) queued(ctx context.Context) string {
	start, err := w.session.Log.LastStart(ctx, w.Run)
	switch {
	case err != nil || start.State == landscape.StartBegun:
		return ""
	case start.State == landscape.StartWaiting, start.State == landscape.StartSkipped:
		return WaitingWord + start.Reason
	case start.Decided != 0: // it is about to end, and does not go on before
		return w.held.message
	}
	return ""
}

// hold tells what keeps the run from moving when that begins or ends, but not of each activity that waits for the same.
func (w *watch) hold(held hindrance) {
	if held == w.held {
		return
	}
	before := w.held
	w.held = held
	again := strings.HasPrefix(before.message, WaitingWord) && strings.HasPrefix(held.message, WaitingWord)
	w.send(Event{Kind: HeldEvent, Message: held.message, Cure: held.cure, Again: again})
}

// sparePages is how little space a disk has on which Temporal cannot write any more.
const sparePages = 8

// fullDisk says that the disk with the folder is full; nothing if it is not. Temporal, whose state is there, keeps that to itself.
func fullDisk(folder string) string {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil || disk.Bavail > sparePages {
		return ""
	}
	return fmt.Sprintf("%sthe disk with %s is full", WaitingWord, folder)
}

// WaitingWord begins the heartbeats of activities that wait for the world to become better, such as a full disk, and what a HeldEvent
// says of anything that the run waits for.
const WaitingWord = "waiting: "

// waiting returns what an activity waits for; nothing if none does.
func waiting(stored converter.DataConverter, activities []*workflow.PendingActivityInfo) string {
	for _, activity := range activities {
		var detail string
		if details := activity.GetHeartbeatDetails(); details == nil || stored.FromPayloads(details, &detail) != nil {
			continue
		}
		if strings.HasPrefix(detail, WaitingWord) {
			return detail
		}
	}
	return ""
}
