package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	From     Time               `json:"from"` // the first instant that it covers
	To       Time               `json:"to"`   // the first instant after it
	Due      Time               `json:"due"`
	State    SlotState          `json:"state"`
	Run      string             `json:"run,omitempty"`    // its last run
	Status   pipeline.RunStatus `json:"status,omitempty"` // of that; empty if it is not recorded
	Attempts int64              `json:"attempts"`         // how often a run was begun, or resumed, for it
	Reason   string             `json:"reason,omitempty"` // why it is what it is, or for what it waits
	Actor    string             `json:"actor,omitempty"`  // who asked for it; empty if the schedule rang
	Why      string             `json:"why,omitempty"`    // what that said
	Promised Time               `json:"promised"`         // by when its output is; null for no promise
	Late     Time               `json:"late"`             // when it was found to be late; null if it was not
	slot     landscape.Slot     // as it is recorded, or would be
	fresh    bool               // nothing is recorded of it
}

// SlotState is what became of a slot: a landscape.SlotState, or one of two more.
type SlotState string

// The states of slots of which nothing is recorded.
const (
	SlotNone   SlotState = "none"    // the schedule has never rung for it: it was not there yet
	SlotToCome SlotState = "to_come" // it is not due yet
)

func scheduledSlot(s landscape.Slot) ScheduledSlot {
	return ScheduledSlot{
		Schedule: s.Schedule, Name: s.Name, From: Time(s.From), To: Time(s.To), Due: Time(s.Due), State: SlotState(s.State), Run: s.Run, Attempts: s.Attempts,
		Reason: s.Reason, Promised: Time(s.Deadline), Late: Time(s.Late), slot: s,
	}
}

// complete adds what else is recorded of a slot: its run may have ended, or been resumed, since a worker looked.
func (c *Client) complete(ctx context.Context, s *ScheduledSlot) error {
	if s.slot.Request != "" {
		request, err := c.log.SlotRequest(ctx, s.slot.Request)
		if err != nil {
			return err
		}
		s.Actor, s.Why = request.Actor, request.Why
	}
	if s.Run == "" {
		return nil
	}
	run, err := c.log.Run(ctx, s.Run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return nil
	case err != nil:
		return err
	case Complete(run.Status):
		s.State = SlotState(landscape.SlotDone)
	case run.Status == pipeline.Running && s.State == SlotState(landscape.SlotFailed):
		s.State = SlotState(landscape.SlotRunning)
	}
	s.Status = run.Status
	return nil
}

// Grid is the slots of a schedule over some time.
type Grid struct {
	Schedule
	Slots []ScheduledSlot `json:"slots"` // by when they are due
}

// defaultSlots is how many slots a Grid has if nobody says how far it reaches.
const defaultSlots = 31

// ScheduleGrid returns what became of the slots of a schedule: those that first and last name, and all between. Each is the name of a slot, or a date
// of the schedule's zone; without a first one they are the last 31 that were due, and without a last one they reach until now.
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
	return grid, c.addOthers(ctx, grid)
}

// addOthers adds the slots of the same time that the schedule had before it was changed.
func (c *Client) addOthers(ctx context.Context, grid *Grid) error {
	if len(grid.Slots) == 0 {
		return nil
	}
	has := map[string]bool{}
	for _, cell := range grid.Slots {
		has[cell.Name] = true
	}
	first, last := grid.Slots[0].Due, grid.Slots[len(grid.Slots)-1].Due
	recorded, err := c.log.SlotsBetween(ctx, grid.ID, landscape.Micros(first), landscape.Micros(last)+1)
	if err != nil {
		return err
	}
	for _, slot := range recorded {
		if has[slot.Name] {
			continue
		}
		cell := scheduledSlot(slot)
		if err := c.complete(ctx, &cell); err != nil {
			return err
		}
		grid.Slots = append(grid.Slots, cell)
	}
	slices.SortStableFunc(grid.Slots, func(a, b ScheduledSlot) int { return cmp.Compare(a.Due, b.Due) })
	return nil
}

// slotsOf returns the slots of a range.
func slotsOf(rings *calendar.Schedule, first, last string, now time.Time) (wanted []calendar.Slot, err error) {
	if first == "" && last != "" {
		return nil, invalid("the range names its last slot and not the first")
	}
	if first == "" {
		return lastSlots(rings, now), nil
	}
	from, _, err := bounds(rings, first)
	if err != nil {
		return nil, err
	}
	to := now
	if last != "" {
		if _, to, err = bounds(rings, last); err != nil {
			return nil, err
		}
	}
	if !from.Before(to) {
		return nil, invalid(fmt.Sprintf("the range %s..%s ends before it begins", first, last))
	}
	for slot := range rings.Slots(from, to) {
		if last == "" && slot.Due.After(now) {
			break
		}
		if slot.From.Before(from) || slot.To.After(to) && last != "" {
			continue
		}
		if wanted = append(wanted, slot); len(wanted) > MaxSlots {
			return nil, invalid(fmt.Sprintf("the range %s..%s has more than %d slots: name a shorter one", first, last, MaxSlots))
		}
	}
	return wanted, nil
}

// bounds returns what the name of a slot, or a date, covers.
func bounds(rings *calendar.Schedule, name string) (from, to time.Time, err error) {
	if slot, err := rings.Named(name); err == nil {
		return slot.From, slot.To, nil
	} else if date, noDate := calendar.ParseDate(name); noDate == nil {
		return calendar.At(date, 0, rings.Zone()), calendar.At(date+1, 0, rings.Zone()), nil
	} else {
		return from, to, invalid(err.Error())
	}
}

// lastSlots returns the last slots that were due.
func lastSlots(rings *calendar.Schedule, now time.Time) []calendar.Slot {
	var last []calendar.Slot
	for back := time.Hour; len(last) < defaultSlots && back < 40*366*24*time.Hour; back *= 4 {
		last = nil
		for slot := range rings.Due(now.Add(-back)) {
			if slot.Due.After(now) {
				break
			}
			last = append(last, slot)
		}
	}
	return last[max(len(last)-defaultSlots, 0):]
}

// cells returns what became of slots; it is empty, not nil, if there is none.
func (c *Client) cells(ctx context.Context, schedule *ledger.Schedule, wanted []calendar.Slot, now time.Time) ([]ScheduledSlot, error) {
	cells := make([]ScheduledSlot, len(wanted))
	for i, slot := range wanted {
		var err error
		if cells[i], err = c.cell(ctx, schedule, slot, now); err != nil {
			return nil, err
		}
	}
	return cells, nil
}

func (c *Client) cell(ctx context.Context, schedule *ledger.Schedule, slot calendar.Slot, now time.Time) (ScheduledSlot, error) {
	recorded, err := c.log.Slot(ctx, schedule.ID, slot.Name)
	if errors.Is(err, landscape.ErrNotFound) {
		return freshSlot(schedule, slot, now), nil
	}
	if err != nil {
		return ScheduledSlot{}, err
	}
	cell := scheduledSlot(recorded)
	return cell, c.complete(ctx, &cell)
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
