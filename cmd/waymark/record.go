package main

import (
	"context"
	"io"
	"time"

	"waymark/audit"
	"waymark/audit/compare"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/history"
)

// record is what commands ask about runs and give orders to: the record that this machine reaches, or a server that has one. The methods are those of *local.Home.
type record interface {
	runReader
	rowReader
	verifier
	deployments
	triggerKeeper
	runOrders
	accessKeeper
}

// runReader answers questions about whole runs.
type runReader interface {
	Find(ctx context.Context, word string) (landscape.Run, error)
	Runs(ctx context.Context, limit int) (runs []client.Run, total int, err error)
	Report(ctx context.Context, run landscape.Run) (*client.RunReport, error)
	Effects(ctx context.Context, run, after string, limit int, events bool) ([]client.Effect, error)
	Events(ctx context.Context, run string) ([]history.Event, error)
	Timeline(ctx context.Context, run string) (*client.Timeline, error)
	Past(ctx context.Context, run string, at client.Time) (*client.Past, error)
	Compare(ctx context.Context, was, is string) (*client.Comparison, error)
	ComparedRows(ctx context.Context, was, is string, filter compare.Filter, after string, limit int) ([]compare.PairedRow, error)
	Starts(ctx context.Context, state landscape.StartState, after string, limit int) ([]client.Start, error)
	Queue(ctx context.Context) ([]client.Waiting, error)
	Outbox(ctx context.Context, f client.OutboxFilter, yield func(client.OutboxEvent) error) (dropped int64, err error)
	Lookup(ctx context.Context, r client.LookupRequest) (client.LookupResult, error)
}

// rowReader answers questions about rows.
type rowReader interface {
	Errors(ctx context.Context, run string) ([]client.ErrorGroup, error)
	Files(ctx context.Context, run string) (int, error)
	RowErrors(ctx context.Context, run, after string, limit int) ([]client.RowError, error)
	Edges(ctx context.Context, run string) ([]client.Edge, error)
	Rows(ctx context.Context, run string, filter client.RowFilter, after string, limit int) ([]client.Row, error)
	Explain(ctx context.Context, q audit.Question) (*audit.Explanation, error)
	WhyNot(ctx context.Context, q audit.Question, sink string) (*audit.Denial, error)
	Dossier(ctx context.Context, q audit.Question, to io.Writer) error
	Payload(ctx context.Context, run, digest string, to io.Writer) error
}

// verifier computes again what is recorded.
type verifier interface {
	Verify(ctx context.Context, word string, o audit.VerifyOptions) (*audit.Report, error)
	WhatIf(ctx context.Context, r client.WhatIfRequest) (*audit.Trial, error)
}

// accessKeeper says who may use the HTTP API, and what they were shown.
type accessKeeper interface {
	AccessTokens(ctx context.Context) ([]client.Access, error)
	RevokeAccess(ctx context.Context, id string, by client.By) (changed bool, err error)
	Disclosures(ctx context.Context, after string, limit int) ([]client.Disclosure, error)
}

// deployments answers questions about deployed pipelines, and changes which version of them is current.
type deployments interface {
	Pipelines(ctx context.Context, environment string) ([]client.Pipeline, error)
	Pipeline(ctx context.Context, environment, word string) (client.Pipeline, error)
	PipelineDocument(ctx context.Context, environment, word string) (*client.PipelineDocument, error)
	PipelineHistory(ctx context.Context, environment, word string) ([]client.Redeployment, error)
	DiffPipelines(ctx context.Context, environment, from, to string, params map[string]string) (*client.PipelineDiff, error)
	Schedules(ctx context.Context, environment string) ([]client.Schedule, error)
	ScheduleID(ctx context.Context, environment, word string) (string, error)
	ScheduleGrid(ctx context.Context, id, from, to string) (*client.Grid, error)
	PauseSchedule(ctx context.Context, id string, until time.Time, by client.By) (client.ScheduleOrder, error)
	ResumeSchedule(ctx context.Context, id string, up client.MakeUp, by client.By) (client.ScheduleResumed, error)
	Promote(ctx context.Context, r client.RedeployRequest) (*client.Redeployed, error)
	Rollback(ctx context.Context, r client.RedeployRequest) (*client.Redeployed, error)
	Retire(ctx context.Context, r client.RedeployRequest) (*client.Redeployed, error)
	Unretire(ctx context.Context, r client.RedeployRequest) (*client.Redeployed, error)
}

// triggerKeeper answers questions about triggers, and gives orders to them.
type triggerKeeper interface {
	Triggers(ctx context.Context, environment string) ([]client.Trigger, error)
	TriggerID(ctx context.Context, environment, word string) (string, error)
	Arrivals(ctx context.Context, id string, state landscape.ArrivalState, after string, limit int) ([]client.Arrival, error)
	PauseTrigger(ctx context.Context, id string, by client.By) (client.TriggerOrder, error)
	ResumeTrigger(ctx context.Context, id string, by client.By) (client.TriggerOrder, error)
	IgnoreArrival(ctx context.Context, id, item string, by client.By) (client.ArrivalOrder, error)
	IgnoreWaiting(ctx context.Context, id string, by client.By) (client.ArrivalOrder, error)
	ArriveAgain(ctx context.Context, id, item string, by client.By) (client.ArrivalOrder, error)
}

// runOrders gives orders to runs.
type runOrders interface {
	FindBegun(ctx context.Context, word string) (landscape.Run, error)
	Pause(ctx context.Context, run landscape.Run, by client.By) (changed bool, err error)
	Resolve(ctx context.Context, run landscape.Run, effect string, applied bool, by client.By) (client.Resolved, error)
}

// ask does something with the record: with that of the server, if there is one, or else with what is there.
func (a *app) ask(ctx context.Context, do func(record) error) error {
	if a.server != "" {
		server, err := a.reach()
		if err != nil {
			return err
		}
		return do(server)
	}
	return a.existing(ctx, func(home *local.Home) error { return do(home) })
}

// askRun is ask about the run that word means.
func (a *app) askRun(ctx context.Context, word string, do func(record, landscape.Run) error) error {
	return a.ask(ctx, func(r record) error {
		run, err := r.Find(ctx, word)
		if err != nil {
			return err
		}
		return do(r, run)
	})
}

// orderRun is askRun for an order that only a run obeys that has begun.
func (a *app) orderRun(ctx context.Context, word string, give func(record, landscape.Run) error) error {
	return a.ask(ctx, func(r record) error {
		run, err := r.FindBegun(ctx, word)
		if err != nil {
			return err
		}
		return give(r, run)
	})
}
