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

// TriggerKind says what arrives at a trigger.
type TriggerKind string

// The kinds of triggers.
const (
	FileTrigger     TriggerKind = "files"
	OutputTrigger   TriggerKind = "outputs"    // of another pipeline
	DeliveryTrigger TriggerKind = "deliveries" // that others post
	RowTrigger      TriggerKind = "rows"       // of a table; several that were found together are one arrival
)

// Count says how many have arrived, in words.
func (k TriggerKind) Count(n int64) string {
	word := string(k)
	switch {
	case k == RowTrigger && n == 1:
		word = "page of rows"
	case k == RowTrigger:
		word = "pages of rows"
	case k == DeliveryTrigger && n == 1:
		word = "delivery"
	case n == 1:
		word = strings.TrimSuffix(word, "s")
	}
	return fmt.Sprintf("%d %s", n, word)
}

// Trigger is a trigger of a deployed pipeline: it begins runs as files arrive, outputs of another pipeline, rows of a table, or what others post.
type Trigger struct {
	ID          string      `json:"trigger"` // ENVIRONMENT/PIPELINE/NAME
	Environment string      `json:"environment"`
	Pipeline    string      `json:"pipeline"`
	Name        string      `json:"name"`
	Kind        TriggerKind `json:"kind"`
	Source      string      `json:"source"`          // that reads what arrives
	After       *After      `json:"after,omitempty"` // whose outputs these are; nil for any files
	Version     int64       `json:"version"`         // of the pipeline, that has it as it is
	Paused      bool        `json:"paused"`
	Actor       string      `json:"actor"`         // who changed it last; if it is paused, who paused it
	Why         string      `json:"why,omitempty"` // what that said
	Since       Time        `json:"since"`         // when that was
	Removed     bool        `json:"removed"`       // the current version does not have it: what waits gets no run
	Waiting     int64       `json:"waiting"`       // arrivals that wait for a run
	Oldest      Time        `json:"oldest"`        // when the first of these arrived; null if none waits
	Gone        int64       `json:"gone"`          // items that were removed or changed before a run took them, and have not arrived again
	Ignored     int64       `json:"ignored"`       // items of which no run is wanted, or that no run could read
	Unready     int64       `json:"unready"`       // files that may be written yet, at the last look
	Taken       int64       `json:"taken"`         // arrivals on the lists of runs that are not complete
	Runs        int64       `json:"runs"`          // these runs: they go on, or stopped and can be resumed
	Looked      Time        `json:"looked"`        // the last recorded look; null if nobody has looked yet
	Error       string      `json:"error"`         // why that failed, or why no run of the pipeline after which it is can come; empty if all is well

	declared pipeline.ArrivalTrigger
	tended   landscape.Micros // when somebody did something for it last
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

// Triggers returns the triggers of pipelines that are deployed in an environment, or in all for an empty one, by id, and those that were removed and for which something waits, or is taken;
// it is empty, not nil, if there is none.
func (c *Client) Triggers(ctx context.Context, environment string) (list []Trigger, err error) {
	defer c.edge(ctx, &err)
	return c.triggersWhere(ctx, func(row landscape.Trigger) bool { return environment == "" || row.Environment == environment })
}

// TriggersOf is Triggers for those of one pipeline in an environment.
func (c *Client) TriggersOf(ctx context.Context, environment, name string) (list []Trigger, err error) {
	defer c.edge(ctx, &err)
	return c.triggersWhere(ctx, func(row landscape.Trigger) bool { return row.Environment == environment && row.Pipeline == name })
}

func (c *Client) triggersWhere(ctx context.Context, wanted func(landscape.Trigger) bool) ([]Trigger, error) {
	rows, err := c.log.Triggers(ctx)
	list := []Trigger{}
	for _, row := range rows {
		if err != nil {
			return nil, err
		}
		if !wanted(row) {
			continue
		}
		var t Trigger
		t, err = c.trigger(ctx, row)
		if !t.Removed || t.Waiting+t.Taken > 0 {
			list = append(list, t)
		}
	}
	return list, err
}

// Trigger returns the trigger that word means: NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME, also one that was removed if no other has the name. The error is an *Error of kind NotFound if
// there is none, and Invalid if there are several.
func (c *Client) Trigger(ctx context.Context, word string) (_ Trigger, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return Trigger{}, err
	}
	return c.trigger(ctx, row)
}

