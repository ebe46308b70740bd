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
	"waymark/workflows/slots"
)

// Schedule is a schedule of a deployed pipeline.
type Schedule struct {
	ID          string                   `json:"schedule"` // ENVIRONMENT/PIPELINE/NAME
	Environment string                   `json:"environment"`
	Pipeline    string                   `json:"pipeline"`
	Name        string                   `json:"name"`
	Origin      landscape.ScheduleOrigin `json:"origin"`            // whether it is the document's, or was made by command
	Version     int64                    `json:"version"`           // of the pipeline, that has it as it is; the one that was current when a command made it
	Removed     bool                     `json:"removed"`           // the current version does not have it, or somebody deleted it
	Deleted     bool                     `json:"deleted,omitempty"` // somebody did; it was made by command
	Zone        string                   `json:"zone"`              // whose clocks it goes by; empty for slots without time
	Next        Time                     `json:"next"`              // when the next run is to begin; null if it is removed or paused without an end
	NextSlot    string                   `json:"next_slot"`         // the slot of that; empty if there is none
	Last        *ScheduledSlot           `json:"last"`              // the slot that was due last; null if there is none
	Paused      bool                     `json:"paused"`            // now
	Until       Time                     `json:"until"`             // when that ends by itself; null for never
	Actor       string                   `json:"actor"`             // who paused it, or else changed it last
	Why         string                   `json:"why,omitempty"`     // what that said
	Since       Time                     `json:"since"`             // when that was
	row         landscape.Schedule
}

// ScheduleOrder is what became of an order about a schedule.
type ScheduleOrder struct {
	Schedule
	Changed bool `json:"changed"` // else it was so already
}

// ScheduleResumed is what resuming a schedule did.
type ScheduleResumed struct {
	ScheduleOrder
	MadeUp *SlotsAsked `json:"made_up"` // which slots that it missed get a run; nil if none does
}

// ScheduleChange is a change of a schedule, or a request about its slots, which leaves the schedule as it is.
type ScheduleChange struct {
	Schedule string                   `json:"schedule"`
	Seq      int64                    `json:"seq"`               // of the change; 0 for a request
	Request  string                   `json:"request,omitempty"` // id of the request; empty for a change
	Action   string                   `json:"action"`            // a landscape.ScheduleAction, or run, backfill, retry, skip or make_up
	First    string                   `json:"first,omitempty"`   // slot of the request
	Last     string                   `json:"last,omitempty"`
	AtOnce   int64                    `json:"at_once,omitempty"` // how many of its runs may go on at a time
	Again    bool                     `json:"again,omitempty"`   // the slot had a run, and was to get another one
	Version  int64                    `json:"version"`           // of a request: for all its runs; 0 for the one that is current when each begins
	Origin   landscape.ScheduleOrigin `json:"origin,omitempty"`
	Paused   bool                     `json:"paused"`
	Until    Time                     `json:"until"`
	Actor    string                   `json:"actor"`
	Why      string                   `json:"why,omitempty"`
	At       Time                     `json:"at"`
}

// Schedules returns the schedules of pipelines that are deployed in an environment, or in all for an empty one, by id, without those that were removed; it
// is empty, not nil, if there is none.
func (c *Client) Schedules(ctx context.Context, environment string) ([]Schedule, error) {
	return c.SchedulesAfter(ctx, environment, DeployedPage{})
}

// DeployedPage says which schedules, or which pipelines, a list has of those that are deployed.
type DeployedPage struct {
	After string                     // the id of a schedule, or the name of a pipeline: only those that come after it
	Limit int                        // at most so many; 0 for all
	Sees  func(pipeline string) bool // whether a pipeline, and its schedules, are listed; nil for all
}

// has reports whether the list may have something about a pipeline.
func (p DeployedPage) has(pipeline string) bool { return p.Sees == nil || p.Sees(pipeline) }

// SchedulesAfter is Schedules for a part of the list.
func (c *Client) SchedulesAfter(ctx context.Context, environment string, page DeployedPage) (list []Schedule, err error) {
	defer c.edge(ctx, &err)
	var wanted [][]landscape.Schedule
	err = c.log.ScheduleHistories(ctx, page.After, func(history []landscape.Schedule) bool {
		last := history[len(history)-1]
		if !last.Removed() && (environment == "" || last.Environment == environment) && page.has(last.Pipeline) {
			wanted = append(wanted, history)
		}
		return page.Limit == 0 || len(wanted) < page.Limit
	})
	if err != nil {
		return nil, err
	}
	return c.schedules(ctx, wanted)
}

