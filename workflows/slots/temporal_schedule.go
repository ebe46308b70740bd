package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/internal/defect"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
)

// Each schedule has one in Temporal, which fires at the instants that the calendar gives: so clocks that change are no
// matter of Temporal's. It is there for people, too: they see what is due next, and may pause it.

// temporalSchedule is what a process knows of a schedule in Temporal.
type temporalSchedule struct {
	seq   int64     // of the row that Temporal shows
	until time.Time // up to which its instants reach; zero for ever
}

const (
	// instantsAhead is how many instants a schedule in Temporal has.
	instantsAhead = 24
	// syncInterval is how often at most a process looks what people did to schedules in Temporal, and syncRests how
	// many times as long as a look took nobody looks after it: a minute for thousands of them.
	syncInterval = 10 * time.Second
	syncRests    = 600
	// syncTime is how long schedules in Temporal are compared in one go, and syncCall how long one call may take: the time
	// of a slot may come meanwhile. After one that failed nothing is compared for syncInterval.
	syncTime = 500 * time.Millisecond
	syncCall = 3 * time.Second
	// catchupWindow is how long after its time Temporal still fires, if it could not before. One firing makes up for all
	// slots.
	catchupWindow = 10 * time.Minute
)

// TemporalID returns the id that a schedule has in Temporal.
func TemporalID(schedule string) string { return "waymark/" + schedule }

// syncAll makes Temporal fire for what is due next, and takes over what people did to schedules there. Temporal tells
// of all of them at once; each that is not as it should be is compared alone.
func (k *Keeper) syncAll(ctx context.Context) (more bool, err error) {
	if time.Now().Before(k.syncAgain) {
		return false, nil
	}
	defer func() {
		if err != nil {
			k.syncAgain = time.Now().Add(syncInterval)
		}
	}()
	if k.inTemporal == nil {
		k.inTemporal = map[string]temporalSchedule{}
	}
	if begun := time.Now(); !begun.Before(k.listAgain) {
		if err := briefly(ctx, k.list); err != nil {
			return false, fmt.Errorf("list schedules in Temporal: %w", err)
		}
		k.listAgain = time.Now().Add(max(syncInterval, min(syncRests*time.Since(begun), time.Minute)))
	}
	begun := time.Now()
	for id, known := range k.known {
		there, is := k.inTemporal[id]
		if is && there.seq == known.Seq && (there.until.IsZero() || there.until.After(time.Now())) {
			continue
		}
		if more = time.Since(begun) > syncTime; more {
			break
		}
		err := defect.Catch("schedules", func() error {
			return briefly(ctx, func(ctx context.Context) error { return k.syncTemporal(ctx, *known.Schedule) })
		})
		if err != nil {
			return false, fmt.Errorf("schedule %s in Temporal: %w", id, err)
		}
	}
	return more, nil
}

// briefly does something that a Temporal which does not answer keeps no slot waiting for long.
func briefly(ctx context.Context, do func(context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, syncCall)
	defer done()
	return do(ctx)
}

// list forgets what is known of schedules that Temporal does not tell of as the record has them. What it tells may be a
// little old: then one is compared for nothing.
func (k *Keeper) list(ctx context.Context) error {
	all, err := k.Client.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	if err != nil {
		return err
	}
	now := time.Now()
	there := map[string]temporalSchedule{}
	for all.HasNext() {
		entry, err := all.Next()
		if err != nil {
			return err
		}
		id, _ := strings.CutPrefix(entry.ID, TemporalID(""))
		known := k.known[id]
		if known == nil || known.silent() || entry.Paused != known.PausedAt(landscape.MicrosOf(now)) {
			continue
		}
		if shown, is := k.inTemporal[id]; is {
			there[id] = shown
		} else if seq, ours := entryOf(entry.Note); ours { // another process did that
			if n := len(entry.NextActionTimes); n > 0 {
				there[id] = temporalSchedule{seq, entry.NextActionTimes[n-1]}
			}
		}
	}
	for id, known := range k.known {
		if is, as := there[id]; as {
			k.inTemporal[id] = is
		} else if !known.silent() {
			delete(k.inTemporal, id)
		}
	}
	return nil
}

// syncTemporal brings a schedule in Temporal and the record up to each other.
func (k *Keeper) syncTemporal(ctx context.Context, s Schedule) error {
	next, err := k.sync(ctx, &s, time.Now())
	if err == nil {
		k.inTemporal[s.ID] = next
	}
	return err
}

// sync compares the schedule in Temporal with the record, and brings each up to the other.
func (k *Keeper) sync(ctx context.Context, s *Schedule, now time.Time) (temporalSchedule, error) {
	handle := k.Client.ScheduleClient().GetHandle(ctx, TemporalID(s.ID))
	found, err := handle.Describe(ctx)
	switch {
	case cluster.Missing(err) && s.silent():
		return temporalSchedule{seq: s.Seq}, nil
	case cluster.Missing(err):
		return k.create(ctx, s, now)
	case err != nil:
		return temporalSchedule{}, err
	case s.silent():
		if err := handle.Delete(ctx); err != nil && !cluster.Missing(err) {
			return temporalSchedule{}, err
		}
		return temporalSchedule{seq: s.Seq}, nil
	}
	state := found.Schedule.State
	if seq, ours := entryOf(state.Note); !ours && state.Paused != s.PausedAt(landscape.MicrosOf(now)) {
		if err := k.adoptPause(ctx, s, state.Paused, state.Note); err != nil {
			return temporalSchedule{}, err
		}
		row, err := k.Log.Schedule(ctx, s.ID)
		if err != nil {
			return temporalSchedule{}, err
		}
		s.Schedule = row
	} else if ours && seq > s.Seq {
		return temporalSchedule{seq: s.Seq}, nil // somebody knows more; the next look does as well
	}
	return k.update(ctx, handle, s, now)
}