// TriggerID returns the id of the trigger that word means, of those in an environment, or in all for an empty one. Every method takes it for a word. The errors are those of Trigger.
func (c *Client) TriggerID(ctx context.Context, environment, word string) (_ string, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findTrigger(ctx, environment, word)
	return row.ID, err
}

// TriggerHistory returns how a trigger changed, the last change first. The errors are those of Trigger.
func (c *Client) TriggerHistory(ctx context.Context, word string) (history []TriggerChange, err error) {
	defer c.edge(ctx, &err)
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return nil, err
	}
	rows, err := c.log.TriggerHistory(ctx, row.ID)
	for _, r := range slices.Backward(rows) {
		history = append(history, TriggerChange{string(r.Action), r.Version, r.Actor, r.Why, Time(r.At)})
	}
	return history, err
}

// TriggerChange is one change of a trigger.
type TriggerChange struct {
	Action  string `json:"action"` // set, remove, pause or resume
	Version int64  `json:"version"`
	Actor   string `json:"actor"`
	Why     string `json:"why,omitempty"`
	At      Time   `json:"at"`
}

// PauseTrigger lets a trigger begin no runs until somebody resumes it. What arrives meanwhile is recorded, and waits. The errors are those of Trigger, of kind NotFound as well if the trigger was
// removed, and of kind Invalid if by.Why is empty.
func (c *Client) PauseTrigger(ctx context.Context, word string, by By) (_ TriggerOrder, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return TriggerOrder{}, err
	}
	return c.changeTrigger(ctx, word, landscape.PauseTrigger, by)
}

// ResumeTrigger lets a paused trigger begin runs again, also of what arrived meanwhile. The errors are those of PauseTrigger, but for by.Why.
func (c *Client) ResumeTrigger(ctx context.Context, word string, by By) (_ TriggerOrder, err error) {
	defer c.edge(ctx, &err)
	return c.changeTrigger(ctx, word, landscape.ResumeTrigger, by)
}

func (c *Client) changeTrigger(ctx context.Context, word string, action landscape.TriggerAction, by By) (done TriggerOrder, err error) {
	row, err := c.findTrigger(ctx, "", word)
	if err != nil {
		return done, err
	}
	err = c.log.ChangeTrigger(ctx, row.ID, func(last *landscape.Trigger) (*landscape.Trigger, error) {
		if last.Removed() {
			return nil, removedTrigger(*last)
		}
		pause := action == landscape.PauseTrigger
		if done.Changed = last.Paused != pause; !done.Changed {
			return nil, nil //nolint:nilnil // nothing to change
		}
		next := *last
		next.Action, next.Paused, next.Actor, next.Why = action, pause, by.or(c.Actor).Actor, by.Why
		return &next, nil
	})
	if known, ok := errors.AsType[*Error](err); ok {
		err = known
	}
	if err == nil {
		row, err = c.log.Trigger(ctx, row.ID)
	}
	if err == nil {
		done.Trigger, err = c.trigger(ctx, row)
	}
	return done, err
}

// removedTrigger says that a trigger is not there any more.
func removedTrigger(row landscape.Trigger) error {
	message := fmt.Sprintf("trigger %s was removed with version %d of %s: it begins no runs", row.ID, row.Version, row.Pipeline)
	return &Error{Kind: NotFound, Code: TriggerNotFound, Message: message, Cure: ListTriggers}
}

