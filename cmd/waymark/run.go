package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/pipeline"
	"waymark/workflows"
)

func (a *app) runCommand() *cobra.Command {
	var o starting
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a pipeline",
		Long: `Runs the pipeline in FILE to its end, in this process, and shows how far it is. Everything that is needed to
answer for the run stays in the state folder.

With --temporal the workers of a cluster run it, and this process only shows how far it is: Ctrl-C stops that, and the run goes
on. --detach shows nothing. --pipeline NAME, in the place of FILE, runs a document that is deployed on the workers.

A bad row does not stop a run: it is quarantined with its reason, or goes where the document says (exit code 3). Ctrl-C
stops the run in this process and records that; a second one ends the process at once. Either way, and however else the process ends,
` + "`waymark resume`" + ` goes on with the run from where it was.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.pipeline != "" {
				return cobra.NoArgs(cmd, args)
			}
			return exactlyOne("document")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
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
	detachFlag(cmd, &o.detach)
	cmd.Flags().StringVar(&o.id, "run-id", "", "`id` of the run (default a new UUID)")
	cmd.Flags().StringVar(&o.pipeline, "pipeline", "", "with --temporal: `name` of a document that is deployed on the workers")
	return cmd
}

// starting is how a person wants a run to begin.
type starting struct {
	params   []string
	id       string // of the run
	pipeline string // that is deployed on the workers; empty for a file
	detach   bool   // do not follow the run
}

// detachFlag lets a run on a cluster go on by itself.
func detachFlag(cmd *cobra.Command, detach *bool) {
	cmd.Flags().BoolVar(detach, "detach", false, "with --temporal: do not follow the run")
}

// mayDetach refuses to leave a run alone that this process would have to execute.
func (a *app) mayDetach(detach bool) error {
	if detach && !a.onCluster() {
		return wrongUsef("--detach leaves a run to the workers of a cluster: say which with --temporal")
	}
	return nil
}

// start compiles the document, if it is here, and runs it.
func (a *app) start(ctx context.Context, args []string, o starting) error {
	if o.pipeline != "" {
		return a.runDeployed(ctx, o)
	}
	doc, err := a.compile(args[0], o.params, existingKey)
	if err != nil && a.onCluster() {
		doc, err = a.uncompiled(args[0], o.params, err)
	}
	if err != nil {
		return err
	}
	return a.run(ctx, doc, o)
}

// uncompiled is a document that this machine cannot compile, because others have what it refers to: its workers can, or say what
// is wrong with it. failed is what compiling it said; of a document that refers to nothing else that is the truth.
func (a *app) uncompiled(file string, params []string, failed error) (*document, error) {
	source, err := readDocument(file)
	if err != nil || !bytes.Contains(source, []byte("${")) {
		return nil, failed
	}
	given, err := parsePairs("--param", "NAME=VALUE", params)
	if err != nil {
		return nil, failed
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, failed
	}
	a.note("the workers must say whether the document is in order; here it is not: %v", failed)
	return &document{file: file, folder: filepath.Dir(absolute), source: source, params: given}, nil
}

// runDeployed lets the workers run a document that is deployed there.
func (a *app) runDeployed(ctx context.Context, o starting) error {
	if !a.onCluster() {
		return wrongUsef("--pipeline names a document that is deployed on the workers of a cluster: say which with --temporal")
	}
	params, err := parsePairs("--param", "NAME=VALUE", o.params)
	if err != nil {
		return err
	}
	return a.withMachine(ctx, a.startMachine, func(m *machine) error {
		if o.id == "" {
			o.id = newRunID()
		}
		if err := a.prepare(ctx, m, o.id); err != nil {
			return err
		}
		e := &execution{app: a, machine: m, pipeline: o.pipeline, detach: o.detach, input: workflows.RunInput{OpenInput: activities.OpenInput{
			Run: o.id, Pipeline: o.pipeline, Params: params, Files: a.files,
		}}}
		return e.perform(ctx)
	})
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

// run executes the document and says what became of it.
func (a *app) run(ctx context.Context, doc *document, o starting) error {
	return a.withMachine(ctx, a.startMachine, func(m *machine) error {
		if o.id == "" {
			o.id = newRunID()
		}
		if err := a.prepare(ctx, m, o.id); err != nil {
			return err
		}
		in, err := a.runInput(ctx, m, doc, o.id)
		if err != nil {
			return err
		}
		e := &execution{app: a, machine: m, pipeline: doc.name(), detach: o.detach, input: in}
		if doc.plan != nil && doc.plan.Document.Pipeline.ReadsInput() {
			e.total, err = a.keepInput(ctx, m, o.id)
		} else {
			e.total = doc.bytes(ctx)
		}
		if err != nil {
			return err
		}
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
	if !m.onCluster() { // a record that many share has many interrupted runs
		a.tellInterrupted(runs)
	}
	return err
}

// runInput stores the document and returns what a run of it starts with.
func (a *app) runInput(ctx context.Context, m *machine, doc *document, id string) (workflows.RunInput, error) {
	digest, err := m.record.payloads.Put(ctx, doc.source)
	if err != nil {
		return workflows.RunInput{}, err
	}
	in := activities.OpenInput{
		Run: id, Document: string(digest), File: filepath.Base(doc.file), Folder: doc.folder, Params: doc.params,
	}
	switch {
	case !m.onCluster():
	case doc.plan == nil:
		in.Files = a.files
	case needsFiles(doc.plan):
		in.Files = a.filesName()
	}
	return workflows.RunInput{OpenInput: in}, nil
}

// actor names who started the run.
func actor() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

// identity is the name by which Temporal knows who works with the command line: the record of a run says who started it by that.
func identity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return activities.CLIIdentity(actor(), host)
}
