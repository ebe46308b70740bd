package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
)

// retrying is how a person wants quarantined records to be retried.
type retrying struct {
	wanted  bool
	file    string // of the document; "" for the run's own
	version int64  // of the run's pipeline; 0 for the run's own
	params  []string
	why     string
	id      string // of the linked run
}

func (o *retrying) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.wanted, "retry", false, "retry the quarantined records in a new, linked run")
	flags.StringVar(&o.file, "pipeline", "", "with --retry: the `file` of another document to use")
	flags.Int64Var(&o.version, "version", 0, "with --retry: the `number` of another version of the run's pipeline to use")
	flags.StringVar(&o.id, "run-id", "", "with --retry: `id` of the linked run (default a new UUID)")
	paramFlag(cmd, &o.params)
	whyFlag(cmd, &o.why)
}

// check refuses flags that say nothing without --retry.
func (o *retrying) check(cmd *cobra.Command) error {
	for _, flag := range []string{"pipeline", "version", "run-id", "param", "why", waiting} {
		if !o.wanted && cmd.Flags().Changed(flag) {
			return wrongUsef("--%s says how to feed records again: give --retry as well", flag)
		}
	}
	if o.file != "" && o.version != 0 {
		return wrongUsef("--pipeline and --version both say what to feed the records to: give one of them")
	}
	return checkRunID(cmd.Flags().Changed("run-id"), o.id)
}

// retry feeds the quarantined records of a run again, in a linked run.
func (a *app) retry(ctx context.Context, word string, o retrying) error {
	if a.server != "" {
		return a.retryAway(ctx, word, o)
	}
	of, err := a.findRun(ctx, word)
	if err != nil {
		return err
	}
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return err
	}
	id := cmp.Or(o.id, client.NewRunID())
	a.does += ", run " + id
	err = a.inTurn(func() error {
		return a.with(ctx, a.options(), func(home *local.Home) error {
			return withSession(ctx, home, func(s *client.Session) error {
				retry, err := s.Retry(ctx, client.RetryRequest{
					By: a.by(o.why), Of: of.ID, Run: id, File: o.file, Version: o.version, Params: params,
				})
				if err != nil {
					return a.notBegun(id, of.Pipeline, err)
				}
				if err := a.tellRetry(retry); err != nil || retry.Execution == nil {
					return err
				}
				a.tellInterrupted(retry.Execution.Interrupted)
				return a.follow(ctx, retry.Execution)
			})
		})
	})
	if stoppedEarly(err) {
		return exitError{exitInterrupted, errors.New("stopped before the run began; nothing was read or written")}
	}
	return err
}

// tellRetry says what is retried, and what is not and why.
func (a *app) tellRetry(retry *client.Retry) error {
	switch {
	case a.json:
		return a.print(retry, nil)
	case retry.Rows > 0:
		a.note("run %s feeds %s of run %s again", retry.Run, text.Count(retry.Rows, "record"), retry.Of)
		for _, left := range retry.Left {
			a.note("%s", leftOut(left))
		}
		return nil
	}
	return a.print(nil, func(w io.Writer) error {
		lines := []string{fmt.Sprintf("run %s has no record in quarantine that can be retried", retry.Of)}
		for _, left := range retry.Left {
			lines = append(lines, leftOut(left))
		}
		_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
		return err
	})
}

// leftOut says which records are not retried, and why.
func leftOut(left activities.LeftOut) string {
	tokens := strings.Join(left.Tokens, ", ")
	if int64(len(left.Tokens)) < left.Rows {
		tokens += ", …"
	}
	return fmt.Sprintf("%s left out: %s (%s)", text.Count(left.Rows, "record"), left.Reason, tokens)
}
