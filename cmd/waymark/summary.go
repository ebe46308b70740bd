package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/text"
	"waymark/pipeline"
)

// report says what became of the run, and ends the program with the code that says the same.
func (a *app) report(e *client.Execution, end *client.Ending, o *client.Outcome) error {
	if o.Err != nil && o.Err.Code == client.RunSkipped {
		return a.print(e.Result(end, o), func(w io.Writer) error {
			_, err := fmt.Fprintln(w, o.Err.Message)
			return err
		})
	}
	if o.Err != nil {
		return a.reportLost(e, end, o)
	}
	if err := a.divert(o); err != nil {
		return err
	}
	ended := summary{status: o.Status, passed: o.Status.Passed, took: o.Took, place: e.Session().Place}
	if !e.Joined {
		ended.passed -= e.Before.Passed
	}
	if err := a.print(e.Result(end, o), func(w io.Writer) error { return a.writeSummary(w, ended) }); err != nil {
		return err
	}
	return stopOf(o).verdict(exitCodeOf(o.Run.Status))
}

// reportLost reports a run of which this execution has no recorded end.
func (a *app) reportLost(e *client.Execution, end *client.Ending, o *client.Outcome) error {
	failure := worded(o.Err)
	if o.Err.Cure == client.DiagnoseAndResume {
		verb := "failed"
		if end.Interrupted {
			verb = "was stopped"
		}
		failure = exitError{exitOf(o.Err.Kind), fmt.Errorf("run %s %s; %w\nwaymark doctor looks for the cause; then resume it: waymark resume %[1]s", e.Run, verb, o.Err)}
	}
	if result := e.Result(end, o); a.json && result != nil {
		if err := a.print(result, nil); err != nil {
			return err
		}
	}
	return failure
}

// left says of a run that this process does not follow, or does so no more, how to continue.
func (a *app) left(e *client.Execution, end *client.Ending) error {
	how := howToContinue(e.Run)
	if end.Interrupted {
		return exitError{exitInterrupted, fmt.Errorf("run %s continues; only following it was stopped\n%s", e.Run, how)}
	}
	if message, cure := e.Workerless(context.Background()); message != "" {
		a.note("%s", message+hintFor(cure, e.Run))
	}
	started := e.Detached()
	a.note("run %s is started on queue %s\n%s", e.Run, started.Queue, how)
	return a.print(started, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, e.Run)
		return err
	})
}

// howToContinue tells what can be done with a run that others execute.
func howToContinue(run string) string {
	return fmt.Sprintf("follow it: waymark follow %s\nstop it:   waymark cancel %[1]s --why TEXT", run)
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

// butTables says which sinks of a run that publishes nothing wrote all the same.
func butTables(sinks []string) string {
	if sinks != nil {
		return ", but the rows that it wrote into tables are there, part by part (" + strings.Join(sinks, ", ") + ")"
	}
	return ""
}

// stop is how a run stopped that is recorded.
type stop struct {
	run, reason string
	status      pipeline.RunStatus
	final       bool
	advice      client.Advice // of one that failed or is blocked
	tables      []string      // into which it wrote
}

// stopOf is how a run stopped, as its record tells.
func stopOf(o *client.Outcome) stop {
	run := o.Run
	return stop{run.ID, run.Reason, run.Status, run.Final, o.Status.Advice, client.TablesOf(run)}
}

// verdict says why a run is not complete, and how to resume it.
func (s stop) verdict(code int) error {
	goOn := "resume it: waymark resume " + s.run
	var said error
	switch {
	case s.status == pipeline.Failed:
		said = fmt.Errorf("run %s failed: %s\nwhat was done until then is recorded: waymark status %s\n%s", s.run, s.reason, s.run, adviceText(s.advice, s.run))
	case s.status == pipeline.Blocked && activities.PolicyFailed(s.reason):
		said = fmt.Errorf("run %s is blocked: %s\nits outputs are not published%s: %s", s.run, s.reason, butTables(s.tables), adviceText(s.advice, s.run))
	case s.status == pipeline.Blocked:
		said = fmt.Errorf("run %s is blocked: %s\na person must decide: waymark effects %s shows what, waymark resolve records the decision; then %s", s.run, s.reason, s.run, goOn)
	case s.final:
		said = fmt.Errorf("run %s was %s; it cannot be resumed", s.run, s.reason)
	case s.status == pipeline.Cancelled, s.status == pipeline.Interrupted:
		said = fmt.Errorf("run %s was %s; %s", s.run, s.reason, goOn)
	case code == exitDone:
		return nil
	}
	return exitError{code, said}
}

// summary is what is said of a run that has ended.
type summary struct {
	status *client.Status
	passed int64 // rows, since took began
	took   time.Duration
	place  string // of the record
}

// writeSummary is the summary for people.
func (a *app) writeSummary(w io.Writer, s summary) error {
	status := s.status
	fmt.Fprintf(w, "%s: %s in %.1f s, %s rows/s\n%s\n\n", status.Pipeline, status.Status, s.took.Seconds(), text.Grouped(perSecond(s.passed, s.took)), rowsLine(status))
	if err := writeSinks(w, status.Sinks); err != nil {
		return err
	}
	if a.quiet {
		return nil
	}
	fmt.Fprintf(w, "\nrecord   %s, run %s\n", s.place, status.ID)
	for _, policy := range status.Policies {
		if policy.Warns() {
			fmt.Fprintf(w, "warning  policy %s: %s\n", policy.Name, policy.Detail)
		}
	}
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
