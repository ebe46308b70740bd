package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/landscape"
	"waymark/workflows"
)

func (a *app) runCommand() *cobra.Command {
	var params []string
	var id string
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a pipeline",
		Long: `Runs the pipeline in FILE to its end, in this process, and shows how far it is. Everything that is needed to
answer for the run stays in the state folder.

A bad row does not stop a run: it is quarantined with its reason, or goes where the document says (exit code 3). Ctrl-C
stops the run and records that; a second one ends the process at once.`,
		Args: exactlyOne("document"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRunID(cmd.Flags().Changed("run-id"), id); err != nil {
				return err
			}
			ctx, stop := untilInterrupted(cmd.Context(), a.stderr)
			defer stop()
			doc, err := a.compile(args[0], params, existingKey)
			if err != nil {
				return err
			}
			if err := a.run(ctx, doc, id); !errors.Is(err, context.Canceled) {
				return err
			}
			return exitError{exitInterrupted, errors.New("stopped before the run began; nothing was read or written")}
		},
	}
	paramFlag(cmd, &params)
	cmd.Flags().StringVar(&id, "run-id", "", "`id` of the run (default a new UUID)")
	return cmd
}

// runID is what a run's id may look like: it is part of file names.
var runID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func checkRunID(given bool, id string) error {
	if given && (!runID.MatchString(id) || id == lastRun) {
		return wrongUsef("--run-id %q: write up to 64 of a to z, 0 to 9 and -, not - first, and not %q", id, lastRun)
	}
	return nil
}

// run executes the document and says what became of it.
func (a *app) run(ctx context.Context, doc *document, id string) (err error) {
	m, err := a.startMachine(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, m.stop) }()
	e := &execution{app: a, machine: m, doc: doc, id: id}
	if id == "" {
		e.id = uuid.Must(uuid.NewV7()).String()
	}
	if err := e.prepare(ctx); err != nil {
		return err
	}
	stopWorker, err := m.work(e.id)
	if err != nil {
		return err
	}
	defer stopWorker()
	return e.report(e.execute(ctx))
}

// execution is one run of one document by this process.
type execution struct {
	app     *app
	machine *machine
	doc     *document
	id      string
	started time.Time // of the workflow
}

// prepare tells about interrupted runs and refuses an id that is taken.
func (e *execution) prepare(ctx context.Context) error {
	interrupted, err := e.machine.markInterrupted(ctx)
	if err != nil {
		return err
	}
	for _, run := range interrupted {
		e.app.note("run %s of %s was interrupted; it is not continued by this one: waymark status %s", run.ID, run.Pipeline, run.ID)
	}
	runs, err := e.machine.record.log.Runs(ctx)
	for _, run := range runs {
		if run.ID == e.id {
			return wrongUsef("run %s is on record already; choose another --run-id: waymark status %s", e.id, e.id)
		}
	}
	return err
}

// execute starts the workflow and follows it to its end.
func (e *execution) execute(ctx context.Context) (ending, error) {
	document, err := e.machine.record.payloads.Put(ctx, e.doc.source)
	if err != nil {
		return ending{}, err
	}
	in := workflows.RunInput{OpenInput: activities.OpenInput{
		Run: e.id, Document: string(document), File: e.doc.file, Folder: e.doc.folder, Params: e.doc.params,
		Actor: actor(), Trigger: "cli",
	}}
	options := client.StartWorkflowOptions{
		ID: workflows.WorkflowID(e.id), TaskQueue: queueOf(e.id),
		StaticSummary: fmt.Sprintf("%s · %s", e.doc.plan.Document.Pipeline.Name, e.id),
	}
	e.started = time.Now()
	handle, err := e.machine.temporal.ExecuteWorkflow(ctx, options, workflows.RunPipelineName, in)
	if err != nil {
		return ending{}, err
	}
	return e.follow(ctx, handle), nil
}

// actor names who started the run.
func actor() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// onRecord returns the run's record, and false if the run ended before it had one.
func (e *execution) onRecord(ctx context.Context) (landscape.Run, bool, error) {
	run, err := e.machine.record.log.Run(ctx, e.id)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && run.ID != e.id {
		return run, false, nil
	}
	return run, err == nil, err
}
