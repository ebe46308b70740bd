package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/landscape"
	"waymark/payload"
)

// Keeper does what the schedules of a landscape are due to do, whenever somebody asks it to.
type Keeper struct {
	Client   client.Client
	Queue    string // of the workflows that it starts
	Log      *landscape.Log
	Payloads *payload.Store
	Logger   log.Logger

	seen       map[string]int64            // by environment and pipeline, the deployment whose schedules are recorded
	known      map[string]*known           // by schedule, what this process found at its last turn; nil for nothing
	events     int64                       // the position of the outbox up to which known has what was told
	looked     time.Time                   // the time of the last look
	inTemporal map[string]temporalSchedule // by schedule, what this process knows of it in Temporal
	listAgain  time.Time                   // when Temporal is asked for all schedules
	syncAgain  time.Time                   // before which nothing is compared with Temporal, because that failed
}

// atLeast is how often schedules are looked at, whatever fires: a run may have ended, or a person have asked for one.
const atLeast = 5 * time.Second

// betweenRuns is how soon a slot that waits for its turn gets one.
const betweenRuns = 500 * time.Millisecond

// recently is how long after it was due a failed slot is looked at, in case somebody resumes its run.
const recently = 31 * 24 * time.Hour

// All records the schedules of the versions that are current, and does what is due for all schedules. It returns how long it is at most until there
// may be more to do. It is not safe for concurrent use.
func (k *Keeper) All(ctx context.Context) (time.Duration, error) {
	wait, err := k.turns(ctx)
	sync, synced := k.syncAll(ctx)
	adopt, adopted := k.reconcile(ctx)
	if sync || adopt {
		wait = 0
	}
	return wait, errors.Join(err, synced, adopted)
}

// turns gives a turn to every schedule for which there may be something to do.
func (k *Keeper) turns(ctx context.Context) (time.Duration, error) {
	look, err := k.look(ctx)
	if err != nil {
		return atLeast, err
	}
	more, err := k.turnEach(ctx, k.stale(look))
	wait := atLeast
	if more {
		wait = 0
	}
	for _, known := range k.known {
		if !known.next.IsZero() {
			wait = min(wait, max(time.Until(known.next), 0))
		}
	}
	return wait, err
}

// turnEach gives a turn to each of some schedules, and reports whether one of them has more to do at once. Several have
// theirs at the same time: a turn waits for the record and for Temporal most of the time, and the last one of many
// whose slots are due at the same moment would begin late.
func (k *Keeper) turnEach(ctx context.Context, ids []string) (more bool, err error) {
	found, failed := make([]*known, len(ids)), make([]error, len(ids))
	var turns errgroup.Group
	turns.SetLimit(turnsAtOnce)
	for i, id := range ids {
		turns.Go(func() error {
			failed[i] = defect.Catch("schedules", func() (err error) { // one of them keeps no other from its turn
				found[i], err = k.turn(ctx, id)
				return err
			})
			return nil
		})
	}
	_ = turns.Wait()
	for i, id := range ids {
		switch {
		case failed[i] != nil:
			failed[i] = fmt.Errorf("schedule %s: %w", id, failed[i])
		case found[i] == nil: // the rest comes in the next turn
			more = true
		default:
			k.known[id] = found[i]
		}
	}
	return more, errors.Join(failed...)
}

const (
	// turnsAtOnce is how many schedules have their turn at the same time.
	turnsAtOnce = 8
	// mostRounds bounds one turn of a schedule, so that others have theirs. Each round does one step of its slots, or records mostAtOnce.
	mostRounds = 10
	// mostDue is how many slots that are due a round looks at: so many that were due first, such as those of a backfill, and so many that were due last.
	mostDue = 200
)

// Turn does what is due for a schedule: it records the slots that became due, begins runs, and records what became of those that it began. It may
// be repeated, at any time, by anybody. It returns when the next slot is due; zero if that is not known.
func (k *Keeper) Turn(ctx context.Context, id string) error {
	_, err := k.turn(ctx, id)
	return err
}

