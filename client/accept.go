package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// asked is the start that a request asks for.
func (r *StartRequest) asked() landscape.Start {
	start := startBy(r.By, r.Run, r.Pipeline, r.Params)
	if r.Pipeline != "" {
		start.Environment = cmp.Or(r.Environment, landscape.DefaultEnvironment)
	}
	switch {
	case r.Document != nil:
		start = startBy(r.By, r.Run, r.Document.Name(), r.Document.Params)
		start.Slot = r.Document.Slot
	case r.File != "":
		start.Pipeline = r.File
	}
	start.Rows = landscape.RowsText(r.kept)
	return start
}

// asked is the start that the execution begins with.
func (e *Execution) asked() landscape.Start {
	start := startBy(e.by, e.Run, e.Pipeline, e.input.Params)
	start.Slot, start.Environment, start.Rows = e.slot, e.input.Environment, landscape.RowsText(e.input.Rows)
	return start
}

func startBy(by By, run, name string, params map[string]string) landscape.Start {
	given, err := json.Marshal(activities.Params(params))
	if err != nil {
		panic(err) // texts always encode
	}
	return landscape.Start{
		Run: run, Pipeline: name, Params: string(given), Actor: by.Actor, Trigger: by.trigger(), Why: by.Why, Workflow: workflows.WorkflowID(run),
	}
}

// accept records that somebody asks for the run of the execution, before its workflow is started; one that resumes a run asks for none. On a
// cluster the worker that opens the run does that: who starts runs there need not have the right to write the record. A process that serves may
// end before its worker does.
func (s *Session) accept(ctx context.Context, e *Execution) error {
	if e.input.Resume != nil || s.OnCluster() && !s.served() {
		return nil
	}
	start := e.asked()
	if s.served() { // in the words of its worker
		start.Pipeline, start.Slot = cmp.Or(e.input.Pipeline, e.input.File), e.input.For
		if e.input.Pipeline != "" {
			start.Environment = cmp.Or(e.input.Environment, landscape.DefaultEnvironment)
		}
	}
	if e.lasting {
		start.Input = inputText(e.input.OpenInput)
	}
	err := s.Log.Accept(ctx, start)
	if s.served() && errors.Is(err, landscape.ErrReadOnly) {
		return nil // by this process
	}
	if errors.Is(err, landscape.ErrBegun) { // by somebody else, since this process looked
		return conflict(RunExists, err)
	}
	return err
}

// served reports whether a process that serves on the state folder executes the runs.
func (s *Session) served() bool { return s.OnCluster() && s.Gone != nil }

// refuse records that no run comes of a start, and returns the cause. A start that found somebody else working for the run is not recorded.
func (s *Session) refuse(ctx context.Context, start landscape.Start, cause error) error {
	known, ok := errors.AsType[*Error](cause)
	if s.OnCluster() || ok && (known.Kind == Busy || known.Code == InvalidRun) {
		return cause
	}
	return s.recordRefusal(ctx, start, cause)
}

// refuseAccepted is refuse for a start that accept may have recorded.
func (s *Session) refuseAccepted(ctx context.Context, e *Execution, cause error) error {
	known, ok := errors.AsType[*Error](cause)
	if !s.served() || ok && known.Kind == Busy {
		return s.refuse(ctx, e.asked(), cause)
	}
	if start, err := s.Log.LastStart(ctx, e.Run); err != nil || start.Decided != 0 {
		return cause
	}
	return s.recordRefusal(ctx, e.asked(), cause)
}

func (s *Session) recordRefusal(ctx context.Context, start landscape.Start, cause error) error {
	start.Actor = cmp.Or(start.Actor, s.Actor)
	start.State, start.Refusal, start.Reason = landscape.StartRefused, refusalOf(cause), cause.Error()
	if problems, ok := errors.AsType[pipeline.Problems](cause); ok {
		start.Reason = problems.Error()
	}
	if ctx.Err() != nil {
		start.State, start.Refusal = landscape.StartCancelled, ""
	}
	return errors.Join(cause, s.Log.Refuse(context.WithoutCancel(ctx), start))
}

// endStarts records that no run comes of the starts of this state folder, besides that of one run, whose process ended before the run began.
func (s *Session) endStarts(ctx context.Context, besides string) error {
	open, err := s.Log.Starts(ctx, landscape.StartAccepted, nil, 0)
	if err != nil {
		return err
	}
	waiting, err := s.Log.Starts(ctx, landscape.StartWaiting, nil, 0)
	if err != nil {
		return err
	}
	open = append(open, waiting...)
	for _, start := range open {
		if start.Run == besides || start.Input != "" || s.executes(start.Run) { // who serves next begins those with an input
			continue
		}
		ours, err := s.owns(ctx, start.Run)
		if err == nil && ours {
			start.State, start.Refusal, start.Reason = landscape.StartRefused, activities.RefusalClosed, "the process that was to begin the run ended"
			err = s.Log.Refuse(ctx, start)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
