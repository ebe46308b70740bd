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
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
)

// Each schedule has one in Temporal, which rings at the instants that the calendar gives: so clocks that change are no matter of Temporal's. It is
// there for people, too: they see what is due next, and may pause it.

// alarm is what a process knows of a schedule in Temporal.
type alarm struct {
	seq    int64     // of the row that Temporal shows
	until  time.Time // up to which its instants reach
	looked time.Time
}

const (
	// instantsAhead is for how many slots an alarm is set.
	instantsAhead = 24
	// alarmInterval is how often a process looks what people did to an alarm.
	alarmInterval = 10 * time.Second
	// ringWindow is how long after its time Temporal still rings, if it could not before. One ring makes up for all slots.
	ringWindow = 10 * time.Minute
)

// AlarmID returns the id that a schedule has in Temporal.
func AlarmID(schedule string) string { return "waymark/" + schedule }

// setAlarm makes Temporal ring for what is due next, and takes over what a person did to the alarm there.
func (k *Keeper) setAlarm(ctx context.Context, id string) error {
	row, err := k.Log.Schedule(ctx, id)
	if err != nil {
		return err
	}
	now := time.Now()
	known, is := k.alarms[id]
	fresh := is && known.seq == row.Seq && now.Sub(known.looked) < alarmInterval
	if fresh && (known.until.IsZero() || known.until.After(now)) {
		return nil
	}
	s, err := Read(row)
	if err != nil {
		return err
	}
	next, err := k.sync(ctx, s, now)
	if err != nil {
		return err
	}
	if k.alarms == nil {
		k.alarms = map[string]alarm{}
	}
	next.looked = now
	k.alarms[id] = next
	return nil
}

// sync compares the alarm in Temporal with the record, and brings each up to the other.
func (k *Keeper) sync(ctx context.Context, s *Schedule, now time.Time) (alarm, error) {
	handle := k.Client.ScheduleClient().GetHandle(ctx, AlarmID(s.ID))
	found, err := handle.Describe(ctx)
	switch {
	case cluster.Missing(err) && s.silent():
		return alarm{seq: s.Seq}, nil
	case cluster.Missing(err):
		return k.create(ctx, s, now)
	case err != nil:
		return alarm{}, err
	case s.silent():
		if err := handle.Delete(ctx); err != nil && !cluster.Missing(err) {
			return alarm{}, err
		}
		return alarm{seq: s.Seq}, nil
	}
	state := found.Schedule.State
	if seq, ours := noted(state.Note); !ours && state.Paused != s.PausedAt(landscape.MicrosOf(now)) {
		if err := k.adoptPause(ctx, s, state.Paused, state.Note); err != nil {
			return alarm{}, err
		}
		row, err := k.Log.Schedule(ctx, s.ID)
		if err != nil {
			return alarm{}, err
		}
		s.Schedule = row
	} else if ours && seq > s.Seq {
		return alarm{seq: s.Seq}, nil // somebody knows more; the next look does as well
	}
	return k.update(ctx, handle, s, now)
}

// silent reports whether the schedule rings no more, or never does.
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

// noted returns the row of the record that a note tells of, and false for a note that a person wrote.
func noted(note string) (seq int64, ours bool) {
	_, end, _ := strings.Cut(note[max(strings.LastIndexByte(note, '('), 0):], "(")
	_, err := fmt.Sscanf(end, "waymark %d)", &seq)
	return seq, err == nil
}

// create makes the alarm. It is made again if somebody deleted it in Temporal.
func (k *Keeper) create(ctx context.Context, s *Schedule, now time.Time) (alarm, error) {
	spec, until := s.alarmSpec(now)
	_, err := k.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: AlarmID(s.ID), Spec: spec, Action: k.ring(s), Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL, CatchupWindow: ringWindow,
		Note: noteOf(s, now), Paused: s.PausedAt(landscape.MicrosOf(now)),
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = nil // by another process
	}
	if err == nil {
		k.Logger.Info("alarm set in Temporal", "schedule", s.ID, "alarm", AlarmID(s.ID))
	}
	return alarm{seq: s.Seq, until: until}, err
}

func (k *Keeper) update(ctx context.Context, handle client.ScheduleHandle, s *Schedule, now time.Time) (alarm, error) {
	spec, until := s.alarmSpec(now)
	err := handle.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
		before := in.Description.Schedule
		if _, ours := noted(before.State.Note); !ours && before.State.Paused != s.PausedAt(landscape.MicrosOf(now)) {
			return nil, temporal.ErrSkipScheduleUpdate // a person did something meanwhile; the next look takes that over
		}
		next := before
		next.Spec, next.Action = &spec, k.ring(s)
		next.State.Note, next.State.Paused = noteOf(s, now), s.PausedAt(landscape.MicrosOf(now))
		return &client.ScheduleUpdate{Schedule: &next}, nil
	}})
	return alarm{seq: s.Seq, until: until}, err
}

// ring is what Temporal starts when the alarm rings.
func (k *Keeper) ring(s *Schedule) *client.ScheduleWorkflowAction {
	return &client.ScheduleWorkflowAction{
		ID: "ring/" + s.ID, Workflow: RingName, TaskQueue: k.Queue, Args: []any{RingInput{Schedule: s.ID}},
		StaticSummary: "schedule " + s.Name + " of " + s.Pipeline,
	}
}

// alarmSpec returns the instants at which the next slots begin, and about the last but some of them.
func (s *Schedule) alarmSpec(now time.Time) (client.ScheduleSpec, time.Time) {
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
