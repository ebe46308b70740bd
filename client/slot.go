package client

import (
	"fmt"
	"time"

	"waymark/pipeline"
	"waymark/pipeline/calendar"
	"waymark/worker"
)

// SlotOf names the slot of time that a run is about. The zero value names none.
type SlotOf struct {
	For      string    // the slot's name, such as 2026-11-21
	Schedule string    // whose slot it is; may be empty if the document has at most one schedule
	Next     time.Time // without For, of a document that needs a slot: take the first that is due from this time on; zero to refuse the document

	recorded bool // another run was about it: perhaps nothing in the document depends on it
}

// CompileFor is Compile with the parameters that a run for a slot has because of that, unless they are among params. The error is one of
// kind Invalid as well if the document has no such slot, or nothing in it depends on one.
func CompileFor(planner worker.Planner, file string, params map[string]string, slot SlotOf) (*Document, error) {
	doc, err := OpenFor(file, params, slot)
	if err != nil {
		return nil, err
	}
	return doc, doc.compileToBegin(planner)
}

// OpenFor is CompileFor without compiling the document.
func OpenFor(file string, params map[string]string, slot SlotOf) (*Document, error) {
	doc, err := Open(file, params)
	if err != nil {
		return nil, err
	}
	return doc, doc.about(slot)
}

// about adds the parameters that a run for the slot has because of that.
func (d *Document) about(of SlotOf) error {
	switch {
	case of.For == "" && !of.Next.IsZero():
		return d.aboutNext(of)
	case of.For == "" && of.Schedule == "":
		return nil
	}
	table, err := d.timetable()
	if err != nil {
		return err
	}
	schedule, err := table.Schedule(of.Schedule)
	if err != nil {
		return &Error{Kind: Invalid, Code: InvalidRequest, Cure: NameSchedule, Message: fmt.Sprintf("%s %v", d.File, err)}
	}
	if of.For == "" {
		return slotless(of.Schedule)
	}
	slot, err := schedule.Value.Named(of.For)
	if err != nil {
		return invalid(fmt.Sprintf("%s: %v", d.File, err))
	}
	if !d.take(table, schedule, slot) && !of.recorded && !table.NeedsSlot(d.Params) { // what it needs and the slot does not have, those who compile it find
		return invalid(fmt.Sprintf("nothing in %s depends on the slot: no default of a parameter refers to what it has, as ${slot:date} does", d.File))
	}
	return nil
}

// slotless is about a request that names a schedule and none of its slots.
func slotless(schedule string) *Error {
	return &Error{Kind: Invalid, Code: InvalidRequest, Cure: NameSlot, Message: fmt.Sprintf("which slot of %s is the run about? Name it as well", schedule)}
}

// aboutNext lets a document that needs a slot be about the next one. What is wrong with the document is left to those who compile it.
func (d *Document) aboutNext(of SlotOf) error {
	if _, err := pipeline.LoadTimetable(d.File, d.Source, d.others...); err != nil {
		return nil //nolint:nilerr // those who compile it find the same
	}
	table, err := d.timetable()
	if err != nil {
		return err
	}
	if of.Schedule == "" && !table.NeedsSlot(d.Params) {
		return nil
	}
	schedule := table.Daily()
	if len(table.Schedules) > 0 || of.Schedule != "" {
		schedules, err := chooseSchedules(d.File, table, of.Schedule)
		if err != nil {
			return err
		}
		schedule = schedules[0]
	}
	if next := schedule.Value.Next(of.Next); len(next) > 0 {
		d.take(table, schedule, next[0])
	}
	return nil
}

// take adds the parameters of a run for the slot, but for those that were given. It reports whether any depends on the slot.
func (d *Document) take(table *pipeline.Timetable, schedule pipeline.Named[*calendar.Schedule], slot calendar.Slot) (depends bool) {
	d.Overridden = table.Overridden(schedule, slot, d.Params)
	d.Params, depends = table.Fill(schedule, slot, d.Params)
	d.Slot, d.schedule = slot.Name, schedule.Name
	return depends
}

// SameSlot reports whether two texts name the same slot, of which one may be a moment with seconds that are zero.
func SameSlot(a, b string) bool { return calendar.SameName(a, b) }
