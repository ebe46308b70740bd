package activities

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

// about gives the input the parameters that its run has because of the slot of time that it is about, unless they were given: the slot that the
// input names, or else the last that was due when the schedule of Temporal fired that started the run. It leaves an
// input that needs none alone.
func (a *Activities) about(ctx context.Context, in OpenInput, file string, document []byte) (OpenInput, error) {
	in, _, err := a.aboutSlot(ctx, in, file, document)
	return in, err
}

// ofSlot is what the slot that an input is about makes of it, besides its parameters.
type ofSlot struct {
	fresh      *landscape.Slot   // as a schedule of a deployed pipeline has it of which nothing is recorded yet; nil if none has
	overridden map[string]string // by name of a parameter, what it would be because of the slot, where the input has another value
}

// aboutSlot is about, and returns what else the slot makes of the input.
func (a *Activities) aboutSlot(ctx context.Context, in OpenInput, file string, document []byte) (OpenInput, ofSlot, error) {
	if in.For == "" && in.ScheduleName == "" && (in.Scheduled == "" || !bytes.Contains(document, []byte("${slot:"))) {
		return in, ofSlot{}, nil
	}
	table, err := a.timetable(ctx, in, file, document)
	if err != nil {
		return in, ofSlot{}, err
	}
	if in.For == "" && in.ScheduleName == "" && !table.NeedsSlot(in.Params) {
		return in, ofSlot{}, nil
	}
	schedule, err := table.Schedule(in.ScheduleName)
	if err != nil {
		return in, ofSlot{}, final{TypeInput, keyError{"schedule", fmt.Errorf("%s %w", file, err)}}
	}
	slot, err := a.slotFor(ctx, in, table.Pipeline, schedule)
	if err != nil {
		return in, ofSlot{}, err
	}
	about := ofSlot{overridden: table.Overridden(schedule, slot, in.Params)}
	params, depends := table.Fill(schedule, slot, in.Params)
	if !depends && in.Link == "" && !table.NeedsSlot(in.Params) { // a person who names a slot expects that it matters; a schedule may repeat the same run
		switch of, err := a.slotOf(ctx, in); {
		case err != nil:
			return in, ofSlot{}, err
		case of == nil:
			return in, ofSlot{}, final{TypeInput, keyError{"for", fmt.Errorf("nothing in %s depends on the slot: no default of a parameter refers to what it has, as ${slot:date} does", file)}}
		}
	}
	in.Params, in.For = params, slot.Name
	if in.Version == 0 || schedule.Name == "" {
		return in, about, nil
	}
	fresh := landscape.NewSlot(landscape.ScheduleID(in.Environment, table.Pipeline, schedule.Name), slot, false)
	about.fresh = &fresh
	return in, about, nil
}

// slotFor returns the slot that the input is about. One of a deployed pipeline that is recorded covers what was recorded
// of it, also if its schedule was edited since.
func (a *Activities) slotFor(
	ctx context.Context, in OpenInput, of string, schedule pipeline.Named[*calendar.Schedule],
) (calendar.Slot, error) {
	slot, wrong := in.slot(schedule.Value)
	if name := cmp.Or(in.For, slot.Name); name != "" && in.Version > 0 && schedule.Name != "" {
		recorded, err := a.log.Slot(ctx, landscape.ScheduleID(in.Environment, of, schedule.Name), name)
		if err == nil {
			return recorded.OfTime(), nil
		}
		if !errors.Is(err, landscape.ErrNotFound) {
			return slot, err
		}
	}
	if wrong != nil {
		return slot, final{TypeInput, keyError{"for", wrong}}
	}
	return slot, nil
}

// fills refuses a run by hand for a slot whose time is neither over nor due: it would be the slot's run, and what comes in the rest of that time would
// never get one. It returns the slot if the run fills it; nil otherwise, as for that of a schedule that was removed.
func (a *Activities) fills(ctx context.Context, in OpenInput, slot *landscape.Slot) (*landscape.Slot, error) {
	if slot == nil || in.Retry != nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	row, err := a.log.Schedule(ctx, slot.Schedule)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && row.Removed() {
		return nil, nil //nolint:nilnil // none is no error
	}
	over, now := min(slot.To, slot.Due), a.log.Now()
	if err != nil || over <= now {
		return slot, err
	}
	if of, err := a.slotOf(ctx, in); err != nil || of != nil { // began by the clock of another machine
		return slot, err
	}
	end := "over"
	if slot.Due < slot.To {
		end = "due"
	}
	return nil, final{TypeSlotNotOver, keyError{"for", fmt.Errorf("slot %s of schedule %s is not %s before %s",
		slot.Name, slot.Schedule, end, over.Time().UTC().Format(time.RFC3339))}}
}

