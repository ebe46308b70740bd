package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/workflows/slots"
)

// ScheduleRequest says which schedule of a deployed pipeline to make.
type ScheduleRequest struct {
	By
	Name        string
	Pipeline    string // of which runs are due
	Environment string // in which that is deployed; empty for the default one
	File        string // names Spec in messages; empty if it is not a file
	Spec        []byte // the schedule, in YAML, as documents have it under its name
	Anyway      string // why it is made although a second run of the pipeline stops; empty to refuse it
	DryRun      bool   // say what would happen, and change nothing
}

// CreateSchedule makes a schedule of a deployed pipeline whose document has none of this name. It stays, whatever versions become current, until
// somebody deletes it, or a version with a schedule of this name takes it over. The error is an *Error of kind Invalid if a document could not have
// the schedule, of kind NotFound if the pipeline is not deployed, and of kind Conflict if it is retired, or has a schedule of this name.
func (c *Client) CreateSchedule(ctx context.Context, r ScheduleRequest) (_ Schedule, err error) {
	defer c.edge(ctx, &err)
	if err := r.check(); err != nil {
		return Schedule{}, err
	}
	where, err := environmentNamed(r.Environment)
	if err != nil {
		return Schedule{}, err
	}
	version, err := c.log.Startable(ctx, where, r.Pipeline, 0)
	if err != nil {
		return Schedule{}, registryError(where, r.Pipeline, err)
	}
	spec, err := c.specOf(ctx, version, r)
	if err != nil {
		return Schedule{}, err
	}
	by := r.or(c.Actor)
	row := landscape.Schedule{
		ID: landscape.ScheduleID(where, version.Pipeline, r.Name), Environment: where, Pipeline: version.Pipeline, Name: r.Name, Action: landscape.CreateSchedule, Spec: spec,
		Version: version.Version, Actor: by.Actor, Why: cmp.Or(by.Why, "made by command"), Origin: landscape.FromCommand,
	}
	if r.Anyway != "" {
		row.Why = fmt.Sprintf("%s (anyway: %s)", row.Why, r.Anyway)
	}
	return c.create(ctx, row, r.DryRun)
}

func (r *ScheduleRequest) check() error {
	if err := pipeline.CheckName(r.Name); err != nil {
		return invalid(fmt.Sprintf("%.64q is no name for a schedule: %v", r.Name, err))
	}
	if r.Pipeline == "" {
		return invalid("a schedule made by command is of a deployed pipeline: name it")
	}
	return nil
}

// specOf returns the schedule as it is recorded, if the document of a version could have it.
func (c *Client) specOf(ctx context.Context, version landscape.PipelineVersion, r ScheduleRequest) (string, error) {
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return "", err
	}
	made, err := bundle.Get(ctx, deposit.Payloads, payload.Digest(version.Bundle))
	if err != nil {
		return "", err
	}
	doc := &Document{File: made.Name, Source: made.Source, bundle: made}
	table, err := doc.timetable()
	if err != nil {
		return "", err
	}
	declared, err := table.LoadSchedule(r.File, r.Name, r.Spec, func(path string) ([]byte, error) { return readBeside(filepath.Dir(r.File), path) })
	if err != nil {
		return "", documentError(cmp.Or(r.File, "the schedule"), err)
	}
	doc.others = pipeline.Map[pipeline.Schedule]{{Name: r.Name, Value: declared}}
	if r.Anyway == "" {
		err = mayRepeat(doc, CreateAnyway)
	}
	if err != nil {
		return "", err
	}
	spec, err := json.Marshal(declared)
	return string(spec), err
}

