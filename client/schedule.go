package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
	ledger "waymark/workflows/slots"
)

// Slot is one slot of a schedule: an interval of time for which a run is due. All instants are in UTC.
type Slot struct {
	Pipeline string            `json:"pipeline"`
	Schedule string            `json:"schedule"`
	Name     string            `json:"slot"`
	From     time.Time         `json:"from"` // the first instant that it covers
	To       time.Time         `json:"to"`   // the first instant after it
	Due      time.Time         `json:"due"`
	Start    time.Time         `json:"start"`             // Due, and what the schedule's jitter adds
	Promised time.Time         `json:"promised,omitzero"` // by when its output is; zero for no promise
	Zone     string            `json:"zone"`              // whose clocks the schedule goes by
	Values   map[string]string `json:"values,omitempty"`  // for_each: what it is for beside time
	Except   bool              `json:"except,omitempty"`
	// Skipped says of a deployed pipeline who wants no run for the slot, and why.
	Skipped string `json:"skipped,omitempty"`
	// State and Run are of a slot of a deployed pipeline that has a run already, as somebody ran it before it is due, or
	// that the schedule had before it was edited. The latter may have a State alone.
	State       SlotState            `json:"state,omitempty"`
	Run         string               `json:"run,omitempty"`
	ClockChange calendar.ClockChange `json:"clock_change,omitempty"`   // what changes of clocks do to its time of day
	Longer      int64                `json:"longer_seconds,omitempty"` // by how much they lengthen it
}

// SlotsRequest says which slots to list.
type SlotsRequest struct {
	File     string    // of a document; not for NextSlots
	Schedule string    // of the document, empty for all; for NextSlots NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME
	From     string    // an instant of RFC 3339, or a date, which begins in the schedule's zone; empty for Now
	Now      time.Time // the time that it is
	Count    int       // how many slots, 1 to MaxSlots
}

// MaxSlots is how many slots one request lists at most.
const MaxSlots = 10_000

// Slots lists the slots of a document that are due next, in the order in which they are. The error is an *Error of kind Invalid.
func Slots(r SlotsRequest) ([]Slot, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	doc, err := Open(r.File, nil)
	if err != nil {
		return nil, err
	}
	table, err := doc.timetable()
	if err != nil {
		return nil, err
	}
	schedules, err := chooseSchedules(doc.File, table, r.Schedule)
	if err != nil {
		return nil, err
	}
	var slots []Slot
	for _, schedule := range schedules {
		if r.Schedule == "" && !schedule.Value.Timed() {
			continue
		}
		spec, _ := table.Specs.Get(schedule.Name)
		next, err := r.upcoming(table.Pipeline, schedule, spec)
		if err != nil {
			return nil, err
		}
		slots = append(slots, next...)
	}
	slices.SortStableFunc(slots, func(a, b Slot) int { return a.Due.Compare(b.Due) })
	return slots[:min(len(slots), r.Count)], nil
}

// NextSlots lists the slots of a schedule of a deployed pipeline that are due next. The errors are those of Client.Schedule, of kind Conflict if the schedule
// was removed, and those of Slots.
func (c *Client) NextSlots(ctx context.Context, r SlotsRequest) (next []Slot, err error) {
	defer c.edge(ctx, &err)
	if err := r.check(); err != nil {
		return nil, err
	}
	row, err := c.findSchedule(ctx, r.Schedule)
	if err == nil && row.Removed() {
		err = c.removed(ctx, row)
	}
	if err != nil {
		return nil, err
	}
	known, err := ledger.Read(row)
	if err != nil {
		return nil, err
	}
	declared, err := row.Declared()
	if err != nil {
		return nil, err
	}
	next, err = r.upcoming(row.Pipeline, pipeline.Named[*calendar.Schedule]{Name: row.Name, Value: known.Calendar}, declared)
	if err != nil {
		return nil, err
	}
	return next, c.became(ctx, row.ID, next)
}

