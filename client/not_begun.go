package client

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/pipeline"
	"waymark/workflows"
)

// NotBegun returns the run that word names and that did not begin, as an Execution that has ended: its Outcome is that of the one that was to begin it. For
// a run whose result is that of another one, which is recorded or may be yet, it returns the id of that instead. It returns neither if word names no such run. missing
// is the error of Find.
func (c *Client) NotBegun(ctx context.Context, word string, missing error) (e *Execution, joined string, err error) {
	defer c.edge(ctx, &err)
	known, ok := errors.AsType[*Error](missing)
	if !ok || known.Code != StartRefused {
		return nil, "", nil
	}
	start, err := c.startOf(ctx, word)
	if err != nil || start == nil || start.Decided == 0 {
		return nil, "", err
	}
	end := &Ending{}
	switch start.State {
	case landscape.StartSkipped, landscape.StartSuperseded:
		end.Result = workflows.RunResult{Run: start.Run, Status: pipeline.RunStatus(start.State), Reason: start.Reason}
		if joined = admit.JoinedBy(start.Reason); joined == "" {
			break
		}
		if end.Err, err = c.notJoined(ctx, joined); err != nil || end.Err == nil {
			return nil, joined, err
		}
	case landscape.StartRefused:
		end.Err = temporal.NewNonRetryableApplicationError(start.Reason, start.Refusal, nil)
	}
	e = &Execution{
		Run: start.Run, Pipeline: start.Pipeline, Workflow: workflows.WorkflowID(start.Run), Joined: true, session: &Session{Log: c.log, Place: c.place}, ending: end,
	}
	e.inEpoch(0)
	return e, "", nil
}

// NotBegunAs returns what became of a request for a run that did not begin, in figures, and why. Both are nil of a request of which a run came, or may come yet.
func NotBegunAs(start *Start) (*Result, *Error) {
	end := &Ending{}
	switch start.State {
	case landscape.StartSkipped, landscape.StartSuperseded:
		end.Result = workflows.RunResult{Run: start.Run, Status: pipeline.RunStatus(start.State), Reason: start.Reason}
	case landscape.StartRefused:
		end.Err = temporal.NewNonRetryableApplicationError(start.Reason, start.Refusal, nil)
	case landscape.StartCancelled:
	default:
		return nil, nil
	}
	e := &Execution{Run: start.Run, Pipeline: start.Pipeline, Joined: true, session: &Session{}}
	e.inEpoch(0)
	o := &Outcome{Start: start.State, Err: e.whyNot(end, landscape.Start{State: start.State, Reason: start.Reason})}
	return e.Result(end, o), o.Err
}

// notJoined returns why a run did not begin whose result is that of another one; nil if it did, or may.
func (c *Client) notJoined(ctx context.Context, run string) (why, err error) {
	if _, err := c.log.Run(ctx, run); !errors.Is(err, landscape.ErrNotFound) {
		return nil, err
	}
	start, err := c.log.LastStart(ctx, run)
	if err != nil || start.Decided == 0 {
		return nil, err
	}
	return workflows.NotJoined(run, start.Reason), nil
}

// Ending returns how the execution ended; nil if it has not, or nobody saw it.
func (e *Execution) Ending() *Ending { return e.ending }