// Schedule returns the schedule that word means: NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME. The error is an *Error of kind NotFound if there is
// none, and Invalid if there are several.
func (c *Client) Schedule(ctx context.Context, word string) (_ Schedule, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findSchedule(ctx, word)
	if err != nil {
		return Schedule{}, err
	}
	return c.schedule(ctx, row)
}

// ScheduleID returns the id of the schedule that word means, of those in an environment, or in all for an empty one. Every method takes it for a word. The
// errors are those of Schedule.
func (c *Client) ScheduleID(ctx context.Context, environment, word string) (_ string, err error) {
	defer c.edge(ctx, &err)
	row, err := c.scheduleIn(ctx, environment, word)
	return row.ID, err
}

// findSchedule returns the last row of the schedule that word means.
func (c *Client) findSchedule(ctx context.Context, word string) (landscape.Schedule, error) {
	return c.scheduleIn(ctx, "", word)
}

// scheduleIn is findSchedule for those in an environment, or in all for an empty one.
func (c *Client) scheduleIn(ctx context.Context, environment, word string) (landscape.Schedule, error) {
	if in, _, _ := strings.Cut(word, "/"); strings.Count(word, "/") == 2 && (environment == "" || environment == in) {
		if row, err := c.log.Schedule(ctx, word); !errors.Is(err, landscape.ErrNotFound) {
			return row, err
		}
	}
	rows, err := c.log.Schedules(ctx)
	if err != nil {
		return landscape.Schedule{}, err
	}
	var found []landscape.Schedule
	var removed *landscape.Schedule
	for i, row := range rows {
		switch {
		case environment != "" && row.Environment != environment:
		case row.ID != word && !strings.HasSuffix(row.ID, "/"+word):
		case row.Removed():
			removed = &rows[i]
		default:
			found = append(found, row)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return landscape.Schedule{}, ambiguousSchedule(word, found)
	case removed != nil:
		return *removed, nil
	}
	whose := "deployed pipeline"
	if environment != "" {
		whose = "pipeline deployed in " + environment
	}
	message := fmt.Sprintf("no %s has a schedule %q, as far as %s says", whose, word, c.place)
	return landscape.Schedule{}, &Error{Kind: NotFound, Code: ScheduleNotFound, Message: message, Cure: ListSchedules, Err: landscape.ErrNotFound}
}

// ambiguousSchedule refuses a word that means several schedules.
func ambiguousSchedule(word string, found []landscape.Schedule) error {
	ids := make([]string, len(found))
	for i, row := range found {
		ids[i] = row.ID
	}
	last := len(ids) - 1
	message := fmt.Sprintf("%q means %d schedules: write %s or %s", word, len(ids), strings.Join(ids[:last], ", "), ids[last])
	return &Error{Kind: Invalid, Code: AmbiguousSchedule, Message: message}
}

// schedule returns what is recorded of a schedule, of which this is the last row.
func (c *Client) schedule(ctx context.Context, row landscape.Schedule) (s Schedule, err error) {
	history := []landscape.Schedule{row}
	if row.Paused {
		if history, err = c.log.ScheduleHistory(ctx, row.ID); err != nil {
			return s, err
		}
	}
	list, err := c.schedules(ctx, [][]landscape.Schedule{history})
	if err != nil {
		return s, err
	}
	return list[0], nil
}

// schedules returns what is recorded of schedules, in their order, of each of which the last row is known, and all of
// them if it is paused. It reads of all of them together.
func (c *Client) schedules(ctx context.Context, histories [][]landscape.Schedule) ([]Schedule, error) {
	ids := make([]string, len(histories))
	for i, history := range histories {
		ids[i] = history[0].ID
	}
	now := time.Now()
	recorded, err := c.log.SlotsSince(ctx, ids, landscape.MicrosOf(now))
	if err != nil {
		return nil, err
	}
	list := make([]Schedule, len(histories))
	var last []*ScheduledSlot
	for i, history := range histories {
		if list[i], err = scheduleOf(history, recorded[ids[i]], now); err != nil {
			return nil, err
		}
		if list[i].Last != nil {
			last = append(last, list[i].Last)
		}
	}
	return list, c.complete(ctx, last...)
}

// scheduleOf returns a schedule at a moment. Of its slots recorded are the last one that is due, and all after it.
func scheduleOf(history []landscape.Schedule, recorded []landscape.Slot, now time.Time) (Schedule, error) {
	row := history[len(history)-1]
	known, err := slots.Read(row)
	if err != nil {
		return Schedule{}, err
	}
	s := Schedule{
		ID: row.ID, Environment: row.Environment, Pipeline: row.Pipeline, Name: row.Name, Origin: row.Origin,
		Version: row.Version, Removed: row.Removed(), Deleted: row.Deleted(), Zone: zoneOf(known.Calendar),
		Paused: row.PausedAt(landscape.MicrosOf(now)), Actor: row.Actor, Why: row.Why, Since: Time(row.At), row: row,
	}
	if s.Paused {
		pause := slots.PauseOf(history)
		s.Until, s.Actor, s.Why, s.Since = Time(row.Until), pause.Actor, pause.Why, Time(pause.At)
	}
	if next, found := nextSlot(s, known.Calendar, recorded, now); found {
		s.Next, s.NextSlot = Time(landscape.MicrosOf(next.Start)), next.Name
	}
	if n := len(recorded); n > 0 && recorded[n-1].Due <= landscape.MicrosOf(now) { // what is due later is skipped already
		last := scheduledSlot(recorded[n-1])
		s.Last = &last
	}
	return s, nil
}

// zoneOf returns the name of a schedule's zone; empty for one without time.
func zoneOf(times *calendar.Schedule) string {
	if !times.Timed() {
		return ""
	}
	return times.Zone().String()
}

// nextSlot returns the slot for which the next run is to begin: one that nobody skipped, and for which nobody began a
// run before it is due.
func nextSlot(
	s Schedule, times *calendar.Schedule, recorded []landscape.Slot, now time.Time,
) (next calendar.Slot, found bool) {
	if s.Removed || s.Paused && !s.Until.Known() {
		return next, false
	}
	over := map[string]bool{}
	for _, slot := range recorded {
		over[slot.Name] = slot.State != landscape.SlotDue
	}
	from := now
	if s.Paused {
		from = s.Until.Time()
	}
	for slot := range times.Due(from) {
		if !slot.Except && !over[slot.Name] {
			return slot, true
		}
	}
	return next, false
}

// ScheduleHistory returns how a schedule changed, and what people asked for about its slots, the last first.
func (c *Client) ScheduleHistory(ctx context.Context, word string) (history []ScheduleChange, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findSchedule(ctx, word)
	if err != nil {
		return nil, err
	}
	rows, err := c.log.ScheduleHistory(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		history = append(history, ScheduleChange{
			Schedule: r.ID, Seq: r.Seq, Action: string(r.Action), Version: r.Version, Origin: r.Origin, Paused: r.PausedAt(r.At), Actor: r.Actor, Why: r.Why, At: Time(r.At),
		})
		if r.PausedAt(r.At) { // one that had ended by then may still be in the row
			history[len(history)-1].Until = Time(r.Until)
		}
	}
	err = landscape.Each(ctx, c.log, func(q landscape.SlotRequest) bool {
		if q.Schedule == row.ID {
			history = append(history, ScheduleChange{
				Schedule: q.Schedule, Request: q.ID, Action: q.Action, First: q.First, Last: q.Last, AtOnce: q.AtOnce, Version: q.Version, Actor: q.Actor, Why: q.Why, At: Time(q.At),
			})
		}
		return true
	})
	for i := range history {
		if err == nil && history[i].Action == actionRun {
			history[i].Again, err = c.ranAgain(ctx, history[i])
		}
	}
	slices.Reverse(history) // of what happened in the same moment, the last change of the schedule is the first
	slices.SortStableFunc(history, func(a, b ScheduleChange) int { return cmp.Compare(b.At, a.At) })
	return history, err
}

// ranAgain reports whether a new run was requested for a slot that had one.
func (c *Client) ranAgain(ctx context.Context, h ScheduleChange) (bool, error) {
	events, err := c.log.SlotEvents(ctx, h.Schedule, h.First)
	i := slices.IndexFunc(events, func(e landscape.SlotEvent) bool { return e.Request == h.Request })
	return i > 0 && events[i-1].Run != "" && events[i-1].Run != events[i].Run, err
}

// PauseSchedule lets a schedule begin no runs, until somebody resumes it, or until a moment that is not zero. Slots that become due meanwhile are
// missed, with the reason. One that is paused until then stays as it is. The error is an *Error of kind Invalid if by.Why is empty.
func (c *Client) PauseSchedule(ctx context.Context, word string, until time.Time, by By) (_ ScheduleOrder, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return ScheduleOrder{}, err
	}
	if !until.IsZero() && !until.After(time.Now()) {
		return ScheduleOrder{}, invalid(fmt.Sprintf("%s is past: a pause ends in the future", until.Format(time.RFC3339)))
	}
	return c.changeSchedule(ctx, word, by, func(next *landscape.Schedule, now landscape.Micros) (bool, error) {
		if next.PausedAt(now) && next.Until == landscape.MicrosOf(until) {
			return false, nil
		}
		next.Action, next.Paused, next.Until = landscape.PauseSchedule, true, landscape.MicrosOf(until)
		return true, nil
	})
}

