package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"waymark/internal/sqlitefile"
)

// wallClock notices that somebody sets this machine's clock.
type wallClock struct {
	begun time.Time
}

// noticeable is by how much a clock that runs fast or slow, and is corrected now and then, is never wrong.
const noticeable = 5 * time.Second

// setBack returns by how much the clock was set back since begun, or 0. passed is the time since then by a clock that nobody sets.
func (c wallClock) setBack(now time.Time, passed time.Duration) time.Duration {
	if back := passed - now.Round(0).Sub(c.begun.Round(0)); back > noticeable {
		return back
	}
	return 0
}

// behind says that the clock was set back: Temporal's timers fire when it shows the time they were set for. It says nothing if it was
// not set back, or is right again.
func (c wallClock) behind(now time.Time, passed time.Duration) string {
	back := c.setBack(now, passed)
	if back == 0 {
		return ""
	}
	return fmt.Sprintf("this machine's clock was set back by %s: what waits for a time, such as another attempt, waits until %s, or until the clock is set right",
		back.Round(time.Second), now.Add(back).Format(time.DateTime))
}

// lockWatch notices another process that keeps a database of the run locked.
type lockWatch struct {
	files []string
	since map[string]int // who held which at the last look
}

// look says which process holds a file now and held it at the last look as well; nothing if none does: a writer holds it for
// a moment.
func (l *lockWatch) look(find func(path string) *sqlitefile.Holder) string {
	before := l.since
	l.since = map[string]int{}
	var held string
	for _, path := range l.files {
		holder := find(path)
		if holder == nil {
			continue
		}
		l.since[path] = holder.PID
		if held == "" && before[path] == holder.PID {
			held = fmt.Sprintf("%s keeps %s locked", holder, path)
		}
	}
	return held
}

// lockLook is the time between two looks at locks.
const lockLook = time.Second

// Locked says which other process keeps one of these databases locked; nothing if none does. It looks twice, because a writer locks
// for a moment.
func Locked(databases []string) string {
	locks := lockWatch{files: databases}
	locks.look(sqlitefile.FindHolder)
	if len(locks.since) > 0 {
		time.Sleep(lockLook)
	}
	return locks.look(sqlitefile.FindHolder)
}

// atWork says what activities work at, and for how long: a step may take its time. It says nothing if none does.
func atWork(activities []*workflow.PendingActivityInfo, summaries map[string]string, now time.Time) string {
	var parts []string
	for _, activity := range activities {
		if activity.GetState() != enums.PENDING_ACTIVITY_STATE_STARTED {
			continue
		}
		name := summaries[activity.GetActivityId()]
		if name == "" {
			name = activity.GetActivityType().GetName()
		}
		parts = append(parts, fmt.Sprintf("%q for %s", name, now.Sub(activity.GetLastStartedTime().AsTime()).Round(time.Second)))
	}
	return strings.Join(parts, ", ")
}

// recentStarts is how many events back the pending activities were begun at most.
const recentStarts = 500

// summaries returns what the workflow calls the activities it began last, by their ids; none if Temporal does not answer.
func (w *watch) summaries(ctx context.Context) map[string]string {
	page, err := w.session.Temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: w.session.Namespace, MaximumPageSize: recentStarts,
		Execution: &common.WorkflowExecution{WorkflowId: w.handle.GetID(), RunId: w.handle.GetRunID()},
	})
	if err != nil {
		return nil
	}
	named := map[string]string{}
	for _, event := range page.GetHistory().GetEvents() {
		if id, summary := w.summary(event); id != "" {
			named[id] = summary
		}
	}
	return named
}

// summary returns the id of the activity that the event begins, and what it is called; nothing of other events.
func (w *watch) summary(event *history.HistoryEvent) (id, text string) {
	scheduled := event.GetActivityTaskScheduledEventAttributes()
	if scheduled == nil {
		return "", ""
	}
	_ = w.session.Converter.FromPayload(event.GetUserMetadata().GetSummary(), &text)
	return scheduled.GetActivityId(), text
}
