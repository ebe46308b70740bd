package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
)

// Trigger is a trigger of a deployed pipeline: it begins runs as files arrive, or outputs of another pipeline.
type Trigger struct {
	ID          string `json:"trigger"` // ENVIRONMENT/PIPELINE/NAME
	Environment string `json:"environment"`
	Pipeline    string `json:"pipeline"`
	Name        string `json:"name"`
	Source      string `json:"source"`          // where files arrive
	After       *After `json:"after,omitempty"` // whose outputs these are; nil for any files
	Version     int64  `json:"version"`         // of the pipeline, that has it as it is
	Paused      bool   `json:"paused"`
	Actor       string `json:"actor"`         // who changed it last; if it is paused, who paused it
	Why         string `json:"why,omitempty"` // what that said
	Since       Time   `json:"since"`         // when that was
	Waiting     int64  `json:"waiting"`       // files that arrived and wait for a run
	Oldest      Time   `json:"oldest"`        // when the first of these arrived; null if none waits
	Unready     int64  `json:"unready"`       // files that may be written yet, at the last look
	Taken       int64  `json:"taken"`         // files of runs that are not complete
	Runs        int64  `json:"runs"`          // these runs: they go on, or stopped and can be resumed
	Looked      Time   `json:"looked"`        // the last recorded look; null if nobody has looked yet
	Error       string `json:"error"`         // why that failed; empty if it did not
}

// After names the sink of another pipeline after which a trigger begins runs.
type After struct {
	Pipeline string `json:"pipeline"`
	Sink     string `json:"sink"`
}

// TriggerOrder is what became of an order about a trigger.
type TriggerOrder struct {
	Trigger
	Changed bool `json:"changed"` // else it was so already
}

// Triggers returns the triggers of pipelines that are deployed in an environment, or in all for an empty one, by id; it is empty, not nil, if there is none.
func (c *Client) Triggers(ctx context.Context, environment string) (list []Trigger, err error) {
	defer c.edge(ctx, &err)
	rows, err := c.triggersIn(ctx, environment)
	list = make([]Trigger, len(rows))
	for i, row := range rows {
		if err != nil {
			return nil, err
		}
		list[i], err = c.trigger(ctx, row)
	}
	return list, err
}

// PauseTrigger lets a trigger begin no runs until somebody resumes it. What arrives meanwhile is recorded, and waits. The error is an *Error of kind NotFound
// if there is no such trigger, and Invalid if word means several, or by.Why is empty.
func (c *Client) PauseTrigger(ctx context.Context, environment, word string, by By) (_ TriggerOrder, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return TriggerOrder{}, err
	}
	return c.changeTrigger(ctx, environment, word, landscape.PauseTrigger, by)
}

// ResumeTrigger lets a paused trigger begin runs again, also of what arrived meanwhile. The errors are those of PauseTrigger, but for by.Why.
func (c *Client) ResumeTrigger(ctx context.Context, environment, word string, by By) (_ TriggerOrder, err error) {
	defer c.edge(ctx, &err)
	return c.changeTrigger(ctx, environment, word, landscape.ResumeTrigger, by)
}

func (c *Client) changeTrigger(ctx context.Context, environment, word string, action landscape.TriggerAction, by By) (done TriggerOrder, err error) {
	row, err := c.findTrigger(ctx, environment, word)
	if err != nil {
		return done, err
	}
	err = c.log.ChangeTrigger(ctx, row.ID, func(last *landscape.Trigger) (*landscape.Trigger, error) {
		pause := action == landscape.PauseTrigger
		if done.Changed = last.Paused != pause; !done.Changed {
			return nil, nil //nolint:nilnil // nothing to change
		}
		next := *last
		next.Action, next.Paused, next.Actor, next.Why = action, pause, by.or(c.Actor).Actor, by.Why
		return &next, nil
	})
	if err == nil {
		row, err = c.log.Trigger(ctx, row.ID)
	}
	if err == nil {
		done.Trigger, err = c.trigger(ctx, row)
	}
	return done, err
}

// triggersIn returns the last rows of the triggers that are there, of one environment or of all for an empty one.
func (c *Client) triggersIn(ctx context.Context, environment string) (there []landscape.Trigger, err error) {
	rows, err := c.log.Triggers(ctx)
	for _, row := range rows {
		if !row.Removed() && (environment == "" || row.Environment == environment) {
			there = append(there, row)
		}
	}
	return there, err
}