// MakeUp says which slots get a run that were missed while a schedule was paused.
type MakeUp string

// The choices.
const (
	MakeUpNone MakeUp = "none"
	MakeUpLast MakeUp = "last"
	MakeUpAll  MakeUp = "all"
)

// ResumeSchedule lets a paused schedule begin runs again, and some of those that it missed. One that is not paused
// stays as it is, and makes nothing up.
func (c *Client) ResumeSchedule(ctx context.Context, word string, up MakeUp, by By) (did ScheduleResumed, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findSchedule(ctx, word)
	if err == nil {
		err = slots.RecordDue(ctx, c.log, row.ID, time.Now())
	}
	if err != nil {
		return did, err
	}
	resume := func(next *landscape.Schedule, now landscape.Micros) (bool, error) {
		if !next.PausedAt(now) {
			return false, nil
		}
		next.Action, next.Paused, next.Until = landscape.ResumeSchedule, false, 0
		return true, nil
	}
	did.ScheduleOrder, err = c.changeSchedule(ctx, row.ID, by, resume)
	if err != nil || !did.Changed || up == MakeUpNone || up == "" {
		return did, err
	}
	did.MadeUp, err = c.makeUp(ctx, did.row, up, by)
	return did, err
}

// removed says why a schedule is not there any more.
func (c *Client) removed(ctx context.Context, row landscape.Schedule) error {
	current, err := c.log.Current(ctx, row.Environment, row.Pipeline)
	if err != nil {
		return err
	}
	gone := &Error{Kind: Conflict, Code: ScheduleRemoved, Message: fmt.Sprintf("schedule %s was removed with version %d of %s", row.ID, row.Version, row.Pipeline)}
	switch {
	case row.Deleted():
		gone.Message = fmt.Sprintf("schedule %s was deleted, by %s: %s", row.ID, row.Actor, row.Why)
	case current.Retired():
		gone.Message = fmt.Sprintf("schedule %s is not there while %s is retired, by %s: %s", row.ID, row.Pipeline, current.Actor, current.Why)
		gone.Cure = RestorePipeline
	}
	return gone
}

