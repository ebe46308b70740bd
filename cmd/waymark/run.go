package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/internal/text"
	"waymark/landscape"
	"waymark/pipeline"
)

func (a *app) runCommand() *cobra.Command {
	var o starting
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a pipeline",
		Long: `Runs the pipeline in FILE to its end in this process and shows its progress. The state folder keeps everything that is
needed to explain and verify the run later.

With --temporal the workers of a cluster execute the run, and this process only shows its progress: Ctrl-C stops that, and
the run continues. --detach starts the run without following it.

--pipeline NAME instead of FILE runs the current version of a deployed pipeline, NAME@VERSION a particular one. While waymark
serve runs, it also runs a document of the served folder.

A bad row does not stop a run: it is quarantined with its reason, or goes where the document says (exit code 3). Ctrl-C
stops the run in this process and records that; a second Ctrl-C ends the process at once. However the process ends,
` + "`waymark resume`" + ` continues the run where it left off.

Processes that execute runs in one state folder take turns, in the order in which they came, and say for whom they wait.
Ctrl-C ends the wait; --wait bounds it (exit code 5).`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.pipeline != "" && len(args) > 0 {
				return fmt.Errorf("runs %s or --pipeline %s, not both: leave one out", args[0], o.pipeline)
			}
			if o.pipeline != "" {
				return nil
			}
			return exactlyOne("document")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.pipeline == "" && a.server != "" {
				return wrongUsef("a server runs what is deployed: waymark deploy %s deploys the document, waymark run --pipeline NAME runs it", args[0])
			}
			if o.pipeline == "" && cmd.Flags().Changed("environment") {
				return wrongUsef("--environment belongs to --pipeline: a file is deployed in none")
			}
			if err := errors.Join(checkRunID(cmd.Flags().Changed("run-id"), o.id), a.mayDetach(o.detach)); err != nil {
				return err
			}
			ctx, stop := a.untilInterrupted(cmd.Context())
			defer stop()
			if err := a.start(ctx, args, o); !stoppedEarly(err) {
				return err
			}
			return exitError{exitInterrupted, errors.New("stopped before the run began; nothing was read or written")}
		},
	}
	paramFlag(cmd, &o.params)
	cmd.Flags().StringArrayVar(&o.rows, "rows", nil, "`SOURCE=FILE`: a source of the format webhook reads the JSON of this file, or of standard input if it is -; can be repeated")
	slotFlags(cmd, &o.slot)
	detachFlag(cmd, &o.detach)
	waitFlag(cmd.Flags(), &a.patience)
	whyFlag(cmd, &o.why)
	cmd.Flags().StringVar(&o.id, "run-id", "", "`id` of the run (default a new UUID)")
	cmd.Flags().StringVar(&o.environment, "environment", "", "`environment` in which the pipeline is deployed (default \"default\"; with --temporal that of the workers)")
	cmd.Flags().StringVar(&o.pipeline, "pipeline", "", "`name` of a deployed pipeline, or NAME@VERSION; while waymark serve runs, also of a document in its folder, and with --temporal in the workers' --pipelines folder")
	return cmd
}

// starting is how a person wants a run to begin.
type starting struct {
	params      []string
	rows        []string      // SOURCE=FILE, that come with the request
	slot        client.SlotOf // of a file
	id          string        // of the run
	why         string        // for the record
	pipeline    string        // that is deployed; empty for a file
	environment string        // in which that is deployed; empty for the default one
	detach      bool          // do not follow the run
}

// detachFlag lets a run on a cluster go on by itself.
func detachFlag(cmd *cobra.Command, detach *bool) {
	cmd.Flags().BoolVar(detach, "detach", false, "exit when the run has started, instead of following it; needs waymark serve or --temporal")
}

// mayDetach refuses to leave a run alone that this process would have to execute.
func (a *app) mayDetach(detach bool) error {
	if detach && !a.onCluster() && a.server == "" {
		return wrongUsef("--detach leaves a run to waymark serve or to the workers of a cluster: start waymark serve, or name the cluster with --temporal")
	}
	return nil
}

