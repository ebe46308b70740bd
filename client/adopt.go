package client

import (
	"context"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows/slots"
	"waymark/workflows/triggers"
)

// Adopted says what became of the schedules and triggers of a pipeline as another version of it became current.
type Adopted struct {
	// TakenOver are schedules that were made by command before, and are the document's from now on.
	TakenOver []string `json:"taken_over,omitempty"`

	// Removed are schedules that the version before had, and this one does not have: they begin no more runs.
	Removed []string `json:"removed_schedules,omitempty"`

	// NewTriggers are triggers that no version had before: what is there already arrives at them, too.
	NewTriggers []string `json:"new_triggers,omitempty"`

	// RemovedTriggers are triggers that the version before had, and this one does not have: what waits for them keeps
	// waiting.
	RemovedTriggers []string `json:"removed_triggers,omitempty"`

	// Stranded are triggers of other pipelines after this one that can begin no runs any more, each with the reason.
	Stranded []string `json:"stranded,omitempty"`
}

// adoptSchedules records the schedules and triggers of the version of a pipeline that is current in an environment.
func (c *Client) adoptSchedules(ctx context.Context, environment, name string) (adopted Adopted, err error) {
	current, err := c.log.Current(ctx, environment, name)
	if err != nil {
		return adopted, err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return adopted, err
	}
	if err := slots.Adopt(ctx, c.log, deposit.Payloads, current); err != nil {
		return adopted, err
	}
	if err := triggers.Adopt(ctx, c.log, deposit.Payloads, current); err != nil {
		return adopted, err
	}
	if adopted, err = c.adopted(ctx, current); err == nil {
		adopted.Stranded, err = c.stranded(ctx, environment, name)
	}
	return adopted, err
}

// adopted says what became of schedules since a version became current.
func (c *Client) adopted(ctx context.Context, current landscape.Deployment) (adopted Adopted, err error) {
	rows, err := c.log.SchedulesOf(ctx, current.Environment, current.Pipeline)
	if err != nil {
		return adopted, err
	}
	for _, row := range rows {
		if row.Seq == 0 || row.Origin != landscape.FromDocument || row.At < current.At || current.Retired() {
			continue
		}
		history, err := c.log.ScheduleHistory(ctx, row.ID)
		if err != nil {
			return adopted, err
		}
		before := history[row.Seq-1]
		switch {
		case before.Deleted():
		case row.Action == landscape.RemoveSchedule && before.Origin == landscape.FromDocument:
			adopted.Removed = append(adopted.Removed, row.ID)
		case row.Action == landscape.SetSchedule && before.Origin == landscape.FromCommand:
			adopted.TakenOver = append(adopted.TakenOver, row.ID)
		}
	}
	return adopted, c.adoptedTriggers(ctx, current, &adopted)
}

// toAdopt says what would become of schedules if a version became current.
func (c *Client) toAdopt(ctx context.Context, environment, name string, made bundle.Bundle) (adopted Adopted, err error) {
	table, err := pipeline.LoadTimetable(made.Name, made.Source)
	if err != nil {
		return adopted, err
	}
	rows, err := c.log.SchedulesOf(ctx, environment, name)
	for _, row := range rows {
		_, has := table.Specs.Get(row.Name)
		switch {
		case has && row.Origin == landscape.FromCommand && !row.Deleted():
			adopted.TakenOver = append(adopted.TakenOver, row.ID)
		case !has && row.Origin == landscape.FromDocument && !row.Removed():
			adopted.Removed = append(adopted.Removed, row.ID)
		}
	}
	if err != nil {
		return adopted, err
	}
	return adopted, c.toAdoptTriggers(ctx, environment, name, table.Triggers, &adopted)
}