// turn is Turn, and returns what it found in the end.
func (k *Keeper) turn(ctx context.Context, id string) (*known, error) {
	var raced error
	races := 0
	for range mostRounds {
		again, found, err := k.round(ctx, id)
		if landscape.Raced(err) {
			raced = err
			races++
			continue
		}
		if err != nil || !again {
			return found, err
		}
	}
	if races == mostRounds {
		return nil, fmt.Errorf("its slots changed meanwhile in each of the %d rounds of a turn: %w", races, raced)
	}
	return nil, nil //nolint:nilnil // the rest comes in the next turn
}

// round does one step, and reports whether there may be another one; else it returns what it found.
func (k *Keeper) round(ctx context.Context, id string) (again bool, found *known, err error) {
	s, history, err := recorded(ctx, k.Log, id)
	if err != nil {
		return false, nil, err
	}
	now := time.Now()
	if full, err := s.recordDue(ctx, k.Log, history, now); err != nil || full {
		return full, nil, err
	}
	l, err := k.ledger(ctx, s, history, now)
	if err != nil {
		return false, nil, err
	}
	d := s.decide(l, now, newRun)
	if err := k.Log.ChangeSlots(ctx, nil, d.changes); err != nil {
		return false, nil, err
	}
	for _, change := range d.changes {
		k.tell(change)
	}
	then, plain := l.after(d.changes)
	if err := k.act(ctx, s, then, d); err != nil {
		return false, nil, err
	}
	if found := s.known(then, now); len(d.changes) == 0 || plain && !found.waits {
		return false, found, nil
	}
	return true, nil, k.pauseAfter(ctx, s, d.changes)
}