// takeSlot records of the slot that a run fills that somebody began the run by hand, unless its schedule did: so nobody begins another one.
func (a *Activities) takeSlot(ctx context.Context, in OpenInput, slot *landscape.Slot) error {
	if slot == nil {
		return nil
	}
	return a.log.TakeSlot(ctx, *slot, in.Run, landscape.SlotRequest{Actor: in.Actor, Why: in.Why})
}

// slotOf returns the slot whose schedule began the run of an input; nil if none did.
func (a *Activities) slotOf(ctx context.Context, in OpenInput) (*landscape.Slot, error) {
	if in.ScheduleName == "" {
		return nil, nil //nolint:nilnil // none is no error
	}
	slot, err := a.log.SlotOfRun(ctx, in.Run)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && (slot.Name != in.For || slot.ByHand()) {
		return nil, nil //nolint:nilnil // none is no error
	}
	return &slot, err
}

// inheritedSlot returns the slot that a run is about: that of its input, or of the run that it takes the place of or whose rows it retries.
func (a *Activities) inheritedSlot(ctx context.Context, in OpenInput) (string, error) {
	if in.For != "" || in.Parent == "" {
		return in.For, nil
	}
	start, err := a.log.StartOfRun(ctx, in.Parent)
	return start.Slot, err
}

// timetable returns the schedules of a document, and the one that the input names, if that was made by command, or if it
// began the run and the document does not have it any more.
func (a *Activities) timetable(ctx context.Context, in OpenInput, file string, document []byte) (*pipeline.Timetable, error) {
	table, err := pipeline.LoadTimetable(file, document)
	if err == nil && in.Version > 0 && len(table.Files()) > 0 {
		err = a.resolve(ctx, in, table)
	}
	if err != nil || in.ScheduleName == "" || in.Version == 0 {
		return table, err
	}
	row, err := a.log.Schedule(ctx, landscape.ScheduleID(in.Environment, table.Pipeline, in.ScheduleName))
	if errors.Is(err, landscape.ErrNotFound) {
		return table, nil
	}
	if err == nil && row.Origin != landscape.FromCommand {
		if _, has := table.Specs.Get(row.Name); has {
			return table, nil
		}
		if began, err := a.slotOf(ctx, in); err != nil || began == nil {
			return table, err
		}
	}
	if err != nil {
		return nil, err
	}
	declared, err := row.Declared()
	if err != nil {
		return nil, err
	}
	return pipeline.LoadTimetable(file, document, pipeline.Named[pipeline.Schedule]{Name: row.Name, Value: declared})
}

// resolve reads the values of schedules from the files of the version that an input is a run of.
func (a *Activities) resolve(ctx context.Context, in OpenInput, table *pipeline.Timetable) error {
	b, err := bundle.Get(ctx, a.payloads, payload.Digest(in.Bundle))
	if err != nil {
		return err
	}
	return table.Resolve(func(path string) ([]byte, error) { return b.Files[path], nil })
}

// slot returns the slot of the schedule that the input is about.
func (in OpenInput) slot(schedule *calendar.Schedule) (calendar.Slot, error) {
	if in.For != "" {
		return schedule.Named(in.For)
	}
	if in.Scheduled == "" {
		return calendar.Slot{}, errors.New("the input names a schedule and no slot: write for, such as 2026-11-21")
	}
	fired, err := time.Parse(time.RFC3339, in.Scheduled)
	if err != nil {
		return calendar.Slot{}, fmt.Errorf("the input's scheduled: %.64q is no instant such as 2026-11-21T02:00:00Z", in.Scheduled)
	}
	if dimensions := schedule.Dimensions(); len(dimensions) > 0 {
		return calendar.Slot{}, fmt.Errorf("the input names no slot, and the schedule has one for each %s: write for", dimensions[0].Name)
	}
	slot, found := schedule.Last(fired)
	if !found {
		return slot, fmt.Errorf("no slot was due by %s", in.Scheduled)
	}
	return slot, nil
}
