package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// startAway starts a run of a deployed pipeline at the server, and follows it.
func (a *app) startAway(ctx context.Context, o starting) error {
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return err
	}
	rows, err := a.readRows(o.rows)
	if err != nil {
		return err
	}
	r, err := a.reach()
	if err != nil {
		return err
	}
	request := remote.StartRequest{
		Pipeline: o.pipeline, Environment: o.environment, Params: params, For: o.slot.For, Schedule: o.slot.Schedule, Run: o.id, Why: o.why, Rows: rows,
	}
	run, key := o.id, ""
	if run == "" {
		key = remote.NewKey()
		run = remote.RunOf(o.pipeline, key)
	}
	began := time.Now()
	report, _, err := r.Start(ctx, key, request)
	switch {
	case ctx.Err() != nil && err != nil:
		return exitError{exitInterrupted, fmt.Errorf("stopped; whether run %s starts is not known here: waymark status %[1]s", run)}
	case err != nil:
		return a.notBegun(run, o.pipeline, err)
	case o.detach:
		return a.leftAway(r, report.Start)
	}
	return a.followAway(ctx, r, run, following{began: began})
}

// leftAway says of a run that is not followed how to continue.
func (a *app) leftAway(r *away, start *client.Start) error {
	a.note("run %s is started at %s\n%s", start.Run, r, howToContinue(start.Run))
	return a.print(client.Detached{Type: "run_started", Run: start.Run, Workflow: start.Workflow}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, start.Run)
		return err
	})
}

// following is how a run is followed at a server.
type following struct {
	began time.Time // when this process started or resumed it; zero for a run that others started
	again bool      // it is resumed: how it had ended before is not its end
	after int64     // of one that is resumed: the epoch that had ended
	past  int64     // of one that is resumed: rows that had gone through the steps before
}

// followNamed follows the run that word means to its end.
func (a *app) followNamed(ctx context.Context, word string) error {
	r, err := a.reach()
	if err != nil {
		return err
	}
	run, err := r.Client.Find(ctx, word)
	known, ok := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return a.followAway(ctx, r, run.ID, following{})
	case ok && known.Run != "":
		return a.followAway(ctx, r, known.Run, following{})
	}
	return err
}

// resumePatience is how long a resumed run may take to say so on record.
const resumePatience = time.Minute

// followAway shows how far a run is until it has ended, and says what became of it.
func (a *app) followAway(ctx context.Context, r *away, run string, f following) error {
	view := a.progressView(0, landscape.Progress{})
	tell := func() {
		if !f.began.IsZero() { // else the person asked for it
			view.say(fmt.Sprintf("following run %s at %s; Ctrl-C stops following it, not the run", run, r))
		}
	}
	report, err := showAway(ctx, r, run, view, sync.OnceFunc(tell))
	for until := time.Now().Add(resumePatience); err == nil && f.again && report.Epoch <= f.after && time.Now().Before(until); {
		time.Sleep(firstLook)
		report, err = showAway(ctx, r, run, view, func() {})
	}
	view.close()
	switch {
	case err != nil && ctx.Err() != nil:
		return exitError{exitInterrupted, fmt.Errorf("run %s continues; only following it was stopped\n%s", run, howToContinue(run))}
	case err != nil:
		return err
	case f.again && report.Epoch <= f.after:
		return &client.Error{Kind: client.Failed, Code: client.RunFailed, Cure: client.ShowStatus, Run: run, Message: fmt.Sprintf("run %s could not be resumed", run)}
	}
	return a.reportAway(ctx, r, report, f)
}

// firstLook is how long is waited before a resumed run is looked at again.
const firstLook = 200 * time.Millisecond

// showAway shows how far a run is, and returns how it ended. It calls going as long as the run is running.
func showAway(ctx context.Context, r *away, run string, view progressView, going func()) (*client.RunReport, error) {
	for e, err := range r.Follow(ctx, run) {
		if err != nil {
			return nil, err
		}
		if e.Ended != nil {
			return e.Ended, nil
		}
		if e.Progress.Status == pipeline.Running {
			going()
		}
		view.show(e.Progress)
	}
	return nil, ctx.Err()
}

// reportAway says what became of a run, and ends the program with the code that says the same.
func (a *app) reportAway(ctx context.Context, r *away, report *client.RunReport, f following) error {
	if report.Start != nil {
		return a.neverBegan(ctx, r, report.Start)
	}
	took, _ := report.Took()
	if !f.began.IsZero() {
		took = time.Since(f.began)
	}
	ended := summary{status: report.Status, passed: report.Passed - f.past, took: took, place: r.String()}
	if err := a.print(client.ResultOf(report.Status, took), func(w io.Writer) error { return a.writeSummary(w, ended) }); err != nil {
		return err
	}
	run := &report.Run
	return stop{run.ID, run.Reason, run.Status, run.Final, report.Advice, report.Tables}.verdict(exitCodeOf(run.Status))
}