// start starts a run of the document, or of a deployed pipeline, and follows it.
func (a *app) start(ctx context.Context, args []string, o starting) error {
	request := client.StartRequest{By: a.by(o.why), Run: o.id, Pipeline: o.pipeline, Input: os.Stdin, Detach: o.detach}
	name := o.pipeline
	if a.server != "" {
		return a.startAway(ctx, o)
	}
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err == nil {
		request.Rows, err = a.readRows(o.rows)
	}
	if err != nil {
		return err
	}
	if o.pipeline == "" {
		name = filepath.Base(args[0])
	} else {
		request.Environment, request.Params = o.environment, params
		request.For, request.Schedule = o.slot.For, o.slot.Schedule
	}
	id := cmp.Or(o.id, client.NewRunID())
	a.does += ", run " + id
	begun := false
	err = a.inTurn(func() error {
		if o.pipeline == "" {
			doc, err := a.compileToRun(args[0], params, o.slot)
			if err != nil {
				return err
			}
			request.Document, name = doc, doc.Name()
		}
		return a.with(ctx, a.options(), func(home *local.Home) error {
			if !a.onCluster() && request.Document != nil && request.Document.ReadsInput() {
				a.tellInput()
				stored, err := home.StoreInput(ctx, id, os.Stdin)
				if err != nil {
					return err
				}
				defer stored.Close()
				request.Stored = stored
			}
			return withSession(ctx, home, func(s *client.Session) error {
				request.Run = id
				e, err := s.Start(ctx, request)
				if err != nil {
					return err
				}
				begun = true
				a.tellInterrupted(e.Interrupted)
				a.tellSlot(e)
				return a.follow(ctx, e)
			})
		})
	})
	if begun {
		return err
	}
	if request.Document != nil && request.Document.PrintsOutput() {
		a.leaveStdout()
	}
	return a.notBegun(request.Run, name, err)
}

// notBegun prints for programs what became of a request for a run of which there is no execution to follow, and returns why.
func (a *app) notBegun(run, name string, err error) error {
	if !a.json || err == nil || stoppedEarly(err) {
		return err
	}
	if failed := a.print(client.NotBegun(run, name, err), nil); failed != nil {
		return failed
	}
	return err
}

// compileToRun compiles a document. One that this machine cannot compile, because others have what it refers to, is left to the workers
// of a cluster: they can, or say what is wrong with it. Of a document that refers to nothing else what is said here is the truth.
func (a *app) compileToRun(file string, params map[string]string, slot client.SlotOf) (*client.Document, error) {
	doc, failed := a.compileWith(file, params, slot)
	if failed == nil || !a.onCluster() {
		return doc, failed
	}
	doc, err := client.OpenFor(file, params, slot)
	if err != nil || !bytes.Contains(doc.Source, []byte("${")) {
		return nil, failed
	}
	a.note("the workers must say whether the document is in order; here it is not: %v", failed)
	return doc, nil
}

func checkRunID(given bool, id string) error {
	if !given {
		return nil
	}
	if err := pipeline.CheckRunID(id); err != nil {
		return wrongUse(fmt.Errorf("--run-id: %w", err))
	}
	return nil
}

// mostTold is how many interrupted runs are told about before the others are only counted.
const mostTold = 3

// tellInterrupted tells how to resume the runs that were interrupted, the newest first.
func (a *app) tellInterrupted(interrupted []landscape.RunHead) {
	for i, run := range interrupted {
		if i == mostTold {
			more := int64(len(interrupted) - mostTold)
			a.note("%s %s interrupted: waymark runs", text.Count(more, "more run"), text.Agree(more, "was", "were"))
			return
		}
		a.note("run %s of %s was interrupted; resume it: waymark resume %s", run.ID, run.Pipeline, run.ID)
	}
}

// tellSlot tells which parameters have other values than the slot gives them, and that a run of a file is not that of a slot of a deployed schedule.
func (a *app) tellSlot(e *client.Execution) {
	if e.Document == nil || e.Document.Slot == "" {
		return
	}
	slot := e.Document.Slot
	for _, param := range slices.Sorted(maps.Keys(e.Document.Overridden)) {
		a.note("--param %s", client.OverrideText(param, e.Document.Params[param], slot, e.Document.Overridden[param]))
	}
	for _, id := range e.Unfilled {
		parts := strings.Split(id, "/")
		fills := fmt.Sprintf("waymark run --pipeline %s --schedule %s --for %s", parts[1], parts[2], slot)
		if parts[0] != landscape.DefaultEnvironment {
			fills += " --environment " + parts[0]
		}
		a.note("this run of a file does not fill slot %s of schedule %s; a run of the deployed pipeline does: %s", slot, id, fills)
	}
}

// by says who gives this command, and why.
func (a *app) by(why string) client.By {
	return client.By{Actor: local.User(), Trigger: activities.TriggerCLI, Why: why}
}
