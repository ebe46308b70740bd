package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
)

// tokenVariable is the environment variable with the access token for a server. It is not a flag: everybody on a machine can see those of a process.
const tokenVariable = "WAYMARK_TOKEN"

// away is the record of a server.
type away struct{ *remote.Client }

// reach returns the record of the server that is named. Nothing is sent yet.
func (a *app) reach() (*away, error) {
	token, _ := a.env(tokenVariable)
	if strings.TrimSpace(token) == "" {
		return nil, wrongUsef("--server %s needs an access token: set %s to one. Somebody who has access to the record makes it with waymark access grant", withoutUser(a.server), tokenVariable)
	}
	c, err := remote.New(remote.Options{URL: a.server, Token: token})
	if known, ok := errors.AsType[*client.Error](err); ok {
		return nil, wrongUsef("--server: %s", known.Message)
	}
	return &away{c}, err
}

// withoutUser is an address that can be shown: without what somebody may have put there to sign in.
func withoutUser(address string) string {
	if parsed, err := url.Parse(address); err == nil && parsed.User == nil {
		return address
	}
	return "…"
}

// Find returns as much of the run that word means as a server tells.
func (r *away) Find(ctx context.Context, word string) (landscape.Run, error) {
	run, err := r.Client.Find(ctx, word)
	return landscape.Run{RunHead: landscape.RunHead{
		ID: run.ID, Pipeline: run.Pipeline, Status: run.Status, Final: run.Final, Epoch: run.Epoch, Reason: run.Reason, Environment: run.Environment,
		Started: landscape.Micros(run.Started),
	}}, err
}

// FindBegun is Find: the server refuses an order that a run cannot obey.
func (r *away) FindBegun(ctx context.Context, word string) (landscape.Run, error) {
	return r.Find(ctx, word)
}

// unknownCount is how many runs there are if a server has more than are shown.
const unknownCount = -1

func (r *away) Runs(ctx context.Context, limit int) (runs []client.Run, total int, err error) {
	most := limit
	if limit > 0 {
		most++ // to know whether there are more
	}
	for run, err := range r.Client.Runs(ctx, remote.RunFilter{Limit: most}) {
		if err != nil {
			return nil, 0, err
		}
		runs = append(runs, run)
	}
	if limit > 0 && len(runs) > limit {
		return runs[:limit], unknownCount, nil
	}
	return runs, len(runs), nil
}

func (r *away) Report(ctx context.Context, run landscape.Run) (*client.RunReport, error) {
	return r.Run(ctx, run.ID)
}

func (r *away) Files(ctx context.Context, run string) (int, error) {
	report, err := r.Run(ctx, run)
	if err != nil {
		return 0, err
	}
	return report.Files, nil
}

func (r *away) Effects(ctx context.Context, run, after string, limit int, _ bool) ([]client.Effect, error) {
	return since(r.Client.Effects(ctx, run, most(after, limit)), after, limit, func(e client.Effect) string { return e.ID })
}

func (r *away) RowErrors(ctx context.Context, run, after string, limit int) ([]client.RowError, error) {
	return since(r.Client.RowErrors(ctx, run, most(after, limit)), after, limit, func(e client.RowError) string { return e.ID })
}

func (r *away) Rows(ctx context.Context, run string, filter client.RowFilter, after string, limit int) ([]client.Row, error) {
	return since(r.Client.Rows(ctx, run, filter, most(after, limit)), after, limit, func(row client.Row) string { return row.Token })
}

func (r *away) Starts(ctx context.Context, state landscape.StartState, after string, limit int) ([]client.Start, error) {
	return since(r.Client.Starts(ctx, state, most(after, limit)), after, limit, func(s client.Start) string { return s.ID })
}

// most is how many items of a list are asked for: all, if it is to begin after one of them.
func most(after string, limit int) int {
	if after != "" {
		return 0
	}
	return limit
}

