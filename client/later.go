package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/activities"
	"waymark/landscape"
	"waymark/payload"
	"waymark/workflows"
)

// awaitsTemporal is why a run has not begun that was asked for while Temporal was away.
const awaitsTemporal = "Temporal did not answer: the run begins when it does"

// accepted reports whether a start was recorded by Accept, and its run has not begun.
func accepted(start landscape.Start) bool {
	return start.State == landscape.StartAccepted && start.Workflow == ""
}

// inputText is what is recorded of an input with which BeginAccepted may have to start a workflow.
func inputText(in activities.OpenInput) string {
	in.Files = "" // is a matter of who starts it
	text, err := json.Marshal(in)
	if err != nil {
		panic(err) // texts always encode
	}
	return string(text)
}

// Accept records a request for a run of a deployed pipeline that Start could not begin, because Temporal does not answer: BeginAccepted begins it when it
// does. It may be repeated. The error is an *Error of kind Invalid if the request is for anything else, or without an id, and of kind Conflict or Busy as that of Start; then
// nothing was recorded.
func (c *Client) Accept(ctx context.Context, r StartRequest) (err error) {
	defer c.edge(ctx, &err)
	if err := r.check(); err != nil {
		return err
	}
	if r.Pipeline == "" || r.Run == "" {
		return invalid("only a run of a Pipeline, with an id, can be accepted to begin later")
	}
	s := &Session{Log: c.log, Place: c.place, Actor: c.Actor, Queue: workflows.TaskQueue, Payloads: c.payloadsHere}
	start := r.asked()
	start.Actor, start.Environment, start.Slot, start.Workflow = cmp.Or(start.Actor, c.Actor), r.Environment, r.For, "" // without an environment, that of the workers
	for _, may := range []func() error{
		func() error { return s.refuseTaken(ctx, r.Run) },
		func() error { return s.refuseRequested(ctx, start) },
		func() error { return s.checkSources(ctx, &r) },
		func() error { return s.keepRows(ctx, &r) },
	} {
		if err := may(); err != nil {
			return err
		}
	}
	start.Rows, start.Input = landscape.RowsText(r.kept), inputText(r.input())
	err = c.log.Accept(ctx, start)
	if errors.Is(err, landscape.ErrBegun) {
		return conflict(RunExists, err)
	}
	return err
}

// payloadsHere returns the payload store of the host.
func (c *Client) payloadsHere(ctx context.Context) (*payload.Store, error) {
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	return deposit.Payloads, nil
}

// beginAfter is how long a process may take to start the workflow of a run that it was asked for.
const beginAfter = 3 * time.Second

// BeginAccepted starts the workflows of runs that were asked for a while ago and have none, in the order of the requests: Accept recorded them, or a Lasting request whose
// process ended too early. It returns the ids of those that it began. known has the starts that have a workflow, by their ids: it must not be nil, and grows. Processes may do
// so at the same time, and again: a run has one workflow.
func (c *Client) BeginAccepted(ctx context.Context, known map[string]bool) (begun []string, err error) {
	defer c.edge(ctx, &err)
	starts, err := c.log.Starts(ctx, landscape.StartAccepted, nil, 0)
	late := c.log.Now() - landscape.Micros(beginAfter.Microseconds())
	starts = slices.DeleteFunc(starts, func(s landscape.Start) bool { return s.Input == "" || s.Accepted > late || known[startOf(s).ID] })
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
		known[startOf(start).ID] = true
	}
	return begun, nil
}

// beginAccepted starts the workflow of a run that is asked for; false if it has one, or nobody wants it any more.
func (s *Session) beginAccepted(ctx context.Context, start landscape.Start) (bool, error) {
	if now, err := s.Log.LastStart(ctx, start.Run); err != nil || now != start {
		return false, err
	}
	e := &Execution{session: s, Run: start.Run, Pipeline: start.Pipeline, Workflow: workflows.WorkflowID(start.Run), by: By{Actor: start.Actor, Trigger: start.Trigger}}
	if err := json.Unmarshal([]byte(start.Input), &e.input.OpenInput); err != nil {
		return false, err
	}
	e.input.Files = s.Files
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