// findTrigger returns the last row of the trigger that word means: NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME. One that was removed counts if no other has the name.
func (c *Client) findTrigger(ctx context.Context, environment, word string) (landscape.Trigger, error) {
	rows, err := c.log.Triggers(ctx)
	if err != nil {
		return landscape.Trigger{}, err
	}
	var ids, removed []string
	byID := map[string]landscape.Trigger{}
	for _, row := range rows {
		switch byID[row.ID] = row; {
		case environment != "" && row.Environment != environment:
		case row.Removed():
			removed = append(removed, row.ID)
		default:
			ids = append(ids, row.ID)
		}
	}
	id, err := TriggerNamed(ids, word, c.place)
	if known, ok := errors.AsType[*Error](err); ok && known.Kind == NotFound {
		if gone, none := TriggerNamed(removed, word, c.place); none == nil {
			id, err = gone, nil
		}
	}
	return byID[id], err
}

// TriggerNamed returns which of the ids of triggers a word means: NAME, PIPELINE/NAME or ENVIRONMENT/PIPELINE/NAME. place says where they are, for people. The error is an *Error of kind NotFound
// if it means none, and Invalid if it means several.
func TriggerNamed(ids []string, word, place string) (string, error) {
	var found []string
	for _, id := range ids {
		if id == word || strings.HasSuffix(id, "/"+word) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		message := fmt.Sprintf("no deployed pipeline has a trigger %q, as far as %s says", word, place)
		return "", &Error{Kind: NotFound, Code: TriggerNotFound, Message: message, Cure: ListTriggers, Err: landscape.ErrNotFound}
	}
	return "", invalid(fmt.Sprintf("%q means %d triggers: write one of %s", word, len(found), strings.Join(found, ", ")))
}

// trigger returns a trigger with what is recorded of its arrivals.
func (c *Client) trigger(ctx context.Context, row landscape.Trigger) (Trigger, error) {
	declared, err := row.Declared()
	watch, looked := c.log.Watch(ctx, row.ID)
	all, tended := c.log.Watch(ctx, "")
	waiting, oldest, read := c.log.ArrivalBacklog(ctx, row.ID)
	gone, lost := c.log.ArrivalsLeft(ctx, row.ID, landscape.ArrivalGone)
	ignored, left := c.log.ArrivalsLeft(ctx, row.ID, landscape.ArrivalIgnored)
	taken, found := c.log.ArrivalsInState(ctx, row.ID, landscape.ArrivalTaken, 0)
	changed, paused := c.pausedBy(ctx, row)
	runs := map[string]bool{}
	for _, arrival := range taken {
		runs[arrival.Run] = true
	}
	kind, after := FileTrigger, (*After)(nil)
	switch {
	case declared.After != nil:
		kind, after = OutputTrigger, &After{declared.After.Pipeline, declared.After.Sink}
	case declared.HTTP != nil:
		kind = DeliveryTrigger
	case declared.Rows != nil:
		kind = RowTrigger
	}
	var upstream error
	if declared.After != nil && watch.Error == "" && !row.Removed() {
		_, watch.Error, upstream = c.lacks(ctx, row.Environment, *declared.After)
	}
	return Trigger{
		Kind: kind, After: after, ID: row.ID, Environment: row.Environment, Pipeline: row.Pipeline, Name: row.Name, Source: declared.Source, Version: row.Version, Paused: row.Paused,
		Actor: changed.Actor, Why: changed.Why, Since: Time(changed.At), Removed: row.Removed(), Waiting: waiting, Oldest: Time(oldest), Unready: watch.Waiting, Taken: int64(len(taken)),
		Runs: int64(len(runs)), Looked: Time(watch.Looked), Error: watch.Error, declared: declared, tended: max(watch.Changed, all.Changed),
		Gone: gone, Ignored: ignored,
	}, errors.Join(err, looked, tended, read, found, paused, lost, left, upstream)
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