// since collects the items of a list after the one with an id, or from the first one if that is empty, at most limit of them unless that is 0.
func since[T any](items iter.Seq2[T, error], after string, limit int, id func(T) string) ([]T, error) {
	found, begun := []T{}, after == ""
	for item, err := range items {
		switch {
		case err != nil:
			return nil, err
		case begun:
			found = append(found, item)
		}
		if limit > 0 && len(found) == limit {
			break
		}
		begun = begun || id(item) == after
	}
	if !begun {
		return nil, &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: fmt.Sprintf("--after %q names nothing in the list", after)}
	}
	return found, nil
}

// named returns the id of the run that word means; an empty word is no run.
func (r *away) named(ctx context.Context, word string) (string, error) {
	if word == "" {
		return "", nil
	}
	run, err := r.Client.Find(ctx, word)
	return run.ID, err
}

func (r *away) Compare(ctx context.Context, was, is string) (*client.Comparison, error) {
	older, newer, err := r.bothNamed(ctx, was, is)
	if err != nil {
		return nil, err
	}
	return r.Client.Compare(ctx, older, newer)
}

func (r *away) ComparedRows(ctx context.Context, was, is string, filter compare.Filter, after string, limit int) ([]compare.PairedRow, error) {
	older, newer, err := r.bothNamed(ctx, was, is)
	if err != nil {
		return nil, err
	}
	return since(r.Client.ComparedRows(ctx, older, newer, filter, most(after, limit)), after, limit, func(row compare.PairedRow) string { return row.Was })
}

// bothNamed returns the ids of the runs that two words mean.
func (r *away) bothNamed(ctx context.Context, was, is string) (older, newer string, err error) {
	if newer, err = r.named(ctx, is); err == nil {
		older, err = r.named(ctx, was)
	}
	return older, newer, err
}

func (r *away) Explain(ctx context.Context, q audit.Question) (_ *audit.Explanation, err error) {
	if q.Run, err = r.named(ctx, q.Run); err != nil {
		return nil, err
	}
	return r.Client.Explain(ctx, atMost(q))
}

func (r *away) Dossier(ctx context.Context, q audit.Question, to io.Writer) (err error) {
	if q.Run, err = r.named(ctx, q.Run); err != nil {
		return err
	}
	return r.Client.Dossier(ctx, atMost(q), to)
}

func (r *away) WhyNot(ctx context.Context, q audit.Question, sink string) (_ *audit.Denial, err error) {
	if q.Run, err = r.named(ctx, q.Run); err != nil {
		return nil, err
	}
	return r.Client.WhyNot(ctx, atMost(q), sink)
}

// atMost leaves out of a question what a server does not ask and nobody chose.
func atMost(q audit.Question) audit.Question {
	if q.Limit == descendants {
		q.Limit = 0
	}
	return q
}

func (r *away) Lookup(ctx context.Context, q client.LookupRequest) (client.LookupResult, error) {
	run, err := r.named(ctx, q.Run)
	if err != nil {
		return client.LookupResult{}, err
	}
	return r.Client.Lookup(ctx, q.Word, run)
}

func (r *away) DiffPipelines(ctx context.Context, environment, from, to string, _ map[string]string) (*client.PipelineDiff, error) {
	return r.Client.DiffPipelines(ctx, environment, from, to)
}

func (r *away) Promote(ctx context.Context, q client.RedeployRequest) (*client.Redeployed, error) {
	return redeployed(ctx, q, r.Client.Promote)
}

func (r *away) Rollback(ctx context.Context, q client.RedeployRequest) (*client.Redeployed, error) {
	return redeployed(ctx, q, r.Client.Rollback)
}

func (r *away) Retire(ctx context.Context, q client.RedeployRequest) (*client.Redeployed, error) {
	return redeployed(ctx, q, r.Client.Retire)
}

func (r *away) Unretire(ctx context.Context, q client.RedeployRequest) (*client.Redeployed, error) {
	return redeployed(ctx, q, r.Restore)
}

