package client

import (
	"context"
	"maps"
	"slices"
	"time"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/pipeline/calendar"
)

// mayRepeat refuses a document with schedules, which have run it again and again, if its second run stops, or two of their slots of the same time write
// to the same place.
func mayRepeat(doc *Document, cure Cure) error {
	table, err := doc.timetable()
	if err != nil {
		return err
	}
	var problems pipeline.Problems
	for _, schedule := range table.Schedules {
		next := schedule.Value.Next(time.Now())
		if loaded := ofSlot(doc.bundle, table, schedule, next); loaded != nil && problems == nil {
			problems = onlyOnce(loaded)
		}
		problems = append(problems, collisions(doc.bundle, table, schedule, next, ofValues)...)
		if len(problems) == 0 {
			problems = collisions(doc.bundle, table, schedule, times(schedule.Value, next), ofTimes)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	refused := documentError(doc.File, problems)
	refused.Cure = cure
	return refused
}

// ofSlot loads the document of a bundle with the parameters of the first of the slots; nil if there is none, or the document cannot be loaded.
func ofSlot(b bundle.Bundle, table *pipeline.Timetable, schedule pipeline.Named[*calendar.Schedule], slots []calendar.Slot) *pipeline.Document {
	if len(slots) == 0 {
		return nil
	}
	return anywhere(b, table.Params(schedule, slots[0]))
}

// times returns the first of some slots, which are due together, and of those that are due next. With three of them, two are on the same day if any are.
func times(schedule *calendar.Schedule, next []calendar.Slot) (slots []calendar.Slot) {
	for len(next) > 0 && schedule.Timed() && len(slots) < 3 {
		slots = append(slots, next[0])
		next = schedule.Next(next[0].Due.Add(1))
	}
	return slots
}

// shares returns what two slots must not have in common of a sink's target, by the key, and says why.
type shares func(target pipeline.FileTarget) (paths map[string]string, why string)

// ofValues is for slots of the same time: their runs may be beside each other.
func ofValues(target pipeline.FileTarget) (map[string]string, string) {
	return map[string]string{"path": target.Path, "latest": target.Latest}, "put a parameter into it whose default refers to the value, as ${slot:tenant} does"
}

// ofTimes is for slots one after the other.
func ofTimes(target pipeline.FileTarget) (map[string]string, string) {
	if target.Overwrite {
		return nil, ""
	}
	return map[string]string{"path": target.Path}, "the second run stops with TARGET_EXISTS; put a parameter into it whose default is ${slot:label} or ${slot:start}, or write overwrite: true"
}

// collisions are the sinks whose outputs two of the slots have in common.
func collisions(
	b bundle.Bundle, table *pipeline.Timetable, schedule pipeline.Named[*calendar.Schedule], slots []calendar.Slot, shared shares,
) (problems pipeline.Problems) {
	taken, reported := map[string]string{}, map[string]bool{}
	for i := 0; i < len(slots) && len(slots) > 1; i++ {
		loaded := ofSlot(b, table, schedule, slots[i:])
		if loaded == nil {
			return problems
		}
		for _, sink := range loaded.Pipeline.Sinks {
			format, target := targetOf(sink.Value)
			paths, why := shared(target)
			for _, key := range slices.Sorted(maps.Keys(paths)) {
				at := pipeline.Key(pipeline.Key("sinks", sink.Name), format) + "." + key
				other, is := taken[at+"\x00"+paths[key]]
				taken[at+"\x00"+paths[key]] = slots[i].Name
				if !is || paths[key] == "" || paths[key] == pipeline.Stdio || reported[at] {
					continue
				}
				reported[at] = true
				problems = append(problems, loaded.Problem(at, "slots %s and %s of %s have the same one: %s", other, slots[i].Name, schedule.Name, why))
			}
		}
	}
	return problems
}

// fits refuses a document that schedules cannot run again and again, its own or those of its pipeline that were made by command, and one with triggers after what is not there.
func (c *Client) fits(ctx context.Context, environment string, doc *Document, made bundle.Bundle) error {
	others, err := c.commanded(ctx, environment, doc.Name(), doc.Plan.Document.Pipeline.Schedules)
	if err == nil {
		err = fitsOthers(doc.File, doc.Source, others, DeployUnfit)
	}
	if err == nil {
		err = c.fitsUpstream(ctx, environment, doc.Plan.Document)
	}
	if err != nil {
		return err
	}
	made.Name = doc.File // for messages
	return mayRepeat(&Document{File: doc.File, Source: doc.Source, bundle: made, others: others}, DeployAnyway)
}

// fitsOthers refuses a document which schedules that were made by command do not fit.
func fitsOthers(file string, source []byte, others pipeline.Map[pipeline.Schedule], cure Cure) error {
	_, err := pipeline.LoadTimetable(file, source, others...)
	if err == nil {
		return nil
	}
	refused := documentError(file, err)
	refused.Cure = cure
	return refused
}

// mayBecomeCurrent returns what refuses a version that is to become current, if schedules that were made by command do not fit it, or what it publishes would come back to it.
func (c *Client) mayBecomeCurrent(
	ctx context.Context, order landscape.Deployment, may func(pipeline string) error,
) func(version int64) error {
	return func(version int64) error {
		b, table, err := c.timetableOf(ctx, order.Pipeline, version)
		if err != nil {
			return err
		}
		others, err := c.commanded(ctx, order.Environment, order.Pipeline, table.Specs)
		if err != nil {
			return err
		}
		if err := fitsOthers(b.Name, b.Source, others, DeleteUnfit); err != nil {
			return err
		}
		if err := mayFollow(may, order.Pipeline, table.Triggers); err != nil {
			return err
		}
		return c.comesBack(ctx, order.Environment, b.Name, order.Pipeline, table.Triggers)
	}
}

// timetableOf returns the bundle of a version, and what its document says of what begins runs.
func (c *Client) timetableOf(ctx context.Context, name string, version int64) (b bundle.Bundle, table *pipeline.Timetable, err error) {
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return b, nil, err
	}
	found, err := c.log.Version(ctx, name, version)
	if err != nil {
		return b, nil, err
	}
	if b, err = bundle.Get(ctx, deposit.Payloads, payload.Digest(found.Bundle)); err != nil {
		return b, nil, err
	}
	table, err = pipeline.LoadTimetable(b.Name, b.Source)
	return b, table, err
}
