package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
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
	took := time.Since(e.started)
	ctx := context.Background()
	run, recorded, err := e.onRecord(ctx)
	if err != nil {
		return err
	}
	if !recorded {
		return e.neverBegan(end, took)
	}
	status, err := e.machine.record.status(ctx, run.ID)
	if err != nil {
		return err
	}
	if run.Status == pipeline.Running {
		return e.unrecorded(end, status, took)
	}
	result := resultOf(status, took)
	code := exitCodeOf(run.Status)
	if end.interrupted {
		code = exitInterrupted
	}
	if code == exitFailed || code == exitInterrupted {
		result.Error = run.Reason
	}
	if err := e.app.print(result, func(w io.Writer) error { return e.write(w, status, took) }); err != nil {
		return err
	}
	return e.verdict(code, run.Reason)
}

// neverBegan reports a run that ended before it had a record: nothing was read and nothing was written.
func (e *execution) neverBegan(end ending, took time.Duration) error {
	code, reason := exitFailed, "it ended before it began"
	switch {
	case end.interrupted:
		code, reason = exitInterrupted, "stopped before the run began; nothing was read or written"
	case end.err != nil:
		reason = cause(end.err)
	}
	if e.app.json {
		result := runResult{
			Type: "run_result", Run: e.id, Pipeline: e.doc.plan.Document.Pipeline.Name, Status: pipeline.Failed,
			Seconds: took.Seconds(), Sinks: map[string]sinkResult{}, Error: reason,
		}
		if err := e.app.print(result, nil); err != nil {
			return err
		}
	}
	return exitError{code, fmt.Errorf("%s", reason)}
}

// unrecorded reports a run whose end could not be put on record, where it is running until the next run marks it.
func (e *execution) unrecorded(end ending, status *runStatus, took time.Duration) error {
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
	return exitError{code, fmt.Errorf("run %s %s; %s\nwaymark doctor looks for the cause; the next run marks this one interrupted", e.id, verb, reason)}
}

func resultOf(status *runStatus, took time.Duration) runResult {
	result := runResult{
		Type: "run_result", Run: status.Run, Pipeline: status.Pipeline, Status: status.Status, Rows: status.Rows,
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

func (e *execution) verdict(code int, reason string) error {
	switch code {
	case exitFailed:
		return exitError{code, fmt.Errorf("run %s failed: %s\nwhat was done until then is on record: waymark status %s", e.id, reason, e.id)}
	case exitInterrupted:
		return exitError{code, fmt.Errorf("run %s was stopped; look at it with: waymark status %s", e.id, e.id)}
	case exitDone:
		return nil
	default:
		return exitError{code: code}
	}
}

// write is the summary for people.
func (e *execution) write(w io.Writer, status *runStatus, took time.Duration) error {
	fmt.Fprintf(w, "%s: %s in %.1f s, %s rows/s\n%s\n\n", status.Pipeline, status.Status, took.Seconds(),
		grouped(perSecond(status.Rows, took)), status.rowsLine())
	if err := writeSinks(w, status.Sinks); err != nil {
		return err
	}
	if e.app.quiet {
		return nil
	}
	fmt.Fprintf(w, "\nrecord   %s, run %s\n", e.machine.record.place, status.Run)
	if status.Failed > 0 {
		fmt.Fprintf(w, "refused  waymark errors %s\n", status.Run)
	}
	if status.Rows > 0 {
		fmt.Fprintf(w, "explain  waymark explain %s %s\n", status.Run, status.firstRow())
	}
	return nil
}

// firstRow says how to ask for the first row: with several sources, by the id of its token.
func (s *runStatus) firstRow() string {
	var sources []string
	for _, node := range s.Nodes {
		if node.Kind == landscape.SourceNode {
			sources = append(sources, node.Node)
		}
	}
	if len(sources) > 1 {
		return "--token " + sources[0] + ":1"
	}
	return "--row 1"
}