// neverBegan says why no run came of a request, or what became of the run that it joined.
func (a *app) neverBegan(ctx context.Context, r *away, start *client.Start) error {
	if joined := start.Joined(); joined != "" {
		return a.followAway(ctx, r, joined, following{})
	}
	result, failed := client.NotBegunAs(start)
	if failed == nil {
		return &client.Error{Kind: client.Failed, Code: client.RunFailed, Cure: client.ShowStatus, Run: start.Run, Message: fmt.Sprintf("run %s is %s", start.Run, start.State)}
	}
	return a.printNotBegun(result, failed)
}

// printNotBegun says why no run came of a request. That others have its place is no error.
func (a *app) printNotBegun(result *client.Result, failed *client.Error) error {
	if failed.Code == client.RunSkipped {
		return a.print(result, func(w io.Writer) error {
			_, err := fmt.Fprintln(w, failed.Message)
			return err
		})
	}
	if a.json {
		if err := a.print(result, nil); err != nil {
			return err
		}
	}
	return failed
}

// cancelAway cancels the run that word means, also one that has not begun.
func (a *app) cancelAway(ctx context.Context, word, why string, final bool) error {
	r, err := a.reach()
	if err != nil {
		return err
	}
	run, err := r.Client.Find(ctx, word)
	if err != nil {
		return a.cancelUnbegun(ctx, r, why, err)
	}
	done, err := r.Cancel(ctx, run.ID, why, final)
	if err != nil {
		return err
	}
	report, err := r.Run(ctx, run.ID)
	if err != nil {
		return err
	}
	return a.printCancelled(orderResult{Run: run.ID, Changed: done.Changed, Deleted: done.Deleted}, final || report.Final, report.Tables)
}

// cancelUnbegun cancels a run that is not recorded, as missing names it.
func (a *app) cancelUnbegun(ctx context.Context, r *away, why string, missing error) error {
	known, ok := errors.AsType[*client.Error](missing)
	if !ok || known.Run == "" {
		return missing
	}
	report, err := r.Run(ctx, known.Run)
	if err != nil || report.Start == nil {
		return cmp.Or(err, missing)
	}
	if report.Start.State == landscape.StartCancelled {
		return a.printOrder(orderResult{Run: known.Run, Order: workflows.CancelUpdate}, "is cancelled")
	}
	if _, err := r.Cancel(ctx, known.Run, why, false); err != nil {
		return err
	}
	return a.printOrder(orderResult{Run: known.Run, Order: workflows.CancelUpdate, Changed: true}, "is cancelled before it began; nothing was read or written")
}

// resumeAway resumes the run that word means, and follows it.
func (a *app) resumeAway(ctx context.Context, word string, o resumption) error {
	if err := whyGiven(o.why); err != nil {
		return err
	}
	r, err := a.reach()
	if err != nil {
		return err
	}
	found, err := r.Client.Find(ctx, word)
	if err != nil {
		return err
	}
	run, err := r.Run(ctx, found.ID)
	if err != nil {
		return err
	}
	began := time.Now()
	done, err := r.Resume(ctx, run.ID, remote.ResumeRequest{Why: o.why, Recorded: o.recorded})
	switch {
	case err != nil && ctx.Err() != nil:
		return exitError{exitInterrupted, fmt.Errorf("stopped; whether run %s is resumed is not known here: waymark status %[1]s", run.ID)}
	case err != nil:
		return err
	case done.Order == workflows.ContinueUpdate:
		return a.printOrder(orderResult{Run: run.ID, Order: done.Order, Changed: done.Changed}, "continues")
	case !done.Changed:
		return a.printOrder(orderResult{Run: run.ID, Order: done.Order}, fmt.Sprintf("is %s", run.Run.Status))
	case o.detach:
		return a.leftAway(r, &client.Start{Run: run.ID, Workflow: workflows.WorkflowID(run.ID)})
	}
	return a.followAway(ctx, r, run.ID, following{began: began, again: run.Run.Status != pipeline.Running, after: run.Epoch, past: run.Passed})
}

// retryAway retries the rows in quarantine of the run that word means, and follows the run that does.
func (a *app) retryAway(ctx context.Context, word string, o retrying) error {
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return err
	}
	if err := whyGiven(o.why); err != nil {
		return err
	}
	r, err := a.reach()
	if err != nil {
		return err
	}
	of, err := r.Client.Find(ctx, word)
	if err != nil {
		return err
	}
	id, began := cmp.Or(o.id, client.NewRunID()), time.Now()
	retry, err := r.Retry(ctx, of.ID, remote.RetryRequest{Why: o.why, Version: o.version, Params: params, Run: id})
	if err != nil {
		return a.notBegun(id, of.Pipeline, err)
	}
	if err := a.tellRetry(retry); err != nil || retry.Rows == 0 {
		return err
	}
	return a.followAway(ctx, r, retry.Run, following{began: began})
}
