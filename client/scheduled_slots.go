package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
	ledger "waymark/workflows/slots"
)

// ScheduledSlot is a slot of time of a schedule, and what became of it.
type ScheduledSlot struct {
	Schedule string             `json:"schedule"`
	Name     string             `json:"slot"`
	Values   map[string]string  `json:"values,omitempty"` // for_each: what it is for beside time
	From     Time               `json:"from"`             // the first instant that it covers
	To       Time               `json:"to"`               // the first instant after it
	Due      Time               `json:"due"`
	State    SlotState          `json:"state"`
	Run      string             `json:"run,omitempty"`    // its last run
	Status   pipeline.RunStatus `json:"status,omitempty"` // of that; empty if it is not recorded
	Paused   *Pause             `json:"paused,omitempty"` // who paused its run, which is running; nil if nobody did
	Attempts int64              `json:"attempts"`         // how often a run was begun, or resumed, for it
	Reason   string             `json:"reason,omitempty"` // why it is what it is, or for what it waits
	Actor    string             `json:"actor,omitempty"`  // who asked for it; empty if the schedule fired
	Why      string             `json:"why,omitempty"`    // what that said
	Promised Time               `json:"promised"`         // by when its output is; null for no promise
	Late     Time               `json:"late"`             // when it was found to be late; null if it was not
	Place    int                `json:"-"`                // in the range that somebody asked for: those of neighbours differ by 1
	slot     landscape.Slot     // as it is recorded, or would be
	fresh    bool               // nothing is recorded of it
}

// SlotState is what became of a slot: a landscape.SlotState, or one of two more.
type SlotState string

// The states of slots of which nothing is recorded.
const (
	SlotNone   SlotState = "none"    // the schedule has never fired for it: it was not there yet
	SlotToCome SlotState = "to_come" // it is not due yet
)

func scheduledSlot(s landscape.Slot) ScheduledSlot {
	return ScheduledSlot{
		Schedule: s.Schedule, Name: s.Name, Values: valuesOf(s.Name), From: Time(s.From), To: Time(s.To), Due: Time(s.Due), State: SlotState(s.State), Run: s.Run, Attempts: s.Attempts,
		Reason: s.Reason, Promised: Time(s.Deadline), Late: Time(s.Late), slot: s,
	}
}

// valuesOf returns the values that the name of a slot has; nil if it has none.
func valuesOf(name string) map[string]string {
	_, values, _ := calendar.SplitName(name)
	if values == nil {
		return nil
	}
	named := map[string]string{}
	for _, value := range values {
		named[value.Name] = value.Text
	}
	return named
}

// complete adds what else is recorded of slots: their runs may have ended, or been resumed, since a worker looked. It
// reads of all of them together, but for what is rare.
func (c *Client) complete(ctx context.Context, slots ...*ScheduledSlot) error {
	var asked, begun []string
	for _, s := range slots {
		asked, begun = append(asked, s.slot.Request), append(begun, s.Run)
	}
	requests, err := c.log.SlotRequests(ctx, asked)
	if err != nil {
		return err
	}
	runs, err := c.log.RunsByID(ctx, begun)
	for _, s := range slots {
		if err != nil {
			return err
		}
		s.Actor, s.Why = requests[s.slot.Request].Actor, requests[s.slot.Request].Why
		if s.Run != "" {
			run, is := runs[s.Run]
			err = c.completeRun(ctx, s, run, is)
		}
	}
	return err
}

// completeRun adds what is recorded of the last run of a slot, if it is.
func (c *Client) completeRun(ctx context.Context, s *ScheduledSlot, run landscape.Run, recorded bool) (err error) {
	if s.State == SlotState(landscape.SlotDue) && s.early() { // the schedule runs it when it is due, whatever became of this run
		s.State = SlotState(landscape.SlotFailed)
	}
	switch {
	case !recorded:
		return c.completeUnbegun(ctx, s)
	case Complete(run.Status):
		s.State = SlotState(landscape.SlotDone)
	case run.Status == pipeline.Running && s.State == SlotState(landscape.SlotFailed):
		s.State = SlotState(landscape.SlotRunning)
	case run.Status != pipeline.Running && s.State == SlotState(landscape.SlotRunning):
		if over, err := c.tried(ctx, s, run.Epoch); err != nil || !over {
			return err
		}
		if before, err := c.failed(ctx, s, run.Reason); err != nil || before {
			return err
		}
	}
	s.Status = run.Status
	if s.State != SlotState(landscape.SlotRunning) {
		return nil
	}
	s.Reason = "" // it waits no more
	running := runOf(run.RunHead)
	if _, err := c.attend(ctx, &running); err != nil {
		return err
	}
	s.Paused, err = c.paused(ctx, &running)
	return err
}

