package slots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/workflows"
)

// Keeper does what the schedules of a landscape are due to do, whenever somebody asks it to.
type Keeper struct {
	Client   client.Client
	Queue    string // of the workflows that it starts
	Log      *landscape.Log
	Payloads *payload.Store
	Logger   log.Logger

	clock  func() time.Time // nil for time.Now
	alarms alarms
	seen   map[string]int64 // by environment and pipeline, the deployment whose schedules are recorded
}

func (k *Keeper) now() time.Time {
	if k.clock != nil {
		return k.clock()
	}
	return time.Now()
}

// atLeast is how often schedules are looked at, whatever rings: a run may have ended, or a person have asked for one.
const atLeast = 5 * time.Second

// betweenRuns is how soon a slot that waits for its turn gets one.
const betweenRuns = 500 * time.Millisecond

// recently is how long after it was due a failed slot is looked at, in case somebody resumes its run.
const recently = 31 * 24 * time.Hour

// All records the schedules of the versions that are current, and does what is due for all schedules. It returns how long it is at most until there
// may be more to do.
func (k *Keeper) All(ctx context.Context) (time.Duration, error) {
	if err := k.reconcile(ctx); err != nil {
		return atLeast, err
	}
	rows, err := k.Log.Schedules(ctx)
	if err != nil {
		return atLeast, err
	}
	var failed []error
	wait := atLeast
	for _, row := range rows {
		next, err := k.Turn(ctx, row.ID)
		if err == nil {
			err = k.setAlarm(ctx, row.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("schedule %s: %w", row.ID, err))
		}
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(k.now()), 0))
		}
	}
	return wait, errors.Join(failed...)
}

const (
	// mostRounds bounds one turn of a schedule, so that others have theirs. Each round does one step of its slots, or records mostAtOnce.
	mostRounds = 10
	// mostDue is how many slots that are due a round looks at, those that come first.
	mostDue = 200
)

// Turn does what is due for a schedule: it records the slots that became due, begins runs, and records what became of those that it began. It may
// be repeated, at any time, by anybody. It returns when the next slot is due; zero if that is not known.
func (k *Keeper) Turn(ctx context.Context, id string) (next time.Time, err error) {
	for range mostRounds {
		again, next, err := k.round(ctx, id)
		if landscape.Raced(err) {
			continue
		}
		if err != nil || !again {
			return next, err
		}
	}
	return k.now(), nil // the rest comes in the next turn
}

// round does one step, and reports whether there may be another one.
func (k *Keeper) round(ctx context.Context, id string) (again bool, next time.Time, err error) {
	history, err := k.Log.ScheduleHistory(ctx, id)
	if err != nil {
		return false, next, err
	}
	if len(history) == 0 {
		return false, next, fmt.Errorf("schedule %s: %w", id, landscape.ErrNotFound)
	}
	s, err := read(history[len(history)-1])
	if err != nil {
		return false, next, err
	}
	now := k.now()
	if full, err := s.recordDue(ctx, k.Log, history, now); err != nil || full {
		return full, next, err
	}
	l, err := k.ledger(ctx, s, history, now)
	if err != nil {
		return false, next, err
	}
	d := s.decide(l, now, newRun)
	if err := k.Log.ChangeSlots(ctx, nil, d.changes); err != nil {
		return false, next, err
	}
	for _, change := range d.changes {
		k.tell(change)
	}
	if err := k.act(ctx, s, l, d); err != nil {
		return false, next, err
	}
	if len(d.changes) == 0 {
		return false, s.next(l, now), nil
	}
	return true, next, k.pauseAfter(ctx, s, d.changes)
}

// newRun returns the id of a new run.
func newRun() string { return uuid.Must(uuid.NewV7()).String() }

// next returns when there is something to do for the schedule by the clock alone; zero if that is never.
func (s *schedule) next(l ledger, now time.Time) time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if !s.Removed() {
		for slot := range s.calendar.Due(now) {
			sooner(slot.Start)
			if slot.Due.After(now) {
				break
			}
		}
	}
	running, waiting := false, false
	for _, slot := range l.slots {
		sooner(slot.Ready.Time())
		running = running || slot.State == landscape.SlotRunning
		waiting = waiting || slot.State == landscape.SlotDue && !slot.Ready.Time().After(now)
	}
	if running && waiting {
		sooner(now.Add(betweenRuns))
	}
	return next
}

