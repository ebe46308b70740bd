package client

import (
	"context"
	"time"

	"waymark/activities/bundle"
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
		problems = append(problems, collisions(doc.bundle, table, schedule, next)...)
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

// collisions are the sinks whose outputs two slots of the same time have in common.
func collisions(
	b bundle.Bundle, table *pipeline.Timetable, schedule pipeline.Named[*calendar.Schedule], slots []calendar.Slot,
) (problems pipeline.Problems) {
	type place struct{ sink, key, path string }
	taken, reported := map[place]string{}, map[string]bool{}
	for i := range slots {
		loaded := ofSlot(b, table, schedule, slots[i:])
		if loaded == nil || len(slots) == 1 {
			return problems
		}
		for _, sink := range loaded.Pipeline.Sinks {
			format, target := targetOf(sink.Value)
			for key, path := range map[string]string{"path": target.Path, "latest": target.Latest} {
				at := pipeline.Key(pipeline.Key("sinks", sink.Name), format) + "." + key
				other, is := taken[place{sink.Name, key, path}]
				taken[place{sink.Name, key, path}] = slots[i].Name
				if !is || path == "" || path == pipeline.Stdio || reported[at] {
					continue
				}
				reported[at] = true
				problems = append(problems, loaded.Problem(at, "slots %s and %s of %s have the same one: put a parameter into it whose default is ${slot:%s}",
					other, slots[i].Name, schedule.Name, slots[i].Values()[0].Name))
			}
		}
	}
	return problems
}

// fits refuses a document that schedules cannot run again and again, its own or those of its pipeline that were made by command.
func (c *Client) fits(ctx context.Context, environment string, doc *Document, made bundle.Bundle) error {
	others, err := c.commanded(ctx, environment, doc)
	if err != nil {
		return err
	}
	if _, err := pipeline.LoadTimetable(doc.File, doc.Source, others...); err != nil {
		refused := documentError(doc.File, err)
		refused.Cure = DeployUnfit
		return refused
	}
	made.Name = doc.File // for messages
	return mayRepeat(&Document{File: doc.File, Source: doc.Source, bundle: made, others: others}, DeployAnyway)
}