// completeUnbegun adds what became of the start of a run that is not recorded.
func (c *Client) completeUnbegun(ctx context.Context, s *ScheduledSlot) error {
	start, err := c.log.LastStart(ctx, s.Run)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && (s.State != SlotState(landscape.SlotRunning) || start.Decided == 0) {
		return nil
	}
	if over, err := c.tried(ctx, s, 0); err != nil || !over {
		return err
	}
	if start.State == landscape.StartSkipped || start.State == landscape.StartSuperseded {
		s.State, s.Reason = SlotState(landscape.SlotSkipped), start.Reason
		return nil
	}
	_, err = c.failed(ctx, s, start.Reason)
	return err
}

// failed says of a slot that its last run failed: perhaps no worker ever looks. It reports whether the slot had a complete run before, so that it is done.
func (c *Client) failed(ctx context.Context, s *ScheduledSlot, reason string) (before bool, err error) {
	done, err := ledger.DoneBefore(ctx, c.log, s.slot)
	if err != nil {
		return false, err
	}
	if done == "" {
		s.State, s.Reason = SlotState(landscape.SlotFailed), reason
		return false, nil
	}
	s.State, s.Reason, s.Run = SlotState(landscape.SlotDone), ledger.AnotherFailed(s.Run, reason), done
	return true, c.complete(ctx, s)
}

// tried reports whether the last attempt at the run of a slot, which is in this epoch, is recorded: if not, what is recorded is that of the one before.
func (c *Client) tried(ctx context.Context, s *ScheduledSlot, epoch int64) (bool, error) {
	if s.slot.ByHand() {
		return true, nil
	}
	start, err := c.log.LastStart(ctx, s.Run)
	if errors.Is(err, landscape.ErrNotFound) {
		return epoch > s.slot.Seen, nil
	}
	return start.Seq+1+epoch > s.slot.Seen, err
}

// Grid is the slots of a schedule over some time.
type Grid struct {
	Schedule
	Slots []ScheduledSlot `json:"slots"` // by when they are due
}

// defaultSlots is how many slots a Grid has if nobody says how far it reaches.
const defaultSlots = 31

// ScheduleGrid returns what became of the slots of a schedule: those that first and last name, and all between. Each is the name of a slot, or a date
// of the schedule's zone; without a first one they are the last 31 that were due. Without a last one they reach until now, and slots follow that people skipped, or ran, before
// they are due.
func (c *Client) ScheduleGrid(ctx context.Context, word, first, last string) (_ *Grid, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findSchedule(ctx, word)
	if err != nil {
		return nil, err
	}
	grid := &Grid{Slots: []ScheduledSlot{}}
	if grid.Schedule, err = c.schedule(ctx, row); err != nil {
		return nil, err
	}
	known, err := ledger.Read(row)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	wanted, err := slotsOf(known.Calendar, first, last, now)
	if err != nil {
		return nil, err
	}
	if grid.Slots, err = c.cells(ctx, known, wanted, now); err != nil {
		return nil, err
	}
	if err := c.foresee(ctx, grid, wanted, now); err != nil {
		return nil, err
	}
	if err := c.addOthers(ctx, grid, known.Calendar.Timed(), last == "", namedValues(first, last)); err != nil {
		return nil, err
	}
	return grid, c.addWaits(ctx, grid.Slots)
}

// foresee says what will become of the slots, which are the first of the grid, that became due while nobody worked for the schedule.
func (c *Client) foresee(ctx context.Context, grid *Grid, wanted []calendar.Slot, now time.Time) error {
	outlook, err := ledger.OutlookOf(ctx, c.log, grid.ID, now)
	if err != nil {
		return err
	}
	for i, slot := range wanted {
		cell := &grid.Slots[i]
		if cell.State != SlotNone {
			continue
		}
		if state, reason, due := outlook.Outcome(slot); due {
			cell.State, cell.Reason = SlotState(state), reason
		}
	}
	return nil
}