// redeployed gives an order about a pipeline, NAME or NAME@VERSION.
func redeployed(
	ctx context.Context, q client.RedeployRequest, order func(context.Context, string, remote.RedeployRequest) (*client.Redeployed, error),
) (*client.Redeployed, error) {
	body := remote.RedeployRequest{Why: q.Why, Environment: q.Environment, From: q.From, Version: q.Version}
	name, number, versioned := strings.Cut(q.Pipeline, "@")
	if versioned {
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version < 1 {
			return nil, wrongUsef("%s: a version is a number from 1", q.Pipeline)
		}
		body.Version = version
	}
	return order(ctx, name, body)
}

func (r *away) Pause(ctx context.Context, run landscape.Run, by client.By) (changed bool, err error) {
	return r.Client.Pause(ctx, run.ID, by.Why)
}

func (r *away) Resolve(ctx context.Context, run landscape.Run, effect string, applied bool, by client.By) (client.Resolved, error) {
	done, err := r.Client.Resolve(ctx, run.ID, remote.ResolveRequest{Why: by.Why, Effect: effect, Applied: applied})
	if err != nil {
		return client.Resolved{}, err
	}
	report, err := r.Run(ctx, run.ID)
	if err != nil {
		return client.Resolved{}, err
	}
	return client.Resolved{Advice: report.Advice, Changed: done.Changed}, nil
}

// ScheduleID returns the id of the schedule that word means among those that the server has.
func (r *away) ScheduleID(ctx context.Context, environment, word string) (string, error) {
	list, err := r.Schedules(ctx, environment)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range list {
		if id := list[i].ID; id == word || strings.HasSuffix(id, "/"+word) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", &client.Error{Kind: client.NotFound, Code: client.ScheduleNotFound, Message: fmt.Sprintf("no schedule %.200q", word), Cure: client.ListSchedules}
	case 1:
		return found[0], nil
	}
	return "", &client.Error{Kind: client.Invalid, Code: client.AmbiguousSchedule, Message: fmt.Sprintf("schedule %q may be %s: give more of its id", word, strings.Join(found, ", "))}
}

func (r *away) PauseSchedule(ctx context.Context, id string, until time.Time, by client.By) (client.ScheduleOrder, error) {
	asked := remote.PauseScheduleRequest{Why: by.Why}
	if !until.IsZero() {
		asked.Until = until.UTC().Format(time.RFC3339Nano)
	}
	return r.Client.PauseSchedule(ctx, id, asked)
}

func (r *away) ResumeSchedule(
	ctx context.Context, id string, up client.MakeUp, by client.By,
) (client.ScheduleResumed, error) {
	if err := whyGiven(by.Why); err != nil {
		return client.ScheduleResumed{}, err
	}
	return r.Client.ResumeSchedule(ctx, id, remote.ResumeScheduleRequest{Why: by.Why, MakeUp: string(up)})
}

