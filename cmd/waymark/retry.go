package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// retrying is how a person wants quarantined records to be fed again.
type retrying struct {
	wanted bool
	file   string // of the document; "" for the run's own
	params []string
	why    string
	id     string // of the linked run
}

func (o *retrying) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.wanted, "retry", false, "feed the records in quarantine again, in a new, linked run")
	flags.StringVar(&o.file, "pipeline", "", "with --retry: the `file` of another document to feed them to")
	flags.StringVar(&o.id, "run-id", "", "with --retry: `id` of the linked run (default a new UUID)")
	paramFlag(cmd, &o.params)
	whyFlag(cmd, &o.why)
}

// check refuses flags that say nothing without --retry.
func (o *retrying) check(cmd *cobra.Command) error {
	for _, flag := range []string{"pipeline", "run-id", "param", "why"} {
		if !o.wanted && cmd.Flags().Changed(flag) {
			return wrongUsef("--%s says how to feed records again: give --retry as well", flag)
		}
	}
	return checkRunID(cmd.Flags().Changed("run-id"), o.id)
}

// retryResult says what is fed again.
type retryResult struct {
	Type string               `json:"type"` // retry
	Of   string               `json:"of"`
	Run  string               `json:"run,omitempty"` // that feeds them again; left out if there is nothing to feed
	Rows int64                `json:"rows"`
	Left []activities.LeftOut `json:"left_out"`
}

// retry feeds the quarantined records of a run again, in a linked run.
func (a *app) retry(ctx context.Context, word string, o retrying) error {
	var of landscape.Run
	err := a.query(ctx, word, func(_ *record, found landscape.Run) error {
		of = found
		return nil
	})
	if err != nil {
		return err
	}
	err = a.withMachine(ctx, a.startMachine, func(m *machine) error { return a.retryWith(ctx, m, of.ID, o) })
	if stoppedEarly(err) {
		return exitError{exitInterrupted, errors.New("stopped before the run began; nothing was read or written")}
	}
	return err
}

func (a *app) retryWith(ctx context.Context, m *machine, id string, o retrying) error {
	if o.id == "" {
		o.id = newRunID()
	}
	if err := a.prepare(ctx, m, o.id); err != nil {
		return err
	}
	of, err := m.record.log.Run(ctx, id)
	if err != nil {
		return err
	}
	doc, err := m.documentFor(ctx, of, o)
	if err != nil {
		return err
	}
	retry, err := activities.NewRetry(ctx, m.record.log.Reader, m.record.payloads, of.ID, doc.plan, o.id)
	if _, is := errors.AsType[*activities.NotRetryableError](err); is {
		return wrongUse(err)
	}
	if err != nil {
		return err
	}
	if err := a.tellRetry(retry, o.id); err != nil || retry.Rows == 0 {
		return err
	}
	in, err := a.runInput(ctx, m, doc, o.id)
	if err != nil {
		return err
	}
	in.Retry = &activities.RetryInput{Of: of.ID, Beside: doc.plan.Beside}
	if o.file == "" {
		in.File = "" // the document is on record: what its file holds by now says nothing
	}
	e := &execution{app: a, machine: m, pipeline: doc.plan.Document.Pipeline.Name, input: in}
	e.begun = func(ctx context.Context) error {
		what := fmt.Sprintf("run %s feeds %s again", o.id, many(retry.Rows, "record"))
		if o.why != "" {
			what += ": " + o.why
		}
		return m.record.log.RecordAction(ctx, of.ID, landscape.VerbRetry, actor(), what)
	}
	return e.perform(ctx)
}

// documentFor compiles the document that the records are fed to. Outputs of the run's own document go beside those that it has.
func (m *machine) documentFor(ctx context.Context, of landscape.Run, o retrying) (*document, error) {
	given, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return nil, err
	}
	beside, err := activities.Beside(ctx, m.record.log.Reader, of)
	if err != nil {
		return nil, err
	}
	if o.file != "" {
		doc, err := compileWith(m.planner, o.file, given)
		if err == nil && bytes.Equal(doc.source, []byte(of.Document)) {
			err = m.compileAgain(doc, beside)
		}
		return doc, err
	}
	request, err := recompute.Request(of, nil)
	if err != nil {
		return nil, err
	}
	doc := &document{file: request.File, folder: request.Folder, source: request.Document, params: map[string]string{}}
	if of.File != "" {
		doc.file = of.File
	}
	maps.Copy(doc.params, request.Params)
	maps.Copy(doc.params, given)
	return doc, m.compileAgain(doc, beside)
}

// compileAgain compiles the document with outputs that have the word in their names.
func (m *machine) compileAgain(doc *document, beside string) error {
	compiled, err := m.planner.Plan(plan.Request{File: doc.file, Folder: doc.folder, Document: doc.source, Params: doc.params, Beside: beside})
	if _, is := errors.AsType[pipeline.Problems](err); is {
		return wrongUse(err)
	}
	doc.plan = compiled
	return err
}

// tellRetry says what is fed again, and what is not and why.
func (a *app) tellRetry(retry *activities.Retry, id string) error {
	result := retryResult{Type: "retry", Of: retry.Of.ID, Run: id, Rows: retry.Rows, Left: retry.Left}
	if result.Left == nil {
		result.Left = []activities.LeftOut{}
	}
	if retry.Rows == 0 {
		result.Run = ""
	}
	switch {
	case a.json:
		return a.print(result, nil)
	case retry.Rows > 0:
		a.note("run %s feeds %s of run %s again", id, many(retry.Rows, "record"), retry.Of.ID)
		for _, left := range retry.Left {
			a.note("%s", leftOut(left))
		}
		return nil
	}
	return a.print(nil, func(w io.Writer) error {
		lines := []string{fmt.Sprintf("run %s has no record in quarantine that can be fed again", retry.Of.ID)}
		for _, left := range retry.Left {
			lines = append(lines, leftOut(left))
		}
		_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	})
}

// leftOut says which records are not fed again, and why.
func leftOut(left activities.LeftOut) string {
	tokens := strings.Join(left.Tokens, ", ")
	if int64(len(left.Tokens)) < left.Rows {
		tokens += ", …"
	}
	return fmt.Sprintf("%s left out: %s (%s)", many(left.Rows, "record"), left.Reason, tokens)
}