// addWaits says of slots for what their runs wait now, as Queue does: it may have changed since a worker looked.
func (c *Client) addWaits(ctx context.Context, slots []ScheduledSlot) error {
	waits := func(s ScheduledSlot) bool { return s.State == SlotState(landscape.SlotRunning) && s.Status == "" }
	if !slices.ContainsFunc(slots, waits) {
		return nil
	}
	queue, err := c.Queue(ctx)
	if err != nil {
		return err
	}
	reasons := map[string]string{}
	for _, waiting := range queue {
		reasons[waiting.Run] = waiting.Reason
	}
	for i := range slots {
		if waits(slots[i]) {
			slots[i].Reason = reasons[slots[i].Run]
		}
	}
	return nil
}

// namedValues returns the values that the ends of a range name, of which slotsOf found nothing wrong.
func namedValues(first, last string) []calendar.Value {
	_, values, _ := calendar.SplitName(first)
	_, others, _ := calendar.SplitName(last)
	return append(values, others...)
}

// addOthers adds the slots of the same time, and of the values, that the schedule had before it was changed and, of a grid without an end, those to come
// of which something is recorded.
func (c *Client) addOthers(ctx context.Context, grid *Grid, timed, open bool, values []calendar.Value) error {
	has := map[string]bool{}
	for _, cell := range grid.Slots {
		has[cell.Name] = true
	}
	first, last := Time(0), Time(math.MaxInt64-1)
	switch {
	case !timed:
	case len(grid.Slots) > 0:
		first = grid.Slots[0].Due
		if !open {
			last = grid.Slots[len(grid.Slots)-1].Due
		}
	case !open:
		return nil
	default:
		first = Time(landscape.MicrosOf(time.Now()))
	}
	recorded, err := c.log.SlotsBetween(ctx, grid.ID, landscape.Micros(first), landscape.Micros(last)+1)
	if err != nil {
		return err
	}
	before := len(grid.Slots)
	for _, slot := range recorded {
		if !has[slot.Name] && (calendar.Slot{Part: calendar.PartOf(slot.Name)}).Has(values) {
			grid.Slots = append(grid.Slots, scheduledSlot(slot))
		}
	}
	others := grid.Slots[before:]
	add := make([]*ScheduledSlot, len(others))
	for i := range others {
		add[i] = &others[i]
	}
	if err := c.complete(ctx, add...); err != nil {
		return err
	}
	if timed {
		slices.SortStableFunc(grid.Slots, func(a, b ScheduledSlot) int { return cmp.Compare(a.Due, b.Due) })
	}
	return nil
}

// slotsOf returns the slots of a range. Of values it has those that its ends name, which is all if they name none.
func slotsOf(times *calendar.Schedule, first, last string, now time.Time) (wanted []calendar.Slot, err error) {
	if first == "" && last != "" {
		return nil, invalid("the range names its last slot and not the first")
	}
	if first == "" && times.Timed() {
		return lastSlots(times, now), nil
	}
	r, err := rangeOf(times, first, last, now)
	if err != nil {
		return nil, err
	}
	for slot := range r.slots(times, now) {
		if !slot.Has(r.values) {
			continue
		}
		if wanted = append(wanted, slot); len(wanted) > MaxSlots {
			return nil, invalid(fmt.Sprintf("the range %s..%s has more than %d slots: name a shorter one", first, last, MaxSlots))
		}
	}
	return wanted, nil
}

// slotRange is slots from one to another.
type slotRange struct {
	from, to time.Time
	open     bool // it ends with the slot that was due last
	values   []calendar.Value
}

// rangeOf returns the range between two names of slots, or dates; up to the slot that was due last without a last one.
func rangeOf(times *calendar.Schedule, first, last string, now time.Time) (r slotRange, err error) {
	begins, values, err := calendar.SplitName(first)
	if err != nil {
		return r, invalid(err.Error())
	}
	ends, others, err := calendar.SplitName(last)
	if err != nil {
		return r, invalid(err.Error())
	}
	if values != nil && others != nil && !slices.Equal(values, others) {
		return r, invalid(fmt.Sprintf("the range %s..%s names two values: name one at a time, or none for all", first, last))
	}
	r = slotRange{to: now, open: last == "", values: append(values[:len(values):len(values)], others...)}
	if err := times.Knows(r.values); err != nil {
		return r, invalid(err.Error())
	}
	if !times.Timed() {
		if begins+ends != "" {
			return r, invalid(fmt.Sprintf("%q is not the name of a slot: those of the schedule have no time", cmp.Or(begins, ends)))
		}
		return r, nil
	}
	if begins == "" || last != "" && ends == "" {
		return r, invalid(fmt.Sprintf("the range %s..%s does not say from when to when, as 2026-11-01..2026-11-30/tenant=acme does", first, last))
	}
	if r.from, _, err = bounds(times, begins); err != nil {
		return r, err
	}
	if last != "" {
		if _, r.to, err = bounds(times, ends); err != nil {
			return r, err
		}
	}
	if !r.from.Before(r.to) {
		return r, invalid(fmt.Sprintf("the range %s..%s ends before it begins", first, last))
	}
	return r, nil
}