// RecordDue records the slots of a schedule that have become due, as Turn does, and begins nothing.
func RecordDue(ctx context.Context, log *landscape.Log, id string, now time.Time) error {
	for {
		history, err := log.ScheduleHistory(ctx, id)
		if err != nil {
			return err
		}
		if len(history) == 0 {
			return fmt.Errorf("schedule %s: %w", id, landscape.ErrNotFound)
		}
		s, err := read(history[len(history)-1])
		if err != nil {
			return err
		}
		full, err := s.recordDue(ctx, log, history, now)
		if err != nil && !landscape.Raced(err) || err == nil && !full {
			return err
		}
	}
}

// recordDue records slots that became due, and reports whether there may be more of them.
func (s *schedule) recordDue(ctx context.Context, log *landscape.Log, history []landscape.Schedule, now time.Time) (full bool, err error) {
	var last landscape.Micros
	err = log.LastSlots(ctx, s.ID, func(slot landscape.Slot) bool {
		if slot.Rang {
			last = slot.Due
		}
		return !slot.Rang
	})
	if err != nil {
		return false, err
	}
	between, err := log.SlotsBetween(ctx, s.ID, max(s.Since, last+1), landscape.MicrosOf(now)+1)
	if err != nil {
		return false, err
	}
	known := map[string]bool{}
	for _, slot := range between {
		known[slot.Name] = true
	}
	due := s.fallDue(history, last, known, now)
	changes := make([]landscape.SlotChange, len(due))
	for i, slot := range due {
		changes[i].To = slot
	}
	if len(changes) == 0 {
		return false, nil
	}
	if err := log.ChangeSlots(ctx, nil, changes); err != nil {
		return false, err
	}
	return len(due) == mostAtOnce, failpoint.Hit("slot.due")
}

// ledger reads what the schedule decides about.
func (k *Keeper) ledger(ctx context.Context, s *schedule, history []landscape.Schedule, now time.Time) (ledger, error) {
	l := ledger{fates: map[string]fate{}, requests: map[string]landscape.SlotRequest{}, before: map[string]landscape.Slot{}, done: map[string]string{}}
	if last := &history[len(history)-1]; last.PausedAt(landscape.MicrosOf(now)) {
		l.pause = pauseOf(history, last)
	}
	for _, state := range []landscape.SlotState{landscape.SlotDue, landscape.SlotRunning, landscape.SlotFailed} {
		limit := 0
		if state == landscape.SlotDue {
			limit = mostDue
		}
		slots, err := k.Log.SlotsInState(ctx, s.ID, state, limit, state == landscape.SlotDue && s.spec.CatchUp.Order == "newest")
		if err != nil {
			return l, err
		}
		for _, slot := range slots {
			if state != landscape.SlotFailed || now.Sub(slot.Due.Time()) < recently {
				l.slots = append(l.slots, slot)
			}
		}
	}
	for _, slot := range l.slots {
		if err := k.look(ctx, s, &l, slot); err != nil {
			return l, err
		}
	}
	return l, nil
}

// look reads what else is recorded of a slot.
func (k *Keeper) look(ctx context.Context, s *schedule, l *ledger, slot landscape.Slot) (err error) {
	if slot.Run != "" {
		if l.fates[slot.Run], err = k.fate(ctx, slot, landscape.MicrosOf(k.now())); err != nil {
			return err
		}
	}
	if l.fates[slot.Run].state == failed {
		if l.done[slot.Name], err = k.doneBefore(ctx, slot); err != nil {
			return err
		}
	}
	if _, known := l.requests[slot.Request]; slot.Request != "" && !known {
		if l.requests[slot.Request], err = k.Log.SlotRequest(ctx, slot.Request); err != nil {
			return err
		}
	}
	if s.spec.After == "" || slot.State != landscape.SlotDue {
		return nil
	}
	before, err := k.Log.SlotBefore(ctx, slot)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	l.before[slot.Name] = before
	return err
}

// doneBefore returns the complete run that a slot had before somebody asked for another one; empty if there is none.
func (k *Keeper) doneBefore(ctx context.Context, slot landscape.Slot) (run string, err error) {
	events, err := k.Log.SlotEvents(ctx, slot.Schedule, slot.Name)
	for _, event := range events {
		if event.State == landscape.SlotDone {
			run = event.Run
		}
	}
	return run, err
}