// changeSchedule changes a schedule that is not removed, unless change says that it is so already.
func (c *Client) changeSchedule(
	ctx context.Context, word string, by By, change func(next *landscape.Schedule, now landscape.Micros) (changed bool, err error),
) (done ScheduleOrder, err error) {
	row, err := c.findSchedule(ctx, word)
	if err != nil {
		return done, err
	}
	err = c.log.ChangeSchedule(ctx, row.ID, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		if last.Removed() {
			return nil, c.removed(ctx, *last)
		}
		next := *last
		var err error
		if done.Changed, err = change(&next, landscape.MicrosOf(time.Now())); err != nil || !done.Changed {
			return nil, err
		}
		next.Actor, next.Why = by.or(c.Actor).Actor, by.Why
		return &next, nil
	})
	if known, ok := errors.AsType[*Error](err); ok {
		err = known
	}
	if err != nil {
		return done, err
	}
	if row, err = c.log.Schedule(ctx, row.ID); err != nil {
		return done, err
	}
	done.Schedule, err = c.schedule(ctx, row)
	return done, err
}

// FailedSlots returns slots that failed, of schedules that are there still, by schedule and by when they were due, at
// most so many; nil if there is none.
func (c *Client) FailedSlots(ctx context.Context, limit int) (failed []landscape.Slot, err error) {
	defer c.edge(ctx, &err)
	failed, err = c.log.FailedSlots(ctx, limit)
	if err != nil || failed == nil {
		return nil, err
	}
	var ids []string
	for _, slot := range failed {
		ids = append(ids, slot.Schedule)
	}
	schedules, err := c.log.SchedulesByID(ctx, ids)
	return slices.DeleteFunc(failed, func(slot landscape.Slot) bool {
		schedule, is := schedules[slot.Schedule]
		return !is || schedule.Removed()
	}), err
}