// silent reports whether the schedule fires no more, or never does.
func (s *Schedule) silent() bool { return s.Removed() || !s.Calendar.Timed() }

// adoptPause records that a person paused or resumed the schedule in Temporal.
func (k *Keeper) adoptPause(ctx context.Context, s *Schedule, paused bool, note string) error {
	return k.Log.ChangeSchedule(ctx, s.ID, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		if last.Seq != s.Seq {
			return nil, nil //nolint:nilnil // somebody was first
		}
		next := *last
		next.Action, next.Paused, next.Until, next.Actor, next.Why = landscape.ResumeSchedule, paused, 0, activities.TriggerTemporal, note
		if paused {
			next.Action = landscape.PauseSchedule
		}
		return &next, nil
	})
}

// noteOf says in Temporal who changed the schedule last, and which row of the record that is.
func noteOf(s *Schedule, now time.Time) string {
	word := "set"
	if s.PausedAt(landscape.MicrosOf(now)) {
		word = "paused"
	}
	return fmt.Sprintf("%s by %s: %s (waymark %d)", word, s.Actor, s.Why, s.Seq)
}

// entryOf returns the row of the record that a note tells of, and false for a note that a person wrote.
func entryOf(note string) (seq int64, ours bool) {
	_, end, _ := strings.Cut(note[max(strings.LastIndexByte(note, '('), 0):], "(")
	_, err := fmt.Sscanf(end, "waymark %d)", &seq)
	return seq, err == nil
}

// create makes the schedule in Temporal. It is made again if somebody deleted it in Temporal.
func (k *Keeper) create(ctx context.Context, s *Schedule, now time.Time) (temporalSchedule, error) {
	spec, until := s.temporalSpec(now)
	_, err := k.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: TemporalID(s.ID), Spec: spec, Action: k.onFire(s), Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		CatchupWindow: catchupWindow,
		Note:          noteOf(s, now), Paused: s.PausedAt(landscape.MicrosOf(now)),
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = nil // by another process
	}
	if err == nil {
		k.Logger.Info("schedule made in Temporal", "schedule", s.ID, "temporal_id", TemporalID(s.ID))
	}
	return temporalSchedule{seq: s.Seq, until: until}, err
}

func (k *Keeper) update(ctx context.Context, handle client.ScheduleHandle, s *Schedule, now time.Time) (temporalSchedule, error) {
	spec, until := s.temporalSpec(now)
	err := handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		before := in.Description.Schedule
		if _, ours := entryOf(before.State.Note); !ours && before.State.Paused != s.PausedAt(landscape.MicrosOf(now)) {
			return nil, temporal.ErrSkipScheduleUpdate // a person did something meanwhile; the next look takes that over
		}
		next := before
		next.Spec, next.Action = &spec, k.onFire(s)
		next.State.Note, next.State.Paused = noteOf(s, now), s.PausedAt(landscape.MicrosOf(now))
		return &client.ScheduleUpdate{Schedule: &next}, nil
	}})
	return temporalSchedule{seq: s.Seq, until: until}, err
}

// onFire is what Temporal starts when its schedule fires.
func (k *Keeper) onFire(s *Schedule) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: "fired/" + s.ID, Workflow: FiredName, TaskQueue: k.Queue, Args: []any{FiredInput{Schedule: s.ID}},
		StaticSummary: "schedule " + s.Name + " of " + s.Pipeline,
	}
}

// temporalSpec returns the instants at which the next slots begin, and about the last but some of them.
func (s *Schedule) temporalSpec(now time.Time) (client.ScheduleSpec, time.Time) {
	var instants []time.Time
	for slot := range s.Calendar.Due(now) {
		if !slot.Except && !slices.ContainsFunc(instants, slot.Start.Equal) {
			instants = append(instants, slot.Start)
		}
		if len(instants) == instantsAhead {
			break
		}
	}
	slices.SortFunc(instants, time.Time.Compare)
	spec := client.ScheduleSpec{TimeZoneName: "UTC"}
	for _, at := range instants {
		spec.Calendars = append(spec.Calendars, instantOf(at.UTC()))
	}
	if len(instants) < instantsAhead {
		return spec, time.Time{}
	}
	return spec, instants[instantsAhead/2]
}

// instantOf is the instant as Temporal writes it.
func instantOf(at time.Time) client.ScheduleCalendarSpec {
	one := func(n int) []client.ScheduleRange { return []client.ScheduleRange{{Start: n}} }
	return client.ScheduleCalendarSpec{
		Year: one(at.Year()), Month: one(int(at.Month())), DayOfMonth: one(at.Day()), Hour: one(at.Hour()), Minute: one(at.Minute()), Second: one(at.Second()),
	}
}