// act does what was decided, and what an earlier process that ended had decided.
func (k *Keeper) act(ctx context.Context, s *schedule, l ledger, d decision) error {
	for run, why := range d.cancel {
		if err := k.cancel(ctx, run, why); err != nil {
			return err
		}
	}
	for _, slot := range l.slots {
		if slot.State == landscape.SlotRunning && l.fates[slot.Run].state == unknown {
			if err := failpoint.Hit("slot.taken"); err != nil {
				return err
			}
			if err := k.begin(ctx, s, slot, l.requests[slot.Request]); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin starts the workflow of the run of a slot, unless somebody has.
func (k *Keeper) begin(ctx context.Context, s *schedule, slot landscape.Slot, request landscape.SlotRequest) error {
	named := s.Pipeline
	if request.Version != 0 {
		named = fmt.Sprintf("%s@%d", named, request.Version)
	}
	in := workflows.RunInput{OpenInput: activities.OpenInput{
		Run: slot.Run, Pipeline: named, Environment: s.Environment, ScheduleName: s.Name, For: slot.Name, Why: request.Why,
	}}
	reuse := enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	if slot.Seen == 0 {
		reuse = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	}
	_, err := k.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: workflows.WorkflowID(slot.Run), TaskQueue: k.Queue, WorkflowIDReusePolicy: reuse,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            workflows.Summary(named, slot.Run), StaticDetails: workflows.Details(named, slot.Run, nil), Memo: workflows.MemoOf(named, slot.Run),
	}, workflows.RunPipelineName, in)
	if _, begun := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); begun {
		return nil
	}
	if err != nil {
		return err
	}
	return failpoint.Hit("slot.started")
}

// cancel tells a run to stop, so that it can be resumed. One that has just ended is not there to be told.
func (k *Keeper) cancel(ctx context.Context, run, why string) error {
	order := workflows.Command{Actor: activities.Waymark, Why: why, As: pipeline.Cancelled}
	_, err := k.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.WorkflowID(run), UpdateName: workflows.CancelUpdate, Args: []any{order}, WaitForStage: client.WorkflowUpdateStageAccepted,
	})
	if cluster.Missing(err) {
		return nil
	}
	return err
}

// pauseAfter pauses a schedule of which too many slots failed one after the other, since somebody last changed it.
func (k *Keeper) pauseAfter(ctx context.Context, s *schedule, changes []landscape.SlotChange) error {
	most, failures, reason := s.spec.PauseAfter, 0, ""
	if most == 0 || !failedOne(changes) {
		return nil
	}
	err := k.Log.LastSlots(ctx, s.ID, func(slot landscape.Slot) bool {
		if slot.State == landscape.SlotFailed && slot.Changed > s.At {
			failures++
			reason = cmp.Or(reason, slot.Name+": "+slot.Reason)
		}
		return failures < most && slot.State != landscape.SlotDone
	})
	if err != nil || failures < most {
		return err
	}
	return k.Log.ChangeSchedule(ctx, s.ID, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		if last.Seq != s.Seq || last.Paused {
			return nil, nil //nolint:nilnil // somebody was first
		}
		next := *last
		next.Action, next.Paused, next.Until, next.Actor = landscape.PauseSchedule, true, 0, activities.Waymark
		next.Why = fmt.Sprintf("%d slots failed one after the other, the last: %s", failures, reason)
		return &next, nil
	})
}

func failedOne(changes []landscape.SlotChange) bool {
	for _, change := range changes {
		if change.To.State == landscape.SlotFailed && change.From.State != landscape.SlotFailed {
			return true
		}
	}
	return false
}

// tell puts a change into the log of the process.
func (k *Keeper) tell(change landscape.SlotChange) {
	to := change.To
	fields := []any{"schedule", to.Schedule, "slot", to.Name, "state", to.State, "run", to.Run, "reason", to.Reason}
	switch {
	case change.Event == landscape.SlotLate:
		k.Logger.Warn("slot is late", append(fields, "promised", to.Deadline.Time())...)
	case to.State == landscape.SlotFailed, to.State == landscape.SlotMissed:
		k.Logger.Warn("slot", fields...)
	default:
		k.Logger.Info("slot", fields...)
	}
}
