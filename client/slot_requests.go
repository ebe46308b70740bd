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
	"waymark/pipeline/calendar"
	ledger "waymark/workflows/slots"
)

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

	ranged bool // of slots that have a time, First must be given
}

// SlotsAsked is what became of a request. Without Slots, what it asks for is so already, and nothing was changed.
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

// provided are the states of slots that have their run, or get it.
var provided = []SlotState{SlotState(landscape.SlotDue), SlotState(landscape.SlotRunning), SlotState(landscape.SlotDone)}

// settled are the states of slots that have what an action asks for.
var settled = map[string][]SlotState{
	actionRun: provided, actionRetry: provided, actionMakeUp: provided,
	actionBackfill: append(slices.Clone(provided), SlotState(landscape.SlotSkipped)),
	actionSkip:     {SlotState(landscape.SlotSkipped)},
}

// Backfill asks for runs for the slots of a range that have none, or whose last one failed, unless Only says otherwise; what is done stays. A run
// that can be resumed is. A worker begins them, AtOnce at a time, whatever becomes of the processes meanwhile. If all are done, or somebody asked
// for them, nothing is changed. The error is an *Error of kind Conflict if no slot of the range is due yet.
func (c *Client) Backfill(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	r.ranged = true
	return c.request(ctx, actionBackfill, r, unfinished)
}

// RunSlot asks for the run of one slot. If that has one that is to begin, continues or is complete, nothing is changed. With Again, a slot whose run is
// complete gets another one, and the error is an *Error of kind Conflict if it is not complete.
func (c *Client) RunSlot(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	only := append(slices.Clone(unfinished), SlotState(landscape.SlotSkipped))
	if r.Again {
		only = append(only, SlotState(landscape.SlotDone))
	}
	return c.request(ctx, actionRun, r, only)
}

// RetrySlots asks for another attempt at the failed slots of a range, or of all. A run that can be resumed is resumed, and begun again otherwise. If
// none failed, nothing is changed. The error is an *Error of kind Conflict if a slot of the range has no run.
func (c *Client) RetrySlots(ctx context.Context, r SlotsRequested) (_ *SlotsAsked, err error) {
	defer c.edge(ctx, &err)
	return c.request(ctx, actionRetry, r, []SlotState{SlotState(landscape.SlotFailed)})
}

// SkipSlots records that the slots of a range get no run, also if they are not due yet. If all are skipped, nothing is changed. The error is an *Error of
// kind Invalid if Why is empty, and of kind Conflict if a slot has its run.
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
	if err := ledger.RecordDue(ctx, c.log, row.ID, time.Now()); err != nil {
		return nil, err
	}
	var asked *SlotsAsked
	err = landscape.SettleSlots(func() (err error) {
		asked, err = c.requestOnce(ctx, row, action, r, only)
		return err
	})
	return asked, err
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
		ID: NewRunID(), Schedule: row.ID, Action: action, AtOnce: int64(max(r.AtOnce, 1)), Version: r.Version, Actor: by.Actor, Why: by.Why,
	}
	asked := &SlotsAsked{Action: action, Schedule: row.ID, Slots: []ScheduledSlot{}, Others: []ScheduledSlot{}, DryRun: r.DryRun}
	var changes []landscape.SlotChange
	for _, cell := range cells {
		if !slices.Contains(only, cell.State) || action != actionSkip && cell.early() {
			asked.Others = append(asked.Others, cell)
			continue
		}
		asked.Slots = append(asked.Slots, cell)
		changes = append(changes, slotChange(cell, request, r.Again))
	}
	if len(changes) == 0 && !isSettled(action, cells, r.Again) {
		return nil, nothingAsked(row.ID, action, cells)
	}
	if r.DryRun || len(changes) == 0 {
		return asked, nil
	}
	request.First, request.Last = asked.Slots[0].Name, asked.Slots[len(asked.Slots)-1].Name
	asked.Request = request.ID
	return asked, c.log.ChangeSlots(ctx, &request, changes)
}

// isSettled reports whether the slots have what the action asks for. A retry of all failed slots that finds none has nothing to do.
func isSettled(action string, cells []ScheduledSlot, again bool) bool {
	unsettled := func(cell ScheduledSlot) bool {
		return !slices.Contains(settled[action], cell.State) || action != actionSkip && cell.early()
	}
	return !again && (len(cells) > 0 || action == actionRetry) && !slices.ContainsFunc(cells, unsettled)
}

// requested returns the slots that a request may be about.
func (c *Client) requested(ctx context.Context, row landscape.Schedule, action string, r SlotsRequested) (cells []ScheduledSlot, err error) {
	if action == actionRetry && r.First == "" {
		failed, err := c.log.SlotsInState(ctx, row.ID, landscape.SlotFailed, 0, false)
		return apart(failed), err
	}
	known, err := ledger.Read(row)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	wanted, err := requestedRange(known.Calendar, r, now)
	if err != nil {
		return c.formerSlot(ctx, row.ID, r, err)
	}
	return c.cells(ctx, known, wanted, now)
}