// findTrigger returns the last row of the trigger that word means: NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME.
func (c *Client) findTrigger(ctx context.Context, environment, word string) (landscape.Trigger, error) {
	rows, err := c.triggersIn(ctx, environment)
	if err != nil {
		return landscape.Trigger{}, err
	}
	var found []landscape.Trigger
	var ids []string
	for _, row := range rows {
		if row.ID == word || strings.HasSuffix(row.ID, "/"+word) {
			found, ids = append(found, row), append(ids, row.ID)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return landscape.Trigger{}, invalid(fmt.Sprintf("%q means %d triggers: write one of %s", word, len(ids), strings.Join(ids, ", ")))
	}
	message := fmt.Sprintf("no deployed pipeline has a trigger %q, as far as %s says", word, c.place)
	return landscape.Trigger{}, &Error{Kind: NotFound, Code: TriggerNotFound, Message: message, Cure: ListTriggers, Err: landscape.ErrNotFound}
}

// trigger returns a trigger with what is recorded of its arrivals.
func (c *Client) trigger(ctx context.Context, row landscape.Trigger) (Trigger, error) {
	declared, err := row.Declared()
	watch, looked := c.log.Watch(ctx, row.ID)
	waiting, oldest, read := c.log.ArrivalBacklog(ctx, row.ID)
	taken, found := c.log.ArrivalsInState(ctx, row.ID, landscape.ArrivalTaken, 0)
	changed, paused := c.pausedBy(ctx, row)
	runs := map[string]bool{}
	for _, arrival := range taken {
		runs[arrival.Run] = true
	}
	var after *After
	if declared.After != nil {
		after = &After{declared.After.Pipeline, declared.After.Sink}
	}
	return Trigger{
		After: after, ID: row.ID, Environment: row.Environment, Pipeline: row.Pipeline, Name: row.Name, Source: declared.Source, Version: row.Version, Paused: row.Paused,
		Actor: changed.Actor, Why: changed.Why, Since: Time(changed.At), Waiting: waiting, Oldest: Time(oldest), Unready: watch.Waiting, Taken: int64(len(taken)), Runs: int64(len(runs)),
		Looked: Time(watch.Looked), Error: watch.Error,
	}, errors.Join(err, looked, read, found, paused)
}

// pausedBy returns the row of a trigger with which it was paused, which outlasts deployments; the row itself if it is not paused.
func (c *Client) pausedBy(ctx context.Context, row landscape.Trigger) (landscape.Trigger, error) {
	if !row.Paused {
		return row, nil
	}
	history, err := c.log.TriggerHistory(ctx, row.ID)
	for _, before := range slices.Backward(history) {
		if before.Action == landscape.PauseTrigger {
			return before, err
		}
	}
	return row, err
}

// adoptedTriggers says what became of triggers since a version became current.
func (c *Client) adoptedTriggers(ctx context.Context, current landscape.Deployment, adopted *Adopted) error {
	rows, err := c.log.Triggers(ctx)
	for _, row := range rows {
		if row.Environment != current.Environment || row.Pipeline != current.Pipeline || row.At < current.At || current.Retired() {
			continue
		}
		switch {
		case row.Removed():
			adopted.RemovedTriggers = append(adopted.RemovedTriggers, row.ID)
		case row.Seq == 0:
			adopted.NewTriggers = append(adopted.NewTriggers, row.ID)
		}
	}
	return err
}

// toAdoptTriggers says what would become of triggers.
func (c *Client) toAdoptTriggers(ctx context.Context, environment, name string, declared pipeline.Map[pipeline.ArrivalTrigger], adopted *Adopted) error {
	rows, err := c.log.Triggers(ctx)
	known := map[string]bool{}
	for _, row := range rows {
		known[row.ID] = true
		if _, has := declared.Get(row.Name); !has && !row.Removed() && row.Environment == environment && row.Pipeline == name {
			adopted.RemovedTriggers = append(adopted.RemovedTriggers, row.ID)
		}
	}
	for _, trigger := range declared {
		if id := landscape.ScheduleID(environment, name, trigger.Name); !known[id] {
			adopted.NewTriggers = append(adopted.NewTriggers, id)
		}
	}
	return err
}
