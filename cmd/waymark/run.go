package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/activities"
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
stops the run and records that; a second one ends the process at once. Either way, and however else the process ends,
` + "`waymark resume`" + ` goes on with the run from where it was.`,
		Args: exactlyOne("document"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRunID(cmd.Flags().Changed("run-id"), id); err != nil {
				return err
			}
			ctx, stop := a.untilInterrupted(cmd.Context())
			defer stop()
			doc, err := a.compile(args[0], params, existingKey)
			if err != nil {
				return err
			}
			if err := a.run(ctx, doc, id); !stoppedEarly(err) {
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
func (a *app) run(ctx context.Context, doc *document, id string) error {
	return a.withMachine(ctx, a.startMachine, func(m *machine) error {
		if id == "" {
			id = newRunID()
		}
		if err := a.prepare(ctx, m, id); err != nil {
			return err
		}
		in, err := m.runInput(ctx, doc, id)
		if err != nil {
			return err
		}
		e := &execution{app: a, machine: m, pipeline: doc.plan.Document.Pipeline.Name, total: sourceBytes(ctx, doc.plan), input: in}
		return e.perform(ctx)
	})
}

func newRunID() string { return uuid.Must(uuid.NewV7()).String() }

// prepare tells about interrupted runs and refuses an id that is taken.
func (a *app) prepare(ctx context.Context, m *machine, id string) error {
	if err := a.markInterrupted(ctx, m, id); err != nil {
		return err
	}
	runs, err := m.record.log.Runs(ctx)
	for _, run := range runs {
		if run.ID == id {
			return wrongUsef("run %s is on record already; choose another --run-id: waymark status %s", id, id)
		}
	}
	a.tellInterrupted(runs)
	return err
}

// runInput stores the document and returns what a run of it starts with.
func (m *machine) runInput(ctx context.Context, doc *document, id string) (workflows.RunInput, error) {
	digest, err := m.record.payloads.Put(ctx, doc.source)
	if err != nil {
		return workflows.RunInput{}, err
	}
	return workflows.RunInput{OpenInput: activities.OpenInput{
		Run: id, Document: string(digest), File: filepath.Base(doc.file), Folder: doc.folder, Params: doc.params,
		Actor: actor(), Trigger: "cli",
	}}, nil
}

// actor names who started the run.
func actor() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}
