package slots

import (
	"context"
	"time"

	"waymark/internal/failpoint"
	"waymark/landscape"
)

// RecordDue records the slots of a schedule that have become due, as Turn does, and begins nothing.
func RecordDue(ctx context.Context, log *landscape.Log, id string, now time.Time) error {
	for {
		s, history, err := recorded(ctx, log, id)
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
func (s *Schedule) recordDue(ctx context.Context, log *landscape.Log, history []landscape.Schedule, now time.Time) (full bool, err error) {
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
	return len(due) >= mostAtOnce, failpoint.Hit("slot.due")
}
