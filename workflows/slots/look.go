package slots

import (
	"context"
	"maps"
	"time"

	"waymark/landscape"
)

// A landscape may have thousands of schedules of which nothing is due. So nobody gives each of them a turn all the
// time: a look reads a little of all, in few statements, and a turn is for those whose time has come, or of which
// something has changed since their last one. Nothing depends on that: what a look overlooks comes later, and what a
// turn does too often changes nothing.

// known is what a process knows of a schedule after a turn in which nothing more was to be done.
type known struct {
	*Schedule
	slots   map[string]int64 // by name, how often the slots had changed that are due or running
	runs    []string         // of what becomes of these, something depends
	busy    bool             // a run is to be looked at now and then, whatever is told of it
	waits   bool             // a slot waits for something other than its time
	next    time.Time        // when there is something to do by the clock; zero for never
	checked time.Time
}

// lost is how often a schedule whose runs go on gets a turn, in case nothing tells what became of them.
const lost = 30 * time.Second

// known returns what is known of the schedule when its ledger is as it should be.
func (s *Schedule) known(l ledger, now time.Time) *known {
	k := &known{Schedule: s, slots: map[string]int64{}, next: s.next(l, now), checked: time.Now()}
	for _, slot := range l.slots {
		switch slot.State {
		case landscape.SlotDue:
			k.slots[slot.Name] = slot.Changes
			asked := l.pause == nil || slot.Request != ""
			k.waits = k.waits || asked && !slot.Ready.Time().After(now)
		case landscape.SlotRunning:
			k.slots[slot.Name] = slot.Changes
			k.busy = true
		}
		if slot.Run != "" {
			k.runs = append(k.runs, slot.Run)
		}
	}
	return k
}

// Forget forgets what the process knows of schedules, because another one looks after them.
func (k *Keeper) Forget() { k.known, k.inTemporal, k.listAgain = nil, nil, time.Time{} }

// look is what is recorded of all schedules.
type look struct {
	rows []landscape.LastRow
	open map[string]map[string]int64 // by schedule and name, how often a slot has changed that is due or running
	told map[string]bool             // runs of which something was told since the last look
	now  time.Time
}

// look reads what is recorded of all schedules. What was told of before counts as known.
func (k *Keeper) look(ctx context.Context) (l look, err error) {
	l = look{open: map[string]map[string]int64{}, told: map[string]bool{}, now: time.Now()}
	if k.known == nil || l.now.Round(0).Before(k.looked.Round(0)) { // somebody set the clock back: what is due by it may be another thing
		head, err := k.Log.OutboxHead(ctx)
		if err != nil {
			return l, err
		}
		k.known, k.events = map[string]*known{}, head.Size
	}
	k.looked = l.now
	if k.events, err = k.Log.RunsSince(ctx, k.events, func(run string) { l.told[run] = true }); err != nil {
		k.known = nil
		return l, err
	}
	if l.rows, err = k.Log.LastSchedules(ctx); err != nil {
		k.known = nil // what was told is not looked at
		return l, err
	}
	err = k.Log.OpenSlots(ctx, func(slot landscape.OpenSlot) {
		if l.open[slot.Schedule] == nil {
			l.open[slot.Schedule] = map[string]int64{}
		}
		l.open[slot.Schedule][slot.Name] = slot.Changes
	})
	if err != nil {
		k.known = nil
	}
	return l, err
}

// stale returns the schedules for which there may be something to do, and forgets what is known of them.
func (k *Keeper) stale(l look) (ids []string) {
	for _, row := range l.rows {
		if before := k.known[row.ID]; before == nil || before.stale(l, row) {
			delete(k.known, row.ID)
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// stale reports whether there may be something to do for the schedule.
func (k *known) stale(l look, row landscape.LastRow) bool {
	if k.Seq != row.Seq || k.waits || !k.next.IsZero() && !k.next.After(l.now) || k.busy && time.Since(k.checked) >= lost {
		return true
	}
	if !maps.Equal(k.slots, l.open[row.ID]) {
		return true
	}
	for _, run := range k.runs {
		if l.told[run] {
			return true
		}
	}
	return false
}