// TriggerID returns the id of the trigger that word means among those that the server has.
func (r *away) TriggerID(ctx context.Context, environment, word string) (string, error) {
	if strings.Count(word, "/") == 2 { // it is one, also of a trigger that was removed
		t, err := r.Trigger(ctx, word)
		return t.ID, err
	}
	list, err := r.Triggers(ctx, environment)
	if err != nil {
		return "", err
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return client.TriggerNamed(ids, word, r.String())
}

func (r *away) Arrivals(ctx context.Context, id string, state landscape.ArrivalState, after string, limit int) ([]client.Arrival, error) {
	return since(r.Client.Arrivals(ctx, id, state, most(after, limit)), after, limit, func(a client.Arrival) string { return a.ID })
}

func (r *away) PauseTrigger(ctx context.Context, id string, by client.By) (client.TriggerOrder, error) {
	return r.Client.PauseTrigger(ctx, id, by.Why)
}

func (r *away) ResumeTrigger(ctx context.Context, id string, by client.By) (client.TriggerOrder, error) {
	if err := whyGiven(by.Why); err != nil {
		return client.TriggerOrder{}, err
	}
	return r.Client.ResumeTrigger(ctx, id, by.Why)
}

func (r *away) IgnoreArrival(ctx context.Context, id, item string, by client.By) (client.ArrivalOrder, error) {
	return r.IgnoreArrivals(ctx, id, remote.IgnoreRequest{Why: by.Why, Item: item})
}

func (r *away) IgnoreWaiting(ctx context.Context, id string, by client.By) (client.ArrivalOrder, error) {
	return r.IgnoreArrivals(ctx, id, remote.IgnoreRequest{Why: by.Why, All: true})
}

func (r *away) ArriveAgain(ctx context.Context, id, item string, by client.By) (client.ArrivalOrder, error) {
	return r.Client.ArriveAgain(ctx, id, remote.AgainRequest{Why: by.Why, Item: item})
}

func (r *away) RevokeAccess(ctx context.Context, id string, by client.By) (changed bool, err error) {
	return r.Client.RevokeAccess(ctx, id, by.Why)
}

func (r *away) Disclosures(ctx context.Context, after string, limit int) ([]client.Disclosure, error) {
	return since(r.Client.Disclosures(ctx, most(after, limit)), after, limit, func(d client.Disclosure) string { return d.ID })
}

// Outbox does not know how many events were dropped.
func (r *away) Outbox(ctx context.Context, f client.OutboxFilter, yield func(client.OutboxEvent) error) (dropped int64, err error) {
	for e, err := range r.Client.Outbox(ctx, f) {
		if err == nil {
			err = yield(e)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (r *away) Verify(ctx context.Context, word string, o audit.VerifyOptions) (*audit.Report, error) {
	run, err := r.named(ctx, word)
	if err != nil {
		return nil, err
	}
	return r.Client.Verify(ctx, run, o.Progress)
}

func (r *away) WhatIf(ctx context.Context, q client.WhatIfRequest) (*audit.Trial, error) {
	run, err := r.named(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	if q.File == "" {
		return r.Client.WhatIf(ctx, run, q.Version)
	}
	text, err := client.ReadDocument(q.File)
	if err != nil {
		return nil, err
	}
	return r.WhatIfDocument(ctx, run, remote.WhatIfRequest{Document: string(text), Params: q.Params})
}

// proof returns the proof of a row of the run that word means.
func (r *away) proof(ctx context.Context, word, source string, row int64) ([]byte, error) {
	run, err := r.named(ctx, word)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = r.Proof(ctx, run, source, row, &text)
	return text.Bytes(), err
}

// statusAway shows for what a run waits, or why it did not begin, as missing names it.
func (a *app) statusAway(ctx context.Context, r *away, missing error) error {
	known, ok := errors.AsType[*client.Error](missing)
	if !ok || known.Run == "" {
		return missing
	}
	report, err := r.Run(ctx, known.Run)
	if err != nil || report.Start == nil {
		return cmp.Or(err, missing)
	}
	if report.Start.State == landscape.StartWaiting {
		return a.statusOfWaiting(ctx, r, known.Run, missing)
	}
	if joined := report.Start.Joined(); joined != "" {
		return a.status(ctx, r, joined)
	}
	result, failed := client.NotBegunAs(report.Start)
	switch {
	case failed == nil:
		return missing
	case failed.Code == client.RunSkipped || a.json:
		return a.printNotBegun(result, failed)
	}
	return exitError{exitOf(failed.Kind), missing}
}

// statusOfWaiting shows for what a run waits.
func (a *app) statusOfWaiting(ctx context.Context, r *away, run string, missing error) error {
	list, err := r.Queue(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(w client.Waiting) bool { return w.Run == run })
	if at < 0 {
		return missing
	}
	return a.print(&list[at], func(w io.Writer) error { return writeWaiting(w, &list[at]) })
}
