package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/landscape"
)

// RetryRequest says which quarantined records to feed to a pipeline again.
type RetryRequest struct {
	By
	Of     string            // the run that has them in quarantine
	Run    string            // id of the new, linked run; empty for a new one
	File   string            // of another document; empty for the run's own
	Params map[string]string // in the place of the run's, or of the other document

	// Version is that of the run's pipeline to which they are fed, in the run's environment, with the run's parameters and the values that the environment has now;
	// 0 for the run's own. File is empty then.
	Version int64
}

// Retry is a run that feeds records again.
type Retry struct {
	Type      string               `json:"type"` // always retry
	Of        string               `json:"of"`
	Run       string               `json:"run,omitempty"` // empty if there is nothing to retry
	Rows      int64                `json:"rows"`          // that are retried
	Left      []activities.LeftOut `json:"left_out"`      // which records are not, and why; not nil
	Execution *Execution           `json:"-"`             // nil if there is nothing to retry; the caller closes it
}

// Retry feeds the quarantined records of a run again, on the client's host. The errors are those of Session.Retry, and of kind Busy if
// another process executes runs there.
func (c *Client) Retry(ctx context.Context, r RetryRequest) (retry *Retry, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, r.Of); err != nil {
		return nil, err
	}
	session, err := c.host.Session(ctx, ToStart)
	if err != nil {
		return nil, err
	}
	retry, err = session.Retry(ctx, r)
	if err != nil || retry.Execution == nil {
		return retry, errors.Join(err, session.Close())
	}
	retry.Execution.close = session.Close
	return retry, nil
}

// Retry feeds the quarantined records of a run again, in a new, linked run. The error is an *Error of kind Conflict if that is not
// possible.
func (s *Session) Retry(ctx context.Context, r RetryRequest) (*Retry, error) {
	if r.Run == "" {
		r.Run = NewRunID()
	}
	interrupted, err := s.prepare(ctx, r.Run)
	if err != nil {
		return nil, err
	}
	of, err := recorded(ctx, s.Log, s.Place, r.Of)
	if err == nil {
		err = notArchived(ctx, s.Log.Reader, of.ID, "retried")
	}
	if err != nil {
		return nil, err
	}
	doc, err := s.documentFor(ctx, of, r)
	if err != nil {
		return nil, err
	}
	payloads, err := s.Payloads(ctx)
	if err != nil {
		return nil, err
	}
	fed, err := activities.NewRetry(ctx, s.Log.Reader, payloads, of.ID, doc.Plan, r.Run)
	if _, refused := errors.AsType[*activities.NotRetryableError](err); refused {
		return nil, conflict(NotRetryable, err)
	}
	if err != nil {
		return nil, err
	}
	retry := &Retry{Type: "retry", Of: of.ID, Rows: fed.Rows, Left: append([]activities.LeftOut{}, fed.Left...)}
	if retry.Rows == 0 {
		return retry, nil
	}
	retry.Run = r.Run
	in, err := s.runInput(ctx, doc, r.Run)
	if err != nil {
		return nil, err
	}
	in.Why, in.Retry = r.Why, &activities.RetryInput{Of: of.ID, Beside: doc.Plan.Beside}
	if r.File == "" && r.Version == 0 {
		in.File = "" // the document is recorded: what its file holds by now says nothing
	}
	retry.Execution, err = s.alone(r.Run, func() (*Execution, error) {
		return s.execute(ctx, &Execution{
			by: r.By, Pipeline: doc.Name(), input: in, Interrupted: interrupted,
			begun: func(ctx context.Context) error { return s.recordRetry(ctx, retry, r.or(s.Actor)) },
		})
	})
	return retry, err
}

// recordRetry records with the run that its records are retried.
func (s *Session) recordRetry(ctx context.Context, retry *Retry, by By) error {
	records := "records"
	if retry.Rows == 1 {
		records = "record"
	}
	what := fmt.Sprintf("run %s feeds %d %s again", retry.Run, retry.Rows, records)
	if by.Why != "" {
		what += ": " + by.Why
	}
	return s.Log.RecordAction(ctx, retry.Of, landscape.VerbRetry, by.Actor, what)
}

// documentFor compiles the document that the records are fed to. Outputs of the run's own document go beside those that it has.
func (s *Session) documentFor(ctx context.Context, of landscape.Run, r RetryRequest) (*Document, error) {
	beside, err := activities.Beside(ctx, s.Log.Reader, of)
	if err != nil {
		return nil, err
	}
	if r.Version > 0 {
		params, err := paramsOf(of, r.Params)
		if err != nil {
			return nil, err
		}
		doc, err := s.versionDocument(ctx, of.Environment, fmt.Sprintf("%s@%d", of.Pipeline, r.Version), params, SlotOf{})
		if err == nil {
			err = doc.compile(s.Planner, beside)
		}
		return doc, err
	}
	if r.File != "" {
		doc, err := s.otherDocument(ctx, of, r)
		if err == nil {
			err = doc.compile(s.Planner, "")
		}
		if err == nil && bytes.Equal(doc.Source, []byte(of.Document)) {
			err = doc.compile(s.Planner, beside)
		}
		return doc, err
	}
	request, err := recompute.Request(ctx, s.Log.Reader, of, nil)
	if err != nil {
		return nil, err
	}
	doc := &Document{
		File: request.File, Folder: request.Folder, Source: request.Document, Params: map[string]string{},
		standing: request.Standing, version: of.Version, environment: of.Environment,
	}
	if doc.values, err = s.Log.Environment(ctx, of.Environment, of.EnvironmentSeq); err != nil {
		return nil, err
	}
	if of.Version > 0 {
		if doc.bundle, err = s.bundleOf(ctx, of.Pipeline, of.Version); err != nil {
			return nil, err
		}
	}
	if of.File != "" {
		doc.File = of.File
	}
	maps.Copy(doc.Params, request.Params)
	maps.Copy(doc.Params, r.Params)
	return doc, doc.compile(s.Planner, beside)
}

// otherDocument opens the file of a document that is fed the records. It has the run's parameters, as far as it declares them, but for those that were
// given; and is about the run's slot, if it needs one.
func (s *Session) otherDocument(ctx context.Context, of landscape.Run, r RetryRequest) (*Document, error) {
	doc, err := Open(r.File, r.Params)
	if err != nil {
		return nil, err
	}
	table, err := doc.timetable()
	if err != nil {
		return doc, nil //nolint:nilerr // who compiles it finds the same
	}
	params, err := paramsOf(of, nil)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(params, func(name, _ string) bool { return !table.Declares(name) })
	maps.Copy(params, r.Params)
	doc.Params = params
	start, err := s.Log.StartOfRun(ctx, of.ID)
	if err == nil && start.Slot != "" && table.NeedsSlot(params) {
		err = doc.about(SlotOf{For: start.Slot, recorded: true})
	}
	return doc, err
}
