package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	request  string
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
		Reason: s.Reason, Promised: Time(s.Deadline), Late: Time(s.Late), request: s.Request,
	}
}

// complete adds what else is recorded of a slot: its run may have ended, or been resumed, since a worker looked.
func (c *Client) complete(ctx context.Context, s *ScheduledSlot) error {
	if s.request != "" {
		request, err := c.log.SlotRequest(ctx, s.request)
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
	rings, err := ledger.Calendar(row)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	wanted, err := slotsOf(rings, first, last, now)
	if err != nil {
		return nil, err
	}
	for _, slot := range wanted {
		cell, err := c.cell(ctx, row, slot, now)
		if err != nil {
			return nil, err
		}
		grid.Slots = append(grid.Slots, cell)
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

// cell returns what became of a slot.
func (c *Client) cell(ctx context.Context, row landscape.Schedule, slot calendar.Slot, now time.Time) (ScheduledSlot, error) {
	recorded, err := c.log.Slot(ctx, row.ID, slot.Name)
	if errors.Is(err, landscape.ErrNotFound) {
		fresh, err := ledger.Record(row, slot, false)
		cell := scheduledSlot(fresh)
		cell.State = SlotNone
		if slot.Due.After(now) || slot.Except {
			cell.State = SlotToCome
		}
		if slot.Except {
			cell.State, cell.Reason = SlotState(landscape.SlotSkipped), "the schedule excepts it"
		}
		return cell, err
	}
	if err != nil {
		return ScheduledSlot{}, err
	}
	cell := scheduledSlot(recorded)
	return cell, c.complete(ctx, &cell)
}

// SlotsRequested asks for something about slots of a schedule.
type SlotsRequested struct {
	By
	Schedule string      // NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME
	First    string      // the name of a slot, or a date of the schedule's zone; empty for the slot that was due last
	Last     string      // the same; empty for First
	Only     []SlotState // slots in these states; empty for what the method says
	AtOnce   int         // how many of the runs may go on at a time; 0 for 1
	Version  int64       // of the pipeline, for all of the runs; 0 for the one that is current when each begins
	Again    bool        // a new run, also for a slot that is done
	DryRun   bool        // say what would happen, and change nothing
}

// SlotsAsked is what became of a request.
type SlotsAsked struct {
	Request  string          `json:"request,omitempty"` // its id; empty if nothing was changed
	Action   string          `json:"action"`
	Schedule string          `json:"schedule"`
	Slots    []ScheduledSlot `json:"slots"`  // that it is about, as they were
	Others   []ScheduledSlot `json:"others"` // of the range, that it leaves as they are
	DryRun   bool            `json:"dry_run,omitempty"`
}

// The actions of requests. Stored; never rename.
const (
	actionRun      = "run"
	actionBackfill = "backfill"
	actionRetry    = "retry"
	actionSkip     = "skip"
	actionMakeUp   = "make_up"
)

// unfinished are the states of slots of which no run comes by itself.
var unfinished = []SlotState{SlotNone, SlotState(landscape.SlotMissed), SlotState(landscape.SlotFailed)}

// Backfill asks for runs for the slots of a range that have none, or whose last one failed, unless Only says otherwise; what is done stays. A run
// that can be resumed is. A worker begins them, AtOnce at a time, whatever becomes of the processes meanwhile. The error is an *Error of
// kind Conflict if no slot of the range is one of these.
func (c *Client) Backfill(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	return c.request(ctx, actionBackfill, r, unfinished)
}

// RunSlot asks for the run of one slot. The error is an *Error of kind Conflict if it has one that continues, or is complete, unless Again says so.
func (c *Client) RunSlot(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	only := append(slices.Clone(unfinished), SlotState(landscape.SlotSkipped))
	if r.Again {
		only = append(only, SlotState(landscape.SlotDone))
	}
	return c.request(ctx, actionRun, r, only)
}

// RetrySlots asks for another attempt at the failed slots of a range, or of all. A run that can be resumed is resumed, and begun again otherwise.
func (c *Client) RetrySlots(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	return c.request(ctx, actionRetry, r, []SlotState{SlotState(landscape.SlotFailed)})
}

// SkipSlots records that the slots of a range get no run, also if they are not due yet. The error is an *Error of kind Invalid if Why is empty.
func (c *Client) SkipSlots(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	if err := r.giveWhy(); err != nil {
		return nil, err
	}
	return c.request(ctx, actionSkip, r, append(slices.Clone(unfinished), SlotToCome, SlotState(landscape.SlotDue)))
}

// request changes the slots of a range that are in one of the states, all or none.
func (c *Client) request(ctx context.Context, action string, r SlotsRequested, only []SlotState) (*SlotsAsked, error) {
	row, err := c.findSchedule(ctx, r.Schedule)
	if err == nil {
		err = c.checkRequest(ctx, row, r)
	}
	if err != nil {
		return nil, err
	}
	if len(r.Only) > 0 {
		only = r.Only
	}
	for {
		if err := ledger.RecordDue(ctx, c.log, row.ID, time.Now()); err != nil {
			return nil, err
		}
		asked, err := c.requestOnce(ctx, row, action, r, only)
		if !landscape.Raced(err) {
			return asked, err
		}
	}
}

func (c *Client) checkRequest(ctx context.Context, row landscape.Schedule, r SlotsRequested) error {
	if row.Removed() {
		return c.removed(ctx, row)
	}
	if r.AtOnce < 0 {
		return invalid(fmt.Sprintf("%d runs cannot go on at a time: write 1 or more", r.AtOnce))
	}
	if r.Version == 0 {
		return nil
	}
	_, err := c.findPipeline(ctx, row.Environment, versionName(row.Pipeline, r.Version))
	return err
}

func (c *Client) requestOnce(ctx context.Context, row landscape.Schedule, action string, r SlotsRequested, only []SlotState) (*SlotsAsked, error) {
	cells, err := c.requested(ctx, row, action, r)
	if err != nil {
		return nil, err
	}
	by := r.or(c.Actor)
	request := landscape.SlotRequest{
		ID: newRunID(), Schedule: row.ID, Action: action, AtOnce: int64(max(r.AtOnce, 1)), Version: r.Version, Actor: by.Actor, Why: by.Why,
	}
	asked := &SlotsAsked{Action: action, Schedule: row.ID, Slots: []ScheduledSlot{}, Others: []ScheduledSlot{}, DryRun: r.DryRun}
	var changes []landscape.SlotChange
	for _, cell := range cells {
		if !slices.Contains(only, cell.State) {
			asked.Others = append(asked.Others, cell)
			continue
		}
		asked.Slots = append(asked.Slots, cell)
		change, err := c.slotChange(ctx, row, cell, request, r.Again)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return nil, nothingAsked(row.ID, action, cells, only)
	}
	if r.DryRun {
		return asked, nil
	}
	request.First, request.Last = asked.Slots[0].Name, asked.Slots[len(asked.Slots)-1].Name
	asked.Request = request.ID
	return asked, c.log.ChangeSlots(ctx, &request, changes)
}

// requested returns the slots that a request may be about.
func (c *Client) requested(ctx context.Context, row landscape.Schedule, action string, r SlotsRequested) (cells []ScheduledSlot, err error) {
	if action == actionRetry && r.First == "" {
		failed, err := c.log.SlotsInState(ctx, row.ID, landscape.SlotFailed, 0, false)
		for _, slot := range failed {
			cells = append(cells, scheduledSlot(slot))
		}
		return cells, err
	}
	rings, err := ledger.Calendar(row)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	wanted, err := requestedRange(rings, r, now)
	if err != nil {
		return nil, err
	}
	for _, slot := range wanted {
		cell, err := c.cell(ctx, row, slot, now)
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

func requestedRange(rings *calendar.Schedule, r SlotsRequested, now time.Time) ([]calendar.Slot, error) {
	if r.First != "" {
		last := r.Last
		if last == "" {
			last = r.First
		}
		return slotsOf(rings, r.First, last, now)
	}
	latest, found := rings.Last(now)
	if !found {
		return nil, invalid("no slot of the schedule has been due yet")
	}
	return []calendar.Slot{latest}, nil
}

// slotChange is what the request makes of a slot.
func (c *Client) slotChange(
	ctx context.Context, row landscape.Schedule, cell ScheduledSlot, request landscape.SlotRequest, again bool,
) (landscape.SlotChange, error) {
	from, err := c.log.Slot(ctx, row.ID, cell.Name)
	var change landscape.SlotChange
	if errors.Is(err, landscape.ErrNotFound) {
		change.To, err = c.freshSlot(row, cell.Name)
	} else {
		change.From, change.To = &from, from
	}
	if err != nil {
		return change, err
	}
	to := &change.To
	to.Request, to.Reason = request.ID, ""
	if request.Action == actionSkip {
		to.State, to.Reason = landscape.SlotSkipped, fmt.Sprintf("skipped by %s: %s", request.Actor, request.Why)
		return change, nil
	}
	to.State, to.Ready = landscape.SlotDue, max(to.Due, landscape.MicrosOf(time.Now()))
	if again && to.Run != "" {
		to.Run, to.Seen = newRunID(), 0
	}
	return change, nil
}

func (c *Client) freshSlot(row landscape.Schedule, name string) (landscape.Slot, error) {
	rings, err := ledger.Calendar(row)
	if err != nil {
		return landscape.Slot{}, err
	}
	slot, err := rings.Named(name)
	if err != nil {
		return landscape.Slot{}, err
	}
	return ledger.Record(row, slot, false)
}

// nothingAsked says why no slot is what was asked for.
func nothingAsked(schedule, action string, cells []ScheduledSlot, only []SlotState) error {
	words := make([]string, len(only))
	for i, state := range only {
		words[i] = string(state)
	}
	message := fmt.Sprintf("schedule %s has no slot there to %s: none is %s", schedule, strings.ReplaceAll(action, "_", " "), strings.Join(words, " or "))
	if len(cells) > 0 && cells[0].State == SlotToCome {
		message = fmt.Sprintf("slot %s of schedule %s is not due before %s", cells[0].Name, schedule, cells[0].Due.Time().Format(time.RFC3339))
	} else if len(cells) == 1 {
		message = fmt.Sprintf("slot %s of schedule %s is %s", cells[0].Name, schedule, cells[0].State)
		if cells[0].Run != "" {
			message += ": run " + cells[0].Run
		}
	}
	return &Error{Kind: Conflict, Code: NoSuchSlots, Message: message}
}

// makeUp asks for runs for slots that a schedule missed because it was paused.
func (c *Client) makeUp(ctx context.Context, row landscape.Schedule, up MakeUp, by By) (*SlotsAsked, error) {
	history, err := c.log.ScheduleHistory(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	paused := row.At
	for _, change := range history {
		if change.Action == landscape.PauseSchedule {
			paused = change.At
		}
	}
	missed, err := c.log.SlotsBetween(ctx, row.ID, paused, row.At+1)
	if err != nil {
		return nil, err
	}
	missed = slices.DeleteFunc(missed, func(s landscape.Slot) bool { return s.State != landscape.SlotMissed })
	if up == MakeUpLast {
		missed = missed[max(len(missed)-1, 0):]
	}
	if len(missed) == 0 {
		return nil, nil //nolint:nilnil // nothing was missed
	}
	return c.request(ctx, actionMakeUp, SlotsRequested{By: by, Schedule: row.ID, First: missed[0].Name, Last: missed[len(missed)-1].Name},
		[]SlotState{SlotState(landscape.SlotMissed)})
}