// slots yields the slots of the range, of all values.
func (r slotRange) slots(times *calendar.Schedule, now time.Time) iter.Seq[calendar.Slot] {
	if !times.Timed() {
		return slices.Values(times.Parts(now))
	}
	return func(yield func(calendar.Slot) bool) {
		for slot := range times.Slots(r.from, r.to) {
			if r.open && slot.Due.After(now) {
				return
			}
			if slot.From.Before(r.from) || slot.To.After(r.to) && !r.open {
				continue
			}
			if !yield(slot) {
				return
			}
		}
	}
}

// bounds returns what the name of a slot, or a date, covers.
func bounds(times *calendar.Schedule, name string) (from, to time.Time, err error) {
	if slot, err := times.Interval(name); err == nil {
		return slot.From, slot.To, nil
	} else if date, noDate := calendar.ParseDate(name); noDate == nil {
		return calendar.At(date, 0, times.Zone()), calendar.At(date+1, 0, times.Zone()), nil
	} else {
		return from, to, invalid(err.Error())
	}
}

// lastSlots returns the last slots that were due.
func lastSlots(times *calendar.Schedule, now time.Time) []calendar.Slot {
	most := min(defaultSlots*times.PartsOfTime(), MaxSlots)
	var last []calendar.Slot
	for back := time.Hour; len(last) < most && back < 40*366*24*time.Hour; back *= 4 {
		last = nil
		for slot := range times.Due(now.Add(-back)) {
			if slot.Due.After(now) {
				break
			}
			last = append(last, slot)
		}
	}
	return last[max(len(last)-most, 0):]
}

// cells returns what became of slots; it is empty, not nil, if there is none.
func (c *Client) cells(ctx context.Context, schedule *ledger.Schedule, wanted []calendar.Slot, now time.Time) ([]ScheduledSlot, error) {
	recorded, err := c.recordedSlots(ctx, schedule, wanted)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, slot := range wanted {
		if _, is := recorded[slot.Name]; !is {
			others = append(others, slot.Name)
		}
	}
	moved, err := c.log.SlotsNamed(ctx, schedule.ID, others) // which were due at other times, by older versions
	if err != nil {
		return nil, err
	}
	maps.Copy(recorded, moved)
	cells := make([]ScheduledSlot, len(wanted))
	var known []*ScheduledSlot
	for i, slot := range wanted {
		if row, is := recorded[slot.Name]; is {
			cells[i] = scheduledSlot(row)
			known = append(known, &cells[i])
		} else {
			cells[i] = freshSlot(schedule, slot, now)
		}
		cells[i].Place = i
	}
	return cells, c.complete(ctx, known...)
}

// recordedSlots returns what is recorded of slots, by their names: all of one moment, or else more runs would seem to execute at once than ever did.
func (c *Client) recordedSlots(ctx context.Context, schedule *ledger.Schedule, wanted []calendar.Slot) (map[string]landscape.Slot, error) {
	first, last := landscape.Micros(math.MaxInt64), landscape.Micros(0)
	for _, slot := range wanted {
		due := landscape.MicrosOf(slot.Due)
		first, last = min(first, due), max(last, due)
	}
	if !schedule.Calendar.Timed() { // they are due when somebody asks for them
		first, last = 0, math.MaxInt64-1
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	rows, err := c.log.SlotsBetween(ctx, schedule.ID, first, last+1)
	recorded := map[string]landscape.Slot{}
	for _, row := range rows {
		recorded[row.Name] = row
	}
	return recorded, err
}

// freshSlot is a slot of which nothing is recorded.
func freshSlot(schedule *ledger.Schedule, slot calendar.Slot, now time.Time) ScheduledSlot {
	cell := scheduledSlot(schedule.Record(slot, false))
	cell.fresh, cell.State = true, SlotNone
	switch {
	case slot.Except:
		cell.State, cell.Reason = SlotState(landscape.SlotSkipped), ledger.Excepted
	case slot.Due.After(now):
		cell.State = SlotToCome
	}
	return cell
}
