package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/text"
	"waymark/landscape"
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
	if err := a.print(e.Result(end, o), func(w io.Writer) error { return a.writeSummary(w, e, o) }); err != nil {
		return err
	}
	return verdict(exitCodeOf(o.Run.Status), o.Run)
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
	how := fmt.Sprintf("follow it: waymark follow %s\nstop it:   waymark cancel %s --why TEXT", e.Run, e.Run)
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
func butTables(run landscape.Run) string {
	if sinks := client.TablesOf(run); sinks != nil {
		return ", but the rows that it wrote into tables are there, part by part (" + strings.Join(sinks, ", ") + ")"
	}
	return ""
}

// verdict says why a recorded run is not complete, and how to resume it.
func verdict(code int, run landscape.Run) error {
	goOn := "resume it: waymark resume " + run.ID
	var said error
	switch {
	case run.Status == pipeline.Failed:
		said = fmt.Errorf("run %s failed: %s\nwhat was done until then is recorded: waymark status %s\n%s", run.ID, run.Reason, run.ID, adviceText(client.Advice{Cures: client.AfterFailure(run)}, run.ID))
	case run.Status == pipeline.Blocked && activities.PolicyFailed(run.Reason):
		said = fmt.Errorf("run %s is blocked: %s\nits outputs are not published%s: %s", run.ID, run.Reason, butTables(run), adviceText(client.Advice{Cures: client.AfterBlocked(run.Reason)}, run.ID))
	case run.Status == pipeline.Blocked:
		said = fmt.Errorf("run %s is blocked: %s\na person must decide: waymark effects %s shows what, waymark resolve records the decision; then %s", run.ID, run.Reason, run.ID, goOn)
	case run.Final:
		said = fmt.Errorf("run %s was %s; it cannot be resumed", run.ID, run.Reason)
	case run.Status == pipeline.Cancelled, run.Status == pipeline.Interrupted:
		said = fmt.Errorf("run %s was %s; %s", run.ID, run.Reason, goOn)
	case code == exitDone:
		return nil
	}
	return exitError{code, said}
}

// writeSummary is the summary for people.
func (a *app) writeSummary(w io.Writer, e *client.Execution, o *client.Outcome) error {
	status, passed := o.Status, o.Status.Passed
	if !e.Joined {
		passed -= e.Before.Passed
	}
	fmt.Fprintf(w, "%s: %s in %.1f s, %s rows/s\n%s\n\n", status.Pipeline, status.Status, o.Took.Seconds(),
		text.Grouped(perSecond(passed, o.Took)), rowsLine(status))
	if err := writeSinks(w, status.Sinks); err != nil {
		return err
	}
	if a.quiet {
		return nil
	}
	fmt.Fprintf(w, "\nrecord   %s, run %s\n", e.Session().Place, status.ID)
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
