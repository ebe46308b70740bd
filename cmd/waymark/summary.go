package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// runResult is the last line of `waymark run --json`.
type runResult struct {
	Type        string                `json:"type"` // always run_result
	Run         string                `json:"run"`
	Pipeline    string                `json:"pipeline"`
	Status      pipeline.RunStatus    `json:"status"`
	Rows        int64                 `json:"rows_read"`
	Quarantined int64                 `json:"rows_quarantined"`
	Refused     int64                 `json:"rows_refused"` // the quarantined ones, and those that a sink got or that were discarded
	Filtered    int64                 `json:"rows_filtered"`
	Discarded   int64                 `json:"rows_discarded"`
	Seconds     float64               `json:"seconds"`
	Sinks       map[string]sinkResult `json:"sinks"`
	Error       string                `json:"error,omitempty"`
}

type sinkResult struct {
	Rows   int64  `json:"rows"`
	Path   string `json:"path,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// report says what became of the run, and ends the program with the code that says the same.
func (e *execution) report(end ending, err error) error {
	if err != nil {
		return err
	}
	if end.detached {
		return e.left(end)
	}
	took := time.Since(e.started)
	ctx := context.Background()
	run, recorded, err := e.onRecord(ctx)
	if err != nil {
		return err
	}
	if !recorded {
		return e.neverBegan(end, took)
	}
	if run.Epoch != e.epoch() {
		return e.notOurs(end, run)
	}
	if e.joined && run.Finished != 0 {
		took = run.Finished.Time().Sub(run.Started.Time())
	}
	status, err := e.machine.record.client.Counts(ctx, run.ID)
	if err != nil {
		return err
	}
	if run.Status == pipeline.Running {
		return e.unrecorded(end, status, took)
	}
	if err := e.divert(run, status); err != nil {
		return err
	}
	if client.Complete(run.Status) {
		if err := e.machine.forgetInput(run.ID); err != nil {
			e.app.note("what is kept of standard input stays where it is: %v", err)
		}
	}
	result := resultOf(status, took)
	code := exitCodeOf(run.Status)
	if code == exitFailed || code == exitInterrupted {
		result.Error = run.Reason
	}
	if err := e.app.print(result, func(w io.Writer) error { return e.write(w, status, took) }); err != nil {
		return err
	}
	return verdict(code, run)
}

// detached is what `waymark run --detach --json` says.
type detached struct {
	Type     string `json:"type"` // always run_started
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Queue    string `json:"queue"`
}

// left says of a run that this process does not follow, or does so no more, how to go on with it.
func (e *execution) left(end ending) error {
	id := e.id()
	how := fmt.Sprintf("follow it: waymark follow %s\nstop it:   waymark cancel %s --why TEXT", id, id)
	if end.interrupted {
		return exitError{exitInterrupted, fmt.Errorf("run %s goes on; only following it was stopped\n%s", id, how)}
	}
	if waits := e.workerless(context.Background()); waits != "" {
		e.app.note("%s", waits)
	}
	e.app.note("run %s is started on queue %s\n%s", id, e.machine.queue, how)
	result := detached{"run_started", id, workflows.WorkflowID(id), e.machine.queue}
	return e.app.print(result, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, id)
		return err
	})
}

// neverBegan reports a run that ended before it had a record: nothing was read and nothing was written.
func (e *execution) neverBegan(end ending, took time.Duration) error {
	code, reason := exitFailed, "it ended before it began"
	switch {
	case end.interrupted:
		code, reason = exitInterrupted, "stopped before the run began; nothing was read or written"
	case end.err != nil:
		reason = cause(end.err)
		if e.refusal(end.err) {
			code = exitUsage
		}
		reason += e.elsewhere(end.err)
	case e.follows:
		reason = fmt.Sprintf("its workflow ended, and %s has no run %s: do the workers keep their record elsewhere? Say where with --landscape", e.machine.record.place, e.id())
	}
	if e.app.json {
		result := runResult{
			Type: "run_result", Run: e.id(), Pipeline: e.pipeline, Status: pipeline.Failed,
			Seconds: took.Seconds(), Sinks: map[string]sinkResult{}, Error: reason,
		}
		if err := e.app.print(result, nil); err != nil {
			return err
		}
	}
	return exitError{code, fmt.Errorf("%s", reason)}
}

// notOurs reports a run that this process did not get, or does not have any more: its record says nothing of this process.
func (e *execution) notOurs(end ending, run landscape.Run) error {
	switch {
	case run.Epoch > e.epoch():
		return fmt.Errorf("run %s was taken up again by another process, which goes on with it: waymark status %s", run.ID, run.ID)
	case end.interrupted:
		return exitError{exitInterrupted, fmt.Errorf("stopped before run %s was taken up; nothing was changed", run.ID)}
	case end.err != nil && e.refusal(end.err):
		return wrongUse(errors.New(cause(end.err)))
	case end.err != nil:
		return fmt.Errorf("run %s could not be taken up: %s%s", run.ID, cause(end.err), e.elsewhere(end.err))
	default:
		return fmt.Errorf("run %s could not be taken up", run.ID)
	}
}

// refusal reports whether workers refused a run for what the person at the terminal can cure; nothing was written then. In this
// process that is found out before there is a workflow.
func (e *execution) refusal(err error) bool {
	application, is := errors.AsType[*temporal.ApplicationError](err)
	return is && e.follows && slices.Contains([]string{
		activities.TypeDocument, activities.TypeInput, activities.TypePlanChanged, activities.TypeSourceChanged,
		activities.TypeNotResumable, activities.TypeStateDiverged, activities.TypeElsewhere, activities.TypeNotRetryable,
	}, application.Type())
}

// elsewhere adds to an error of workers what it is often about, when they do not find what this process stored.
func (e *execution) elsewhere(err error) string {
	application, is := errors.AsType[*temporal.ApplicationError](err)
	if !is || !e.follows {
		return ""
	}
	switch application.Type() {
	case activities.TypeMissing:
		return "; do the workers use the same --payloads as you do?"
	case activities.TypeUnknownRun:
		return "; do the workers use the same --landscape as you do?"
	}
	return ""
}

// unrecorded reports a run whose end could not be put on record, where it is running for ever if nobody resumes it.
func (e *execution) unrecorded(end ending, status *client.Status, took time.Duration) error {
	code, verb, as := exitFailed, "failed", pipeline.Failed
	if end.interrupted {
		code, verb, as = exitInterrupted, "was stopped", pipeline.Interrupted
	}
	reason := "the record could not be told"
	if end.err != nil {
		reason += ": " + cause(end.err)
	}
	if e.app.json {
		result := resultOf(status, took)
		result.Status, result.Error = as, reason
		if err := e.app.print(result, nil); err != nil {
			return err
		}
	}
	return exitError{code, fmt.Errorf("run %s %s; %s\nwaymark doctor looks for the cause; then go on with: waymark resume %s", e.id(), verb, reason, e.id())}
}

func resultOf(status *client.Status, took time.Duration) runResult {
	result := runResult{
		Type: "run_result", Run: status.ID, Pipeline: status.Pipeline, Status: status.Status, Rows: status.Rows,
		Quarantined: status.Quarantined, Refused: status.Failed, Filtered: status.Filtered, Discarded: status.Discarded,
		Seconds: took.Seconds(), Sinks: map[string]sinkResult{},
	}
	for _, sink := range status.Sinks {
		result.Sinks[sink.Sink] = sinkResult{sink.Finalized, sink.Path, sink.SHA256}
	}
	return result
}

func exitCodeOf(status pipeline.RunStatus) int {
	switch status {
	case pipeline.Completed, pipeline.Empty:
		return exitDone
	case pipeline.CompletedWithFailures:
		return exitRefused
	case pipeline.Cancelled, pipeline.Interrupted:
		return exitInterrupted
	default:
		return exitFailed
	}
}

// verdict says why a run that is on record is not complete, and how to go on with it.
func verdict(code int, run landscape.Run) error {
	goOn := "go on with: waymark resume " + run.ID
	var said error
	switch {
	case run.Status == pipeline.Failed:
		said = fmt.Errorf("run %s failed: %s\nwhat was done until then is on record: waymark status %s\n%s", run.ID, run.Reason, run.ID, adviceText(client.Advice{Cures: client.AfterFailure(run)}, run.ID))
	case run.Status == pipeline.Blocked:
		said = fmt.Errorf("run %s is blocked: %s\na person must decide: waymark effects %s shows what, waymark resolve records the decision; then %s", run.ID, run.Reason, run.ID, goOn)
	case run.Final:
		said = fmt.Errorf("run %s was %s; nobody may go on with it", run.ID, run.Reason)
	case run.Status == pipeline.Cancelled, run.Status == pipeline.Interrupted:
		said = fmt.Errorf("run %s was %s; %s", run.ID, run.Reason, goOn)
	case code == exitDone:
		return nil
	}
	return exitError{code, said}
}

// write is the summary for people.
func (e *execution) write(w io.Writer, status *client.Status, took time.Duration) error {
	passed := status.Passed
	if !e.joined {
		passed -= e.before.Passed
	}
	fmt.Fprintf(w, "%s: %s in %.1f s, %s rows/s\n%s\n\n", status.Pipeline, status.Status, took.Seconds(),
		grouped(perSecond(passed, took)), rowsLine(status))
	if err := writeSinks(w, status.Sinks); err != nil {
		return err
	}
	if e.app.quiet {
		return nil
	}
	fmt.Fprintf(w, "\nrecord   %s, run %s\n", e.machine.record.place, status.ID)
	if status.Failed > 0 {
		fmt.Fprintf(w, "refused  waymark errors %s\n", status.ID)
	}
	if status.Rows > 0 {
		fmt.Fprintf(w, "explain  waymark explain %s %s\n", status.ID, firstRow(status))
	}
	return nil
}

// firstRow says how to ask for the first row: with several sources, by the id of its token.
func firstRow(s *client.Status) string {
	if sources := s.Sources(); len(sources) > 1 {
		return "--token " + sources[0] + ":1"
	}
	return "--row 1"
}