// became adds what is recorded of slots that are to come: what they cover, and that somebody skipped one, or ran it. The
// schedule may have had one before it was edited.
func (c *Client) became(ctx context.Context, schedule string, next []Slot) error {
	names := make([]string, len(next))
	for i := range next {
		names[i] = next[i].Name
	}
	recorded, err := c.log.SlotsNamed(ctx, schedule, names)
	if err != nil {
		return err
	}
	for i := range next {
		slot, is := recorded[next[i].Name]
		if from, to := slot.From.Time(), slot.To.Time(); is && (!next[i].From.Equal(from) || !next[i].To.Equal(to)) {
			next[i].From, next[i].To, next[i].Longer = from, to, 0
		}
		switch {
		case !is:
		case slot.State == landscape.SlotSkipped && !next[i].Except:
			next[i].Skipped = slot.Reason
		case slot.Run != "", slot.Fired && !next[i].Except:
			cell := scheduledSlot(slot)
			if err := c.complete(ctx, &cell); err != nil {
				return err
			}
			next[i].State, next[i].Run = cell.State, cell.Run
		}
	}
	return nil
}

func (r SlotsRequest) check() error {
	if r.Count < 1 || r.Count > MaxSlots {
		return invalid(fmt.Sprintf("%d slots cannot be listed: ask for 1 to %d", r.Count, MaxSlots))
	}
	return nil
}

// from is the instant from which slots are listed.
func (r SlotsRequest) from(zone *time.Location) (time.Time, error) {
	if r.From == "" {
		return r.Now, nil
	}
	if date, err := calendar.ParseDate(r.From); err == nil {
		return calendar.At(date, 0, zone), nil
	}
	at, err := time.Parse(time.RFC3339, r.From)
	if err != nil {
		return at, invalid(fmt.Sprintf("%.40q is neither a date such as 2026-11-21 nor an instant such as 2026-11-21T02:00:00Z", r.From))
	}
	return at, nil
}

// upcoming returns the next slots of one schedule, which is declared like that.
func (r SlotsRequest) upcoming(name string, schedule pipeline.Named[*calendar.Schedule], declared pipeline.Schedule) (slots []Slot, err error) {
	if !schedule.Value.Timed() {
		return nil, invalid(fmt.Sprintf("schedule %s never fires: its slots have no time (covers: nothing)", schedule.Name))
	}
	from, err := r.from(schedule.Value.Zone())
	if err != nil {
		return nil, err
	}
	for slot := range schedule.Value.Due(from) {
		var promised time.Time
		if by := ledger.Promised(declared, schedule.Value.Zone(), slot.Due); by != 0 && !slot.Except {
			promised = by.Time().UTC()
		}
		slots = append(slots, Slot{
			Pipeline: name, Schedule: schedule.Name, Name: slot.Name, From: slot.From, To: slot.To, Due: slot.Due, Start: slot.Start, Promised: promised,
			Values: valuesOf(slot.Name), Zone: schedule.Value.Zone().String(), Except: slot.Except,
			ClockChange: slot.ClockChange, Longer: int64(slot.Longer / time.Second),
		})
		if len(slots) == r.Count {
			break
		}
	}
	return slots, nil
}

// timetable reads what the document says about slots, and the files beside it that have values of for_each.
func (d *Document) timetable() (*pipeline.Timetable, error) {
	table, err := pipeline.LoadTimetable(d.File, d.Source, d.others...)
	if err == nil {
		err = table.Resolve(d.sideFile)
	}
	if err != nil {
		return nil, documentError(d.File, err)
	}
	return table, nil
}

// sideFile reads a file beside the document; that of a version, if it is one.
func (d *Document) sideFile(path string) ([]byte, error) {
	if content, ok := d.bundle.Files[path]; ok {
		return content, nil
	}
	if d.Folder == "" {
		return nil, errors.New("the version does not have it: who deploys by the API sends it with files of the " +
			"request, under this path (docs/api.md)")
	}
	return readBeside(d.Folder, path)
}

// readBeside reads a file in a folder, or below it.
func readBeside(folder, path string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("there is no such file in the folder")
	}
	file, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := ReadText(file)
	if err == nil && len(content) == maxDocumentBytes {
		err = errors.New("has more than 1 MiB")
	}
	return content, err
}

// chooseSchedules returns the schedule with the name, or all if that is empty.
func chooseSchedules(file string, table *pipeline.Timetable, name string) (pipeline.Map[*calendar.Schedule], error) {
	if name == "" && len(table.Schedules) > 0 {
		return table.Schedules, nil
	}
	if name == "" {
		return nil, invalid(file + " has no schedules")
	}
	schedule, err := table.Schedule(name)
	if err != nil {
		return nil, invalid(file + " " + err.Error())
	}
	return pipeline.Map[*calendar.Schedule]{schedule}, nil
}
