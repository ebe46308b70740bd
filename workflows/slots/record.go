package slots

import (
	"context"
	"time"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline/calendar"
)

// RecordDue records the slots of a schedule that have become due, as Turn does, and begins nothing.
func RecordDue(ctx context.Context, log *landscape.Log, id string, now time.Time) error {
	for full := true; full; { // each time more of the slots up to now are recorded
		err := landscape.SettleSlots(func() error {
			s, history, err := recorded(ctx, log, id)
			if err == nil {
				full, err = s.recordDue(ctx, log, history, now)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Outlook says what will be recorded of slots that became due while nobody worked for their schedule.
type Outlook struct {
	s       *Schedule
	history []landscape.Schedule
	from    landscape.Micros
	newest  time.Time
	now     time.Time
}

// OutlookOf returns the outlook of a schedule. It reads, and records nothing. The error wraps landscape.ErrNotFound if there is no such schedule.
func OutlookOf(ctx context.Context, log *landscape.Log, id string, now time.Time) (o Outlook, err error) {
	o.now = now
	if o.s, o.history, err = recorded(ctx, log, id); err != nil {
		return o, err
	}
	last, err := lastFired(ctx, log, id)
	newest, _ := o.s.Calendar.Last(now)
	o.from, o.newest = max(o.s.Since, last+1), newest.Due
	return o, err
}

// Outcome returns the state that will be recorded of a slot of which nothing is, and the reason; false if nothing
// will be: it is not due yet, has no time, or the schedule was not there.
func (o Outlook) Outcome(slot calendar.Slot) (state landscape.SlotState, reason string, due bool) {
	if at := landscape.MicrosOf(slot.Due); o.s.Removed() || !o.s.Calendar.Timed() || at < o.from || slot.Due.After(o.now) {
		return "", "", false
	}
	state, reason = o.s.outcome(o.history, slot, o.newest, o.now)
	return state, reason, true
}

// lastFired returns when the last slot was due for which a schedule fired; 0 if it never did.
func lastFired(ctx context.Context, log *landscape.Log, id string) (last landscape.Micros, err error) {
	err = log.LastSlots(ctx, id, func(slot landscape.Slot) bool {
		if slot.Fired {
			last = slot.Due
		}
		return !slot.Fired
	})
	return last, err
}

// recordDue records slots that became due, and reports whether there may be more of them.
func (s *Schedule) recordDue(ctx context.Context, log *landscape.Log, history []landscape.Schedule, now time.Time) (full bool, err error) {
	last, err := lastFired(ctx, log, s.ID)
	if err != nil {
		return false, err
	}
	due, err := s.unrecorded(ctx, log, history, last, now)
	if err != nil {
		return false, err
	}
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
	return len(due) >= mostAtOnce, failpoint.Hit("slot.due")
}

// unrecorded returns what fallDue does, without slots whose names are recorded: somebody asked for one before it was
// due, or it was due at another time before the schedule was edited.
func (s *Schedule) unrecorded(
	ctx context.Context, log *landscape.Log, history []landscape.Schedule, last landscape.Micros, now time.Time,
) ([]landscape.Slot, error) {
	known := map[string]bool{}
	for { // each time more of the slots up to now are known
		due := s.fallDue(history, last, known, now)
		names := make([]string, len(due))
		for i, slot := range due {
			names[i] = slot.Name
		}
		recorded, err := log.SlotsNamed(ctx, s.ID, names)
		if err != nil || len(recorded) == 0 {
			return due, err
		}
		for name := range recorded {
			known[name] = true
		}
	}
}