// create records a schedule that was made by command, unless there is one of its name.
func (c *Client) create(ctx context.Context, row landscape.Schedule, dry bool) (Schedule, error) {
	err := c.log.ChangeSchedule(ctx, row.ID, func(last *landscape.Schedule) (*landscape.Schedule, error) {
		if err := mayCreate(last); err != nil || dry {
			return nil, err
		}
		return &row, nil
	})
	if known, ok := errors.AsType[*Error](err); ok {
		err = known
	}
	if err == nil && dry {
		row.At = landscape.MicrosOf(time.Now())
		return c.schedule(ctx, row)
	}
	if err == nil {
		_, err = c.adoptSchedules(ctx, row.Environment, row.Pipeline) // somebody may have retired the pipeline, or deployed another version
	}
	if err == nil {
		row, err = c.log.Schedule(ctx, row.ID)
	}
	if err != nil {
		return Schedule{}, err
	}
	return c.schedule(ctx, row)
}

// mayCreate refuses a schedule if the last one of its name is there, or comes back when its pipeline is restored.
func mayCreate(last *landscape.Schedule) error {
	switch {
	case last == nil || last.Deleted() || last.Removed() && last.Origin == landscape.FromDocument:
		return nil
	case last.Origin == landscape.FromDocument:
		message := fmt.Sprintf("version %d of %s has a schedule %s: change it there, or choose another name", last.Version, last.Pipeline, last.Name)
		return &Error{Kind: Conflict, Code: ScheduleExists, Message: message}
	}
	message := fmt.Sprintf("schedule %s is there, and was made by command", last.ID)
	return &Error{Kind: Conflict, Code: ScheduleExists, Message: message, Cure: DeleteSchedule}
}

// DeleteSchedule deletes a schedule that was made by command. No slot becomes due any more, and those that wait get no run; runs that began continue,
// and what became of slots stays on record. The error is an *Error of kind Invalid if by.Why is empty, and of kind Conflict if the schedule is one of
// the document. One that is deleted stays as it is.
func (c *Client) DeleteSchedule(ctx context.Context, word string, by By) (done ScheduleOrder, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return done, err
	}
	row, err := c.findSchedule(ctx, word)
	if err != nil {
		return done, err
	}
	if row.Deleted() {
		done.Schedule, err = c.schedule(ctx, row)
		return done, err
	}
	if row.Origin == landscape.FromDocument && !row.Removed() {
		message := fmt.Sprintf("schedule %s is one of the document: version %d of %s has it", row.ID, row.Version, row.Pipeline)
		return done, &Error{Kind: Conflict, Code: ScheduleOfDocument, Message: message, Cure: DeployWithout}
	}
	if err := slots.RecordDue(ctx, c.log, row.ID, time.Now()); err != nil {
		return done, err
	}
	return c.changeSchedule(ctx, row.ID, by, func(next *landscape.Schedule, _ landscape.Micros) (bool, error) {
		if next.Origin == landscape.FromDocument {
			return false, &Error{Kind: Conflict, Code: ScheduleOfDocument, Message: fmt.Sprintf("schedule %s is one of the document now", next.ID), Cure: DeployWithout}
		}
		next.Action, next.Paused, next.Until = landscape.DeleteSchedule, false, 0
		return true, nil
	})
}

// commanded returns the schedules of a pipeline that were made by command in an environment, but for those that its document has.
func (c *Client) commanded(ctx context.Context, environment, name string, own pipeline.Map[pipeline.Schedule]) (found pipeline.Map[pipeline.Schedule], err error) {
	rows, err := c.log.SchedulesOf(ctx, environment, name)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		_, has := own.Get(row.Name)
		if has || row.Deleted() || row.Origin != landscape.FromCommand {
			continue
		}
		declared, err := row.Declared()
		if err != nil {
			return nil, err
		}
		found = append(found, pipeline.Named[pipeline.Schedule]{Name: row.Name, Value: declared})
	}
	return found, nil
}

// commandedNamed returns the schedule with the name, if it was made by command; nil if it was not, or there is none.
func commandedNamed(ctx context.Context, log *landscape.Log, environment, of, name string) (pipeline.Map[pipeline.Schedule], error) {
	row, err := log.Schedule(ctx, landscape.ScheduleID(environment, of, name))
	if errors.Is(err, landscape.ErrNotFound) || err == nil && row.Origin != landscape.FromCommand {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	declared, err := row.Declared()
	return pipeline.Map[pipeline.Schedule]{{Name: name, Value: declared}}, err
}