// formerSlot returns the slot that a request names, if the schedule had it before it was edited. Else the error is wrong,
// which says what is wrong with the name.
func (c *Client) formerSlot(ctx context.Context, schedule string, r SlotsRequested, wrong error) ([]ScheduledSlot, error) {
	if r.First == "" || cmp.Or(r.Last, r.First) != r.First {
		return nil, wrong
	}
	recorded, err := c.log.Slot(ctx, schedule, r.First)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	cells := []ScheduledSlot{scheduledSlot(recorded)}
	return cells, c.complete(ctx, &cells[0])
}

// apart returns slots of which others may be between two: neighbours are those of the same values of which one begins where the other ends.
func apart(slots []landscape.Slot) (cells []ScheduledSlot) {
	for i, slot := range slots {
		cell := scheduledSlot(slot)
		cell.Place = 2 * i
		if last := i - 1; last >= 0 && slots[last].To == slot.From && calendar.PartOf(slots[last].Name) == calendar.PartOf(slot.Name) {
			cell.Place = cells[last].Place + 1
		}
		cells = append(cells, cell)
	}
	return cells
}

func requestedRange(times *calendar.Schedule, r SlotsRequested, now time.Time) ([]calendar.Slot, error) {
	if r.First != "" || !times.Timed() {
		return slotsOf(times, r.First, cmp.Or(r.Last, r.First), now)
	}
	if r.ranged {
		return nil, invalid("say which slots: a range such as 2026-10-01..2026-10-31, or one slot")
	}
	latest, found := times.Last(now)
	if !found {
		return nil, invalid("no slot of the schedule has been due yet")
	}
	return times.Next(latest.Due), nil
}

// slotChange is what the request makes of a slot.
func slotChange(cell ScheduledSlot, request landscape.SlotRequest, again bool) landscape.SlotChange {
	change := landscape.SlotChange{To: cell.slot}
	if !cell.fresh {
		change.From = &cell.slot
	}
	to := &change.To
	to.Request, to.Reason = request.ID, ""
	if request.Action == actionSkip {
		to.State, to.Reason = landscape.SlotSkipped, fmt.Sprintf("skipped by %s: %s", request.Actor, request.Why)
		return change
	}
	to.State, to.Ready = landscape.SlotDue, max(to.Due, landscape.MicrosOf(time.Now()))
	if again && to.Run != "" {
		to.Run, to.Seen = NewRunID(), 0
	}
	return change
}

// early reports whether the slot is not due yet, whatever was recorded about it before, such as that it gets no run.
func (s ScheduledSlot) early() bool { return s.Due.Time().After(time.Now()) }

// nothingAsked says why no slot is what was asked for.
func nothingAsked(schedule, action string, cells []ScheduledSlot) error {
	if len(cells) == 0 {
		return &Error{Kind: Conflict, Code: NoSuchSlots, Message: fmt.Sprintf("schedule %s has no slots in the range", schedule)}
	}
	message := fmt.Sprintf("schedule %s has no slot there to %s: they are %s", schedule, strings.ReplaceAll(action, "_", " "), strings.Join(statesOf(cells), " or "))
	if cells[0].early() {
		message = fmt.Sprintf("slot %s of schedule %s is not due before %s", cells[0].Name, schedule, cells[0].Due.Time().Format(time.RFC3339))
	} else if len(cells) == 1 {
		message = fmt.Sprintf("slot %s of schedule %s is %s", cells[0].Name, schedule, statesOf(cells)[0])
		if cells[0].Run != "" {
			message += ": run " + cells[0].Run
		}
	}
	return &Error{Kind: Conflict, Code: NoSuchSlots, Message: message}
}

// statesOf returns the states in which some of the slots are, in words.
func statesOf(cells []ScheduledSlot) (states []string) {
	for _, cell := range cells {
		state := strings.ReplaceAll(string(cell.State), "_", " ")
		if cell.State == SlotNone {
			state = "without a run"
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	return states
}

// makeUp asks for runs for slots that a schedule missed because it was paused.
func (c *Client) makeUp(ctx context.Context, row landscape.Schedule, up MakeUp, by By) (*SlotsAsked, error) {
	history, err := c.log.ScheduleHistory(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	pause := ledger.PauseOf(history)
	missed, err := c.log.SlotsBetween(ctx, row.ID, pause.At, row.At+1)
	if err != nil {
		return nil, err
	}
	missed = slices.DeleteFunc(missed, func(s landscape.Slot) bool { return s.State != landscape.SlotMissed })
	if len(missed) == 0 {
		return nil, nil //nolint:nilnil // nothing was missed
	}
	first, _, err := calendar.SplitName(missed[0].Name)
	if err != nil {
		return nil, err
	}
	last, _, err := calendar.SplitName(missed[len(missed)-1].Name)
	if err != nil {
		return nil, err
	}
	if up == MakeUpLast {
		first = last
	}
	return c.request(ctx, actionMakeUp, SlotsRequested{By: by, Schedule: row.ID, First: first, Last: last},
		[]SlotState{SlotState(landscape.SlotMissed)})
}