// recorded returns a schedule, and its rows, the first first. The error wraps landscape.ErrNotFound if there is none.
func recorded(ctx context.Context, log *landscape.Log, id string) (*Schedule, []landscape.Schedule, error) {
	history, err := log.ScheduleHistory(ctx, id)
	if err == nil && len(history) == 0 {
		err = fmt.Errorf("schedule %s: %w", id, landscape.ErrNotFound)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := Read(history[len(history)-1])
	return s, history, err
}

// newRun returns the id of a new run.
func newRun() string { return uuid.Must(uuid.NewV7()).String() }

// next returns when there is something to do for the schedule by the clock alone; zero if that is never.
func (s *Schedule) next(l ledger, now time.Time) time.Time {
	var next time.Time
	sooner := func(at time.Time) {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if l.pause != nil {
		sooner(s.Until.Time())
	}
	if !s.Removed() {
		for slot := range s.Calendar.Due(now) {
			sooner(slot.Start)
			if slot.Due.After(now) {
				break
			}
		}
	}
	running, waiting := false, false
	for _, slot := range l.slots {
		sooner(slot.Ready.Time())
		if slot.Late == 0 {
			sooner(slot.Deadline.Time())
		}
		running = running || slot.State == landscape.SlotRunning
		waiting = waiting || slot.State == landscape.SlotDue && !slot.Ready.Time().After(now)
	}
	if running && waiting {
		sooner(now.Add(betweenRuns))
	}
	return next
}

// ledger reads what the schedule decides about.
func (k *Keeper) ledger(ctx context.Context, s *Schedule, history []landscape.Schedule, now time.Time) (ledger, error) {
	l := ledger{
		outcomes: map[string]outcome{}, requests: map[string]landscape.SlotRequest{},
		before: map[string]landscape.Slot{}, done: map[string]string{},
	}
	if last := &history[len(history)-1]; last.PausedAt(landscape.MicrosOf(now)) {
		l.pause = pauseOf(history, last)
	}
	due, err := k.due(ctx, s.ID)
	if err != nil {
		return l, err
	}
	l.slots = due
	for _, state := range []landscape.SlotState{landscape.SlotRunning, landscape.SlotFailed} {
		slots, err := k.Log.SlotsInState(ctx, s.ID, state, 0, false)
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
		if err := k.consult(ctx, s, &l, slot); err != nil {
			return l, err
		}
	}
	return l, nil
}

// due returns the slots that are due, each once: of very many, those that were due first and last.
func (k *Keeper) due(ctx context.Context, id string) ([]landscape.Slot, error) {
	first, err := k.Log.SlotsInState(ctx, id, landscape.SlotDue, mostDue, false)
	if err != nil || len(first) < mostDue {
		return first, err
	}
	last, err := k.Log.SlotsInState(ctx, id, landscape.SlotDue, mostDue, true)
	for _, slot := range last {
		if slot.Due > first[mostDue-1].Due {
			first = append(first, slot)
		}
	}
	return first, err
}

// consult reads what else is recorded of a slot.
func (k *Keeper) consult(ctx context.Context, s *Schedule, l *ledger, slot landscape.Slot) (err error) {
	if slot.Run != "" {
		if l.outcomes[slot.Run], err = k.outcome(ctx, slot, landscape.MicrosOf(time.Now())); err != nil {
			return err
		}
	}
	if slot.State == landscape.SlotRunning && l.outcomes[slot.Run].state == failed {
		if l.done[slot.Name], err = DoneBefore(ctx, k.Log, slot); err != nil {
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

// DoneBefore returns the complete run that a slot had before somebody asked for another one; empty if there is none. Perhaps no worker recorded that the
// slot was done: a run that somebody began by hand, or resumed, is known by its status.
func DoneBefore(ctx context.Context, log *landscape.Log, slot landscape.Slot) (string, error) {
	events, err := log.SlotEvents(ctx, slot.Schedule, slot.Name)
	if err != nil {
		return "", err
	}
	looked := map[string]bool{"": true, slot.Run: true}
	for _, event := range slices.Backward(events) {
		if looked[event.Run] {
			continue
		}
		if event.State == landscape.SlotDone {
			return event.Run, nil
		}
		looked[event.Run] = true
		run, err := log.Run(ctx, event.Run)
		if err != nil && !errors.Is(err, landscape.ErrNotFound) {
			return "", err
		}
		if run.Status.Complete() {
			return event.Run, nil
		}
	}
	return "", nil
}

// pauseAfter pauses a schedule of which too many slots failed one after the other, since somebody last changed it.
func (k *Keeper) pauseAfter(ctx context.Context, s *Schedule, changes []landscape.SlotChange) error {
	most := s.spec.PauseAfter
	if most == 0 || !slices.ContainsFunc(changes, failedInTurn) {
		return nil
	}
	failed, err := k.failuresInTurn(ctx, s)
	if err != nil || len(failed) < most {
		return err
	}
	return k.Log.ChangeSchedule(ctx, s.ID, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		if last.Seq != s.Seq || last.Paused {
			return nil, nil //nolint:nilnil // somebody was first
		}
		next := *last
		next.Action, next.Paused, next.Until, next.Actor = landscape.PauseSchedule, true, 0, activities.Waymark
		next.Why = fmt.Sprintf("%d slots failed one after the other, the last: %s: %s", len(failed), failed[0].Name, failed[0].Reason)
		if len(failed) == 1 {
			next.Why = fmt.Sprintf("slot %s failed: %s", failed[0].Name, failed[0].Reason)
		}
		return &next, nil
	})
}

// failedInTurn reports whether a change is the failure of a run that the schedule itself started: nobody asked for it.
func failedInTurn(change landscape.SlotChange) bool {
	return change.To.State == landscape.SlotFailed && change.From.State != landscape.SlotFailed && change.To.Request == ""
}

// failuresInTurn returns the slots, the last first, that are failed since the last one that is done, and whose run failed since somebody last changed the
// schedule, when the schedule itself had started it. Runs that somebody asked for, such as those of a backfill, say nothing about the schedule.
func (k *Keeper) failuresInTurn(ctx context.Context, s *Schedule) ([]landscape.Slot, error) {
	var failed []landscape.Slot
	err := k.Log.LastSlots(ctx, s.ID, func(slot landscape.Slot) bool {
		if slot.State == landscape.SlotFailed && slot.Fired && slot.Changed > s.At {
			failed = append(failed, slot)
		}
		return slot.State != landscape.SlotDone
	})
	if err != nil {
		return nil, err
	}
	var inTurn []landscape.Slot
	for _, slot := range failed {
		events, err := k.Log.SlotEvents(ctx, slot.Schedule, slot.Name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(events, func(e landscape.SlotEvent) bool {
			return e.Event == string(landscape.SlotFailed) && e.Request == "" && e.At > s.At
		}) {
			inTurn = append(inTurn, slot)
		}
	}
	return inTurn, nil
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
