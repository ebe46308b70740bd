package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"go.temporal.io/api/enums/v1"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
)

// awaitsTemporal is why a run has not begun that was asked for while Temporal was away.
const awaitsTemporal = "Temporal did not answer: the run begins when it does"

// awaits reports whether a start is recorded for which nobody has started a workflow: BeginAccepted does that.
func awaits(start landscape.Start) bool {
	return start.State == landscape.StartAccepted && start.Workflow == ""
}

// Accept records a request for a run of a deployed pipeline that Start could not begin, because Temporal does not answer: BeginAccepted begins it when it
// does. It may be repeated. The error is an *Error of kind Invalid if the request is for anything else, or without an id, and of kind Conflict or Busy as that of Start; then
// nothing was recorded.
func (c *Client) Accept(ctx context.Context, r StartRequest) (err error) {
	defer c.edge(ctx, &err)
	if err := r.check(); err != nil {
		return err
	}
	if r.Pipeline == "" || r.Schedule != "" || r.Run == "" {
		return invalid("only a run of a Pipeline, with an id and without a Schedule, can be accepted to begin later")
	}
	s := &Session{Log: c.log, Place: c.place, Actor: c.Actor, Queue: workflows.TaskQueue}
	start := r.asked()
	start.Actor, start.Environment, start.Slot, start.Workflow = cmp.Or(start.Actor, c.Actor), r.Environment, r.For, "" // without an environment, that of the workers
	if err := s.refuseTaken(ctx, r.Run); err != nil {
		return err
	}
	if err := s.refuseRequested(ctx, start); err != nil {
		return err
	}
	err = c.log.Accept(ctx, start)
	if errors.Is(err, landscape.ErrBegun) {
		return conflict(RunExists, err)
	}
	return err
}

// BeginAccepted begins the runs that Accept recorded, the first first, and returns their ids. Processes may do so at the same time, and again: a run has one workflow.
func (c *Client) BeginAccepted(ctx context.Context) (begun []string, err error) {
	defer c.edge(ctx, &err)
	starts, err := c.log.Starts(ctx, landscape.StartAccepted, nil, 0)
	starts = slices.DeleteFunc(starts, func(s landscape.Start) bool { return !awaits(s) })
	if err != nil || len(starts) == 0 {
		return nil, err
	}
	session, err := c.host.Session(ctx, ToStart)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for _, start := range slices.Backward(starts) {
		did, err := session.beginAccepted(ctx, start)
		if err != nil {
			return begun, err
		}
		if did {
			begun = append(begun, start.Run)
		}
	}
	return begun, nil
}

// beginAccepted starts the workflow of a run that is asked for; false if it has one, or nobody wants it any more.
func (s *Session) beginAccepted(ctx context.Context, start landscape.Start) (bool, error) {
	if now, err := s.Log.LastStart(ctx, start.Run); err != nil || now != start {
		return false, err
	}
	e := &Execution{session: s, Run: start.Run, Pipeline: start.Pipeline, Workflow: workflows.WorkflowID(start.Run), by: By{Actor: start.Actor, Trigger: start.Trigger}}
	e.input.OpenInput = activities.OpenInput{
		Run: start.Run, Pipeline: start.Pipeline, Environment: start.Environment, For: start.Slot, Why: start.Why, Files: s.Files,
	}
	if err := json.Unmarshal([]byte(start.Params), &e.input.Params); err != nil {
		return false, err
	}
	_, err := s.startWorkflow(ctx, e, enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
	if known, ok := errors.AsType[*Error](err); ok && known.Code == RunBusy {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.stopUnwanted(ctx, start)
}

// stopUnwanted ends the workflow of a run that somebody cancelled while it was started.
func (s *Session) stopUnwanted(ctx context.Context, start landscape.Start) error {
	now, err := s.Log.LastStart(ctx, start.Run)
	if err != nil || now.Seq != start.Seq || now.State != landscape.StartCancelled {
		return err
	}
	return s.Terminate(ctx, start.Run, "cancelled before the run began")
}
