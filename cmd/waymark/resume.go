package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// resumption is how a person wants a run to be taken up.
type resumption struct {
	why      string
	fork     bool // begin a new run of the present document instead
	recorded bool // go on with the document on record, whatever its file holds now
	detach   bool // do not follow the run
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumption
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that stopped, from where it was",
		Long: `Goes on with a run from where it was, however it stopped: failed, interrupted, cancelled, killed, or paused in a process
that is still there. What is done is not done again, and the result is that of a run that nothing ever disturbed.

What the run depends on must be as it was: its document, its sources, the plugins. If the document's file changed,
--recorded goes on with the document on record, and --fork begins a new run of the present one, linked to the old one,
which ends for good.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.fork && o.recorded {
				return wrongUsef("--fork and --recorded exclude each other: the one takes the present document, the other the one on record")
			}
			if err := a.mayDetach(o.detach); err != nil {
				return err
			}
			ctx, stop := a.untilInterrupted(cmd.Context())
			defer stop()
			err := a.resume(ctx, args[0], o)
			if !stoppedEarly(err) {
				return err
			}
			return exitError{exitInterrupted, errors.New("stopped before the run was taken up; nothing was changed")}
		},
	}
	whyFlag(cmd, &o.why)
	detachFlag(cmd, &o.detach)
	cmd.Flags().BoolVar(&o.fork, "fork", false, "begin a new, linked run of the present document, and end this one for good")
	cmd.Flags().BoolVar(&o.recorded, "recorded", false, "go on with the document on record, also if its file changed")
	return cmd
}

func (a *app) resume(ctx context.Context, word string, o resumption) error {
	var run landscape.Run
	err := a.query(ctx, word, func(r *record, found landscape.Run) error {
		run = found
		if client.Complete(run.Status) {
			return nil
		}
		return r.resumable(ctx, run.ID)
	})
	if err != nil {
		return err
	}
	if client.Complete(run.Status) {
		return a.nothingToResume(run, o)
	}
	if a.onCluster() {
		found, err := client.WithExecutor(ctx, &host{app: a}, run.ID, func(workers *client.Executor) error { return a.letGoOn(ctx, workers, run.ID, o) })
		if err != nil || found {
			return err
		}
	}
	err = a.withMachine(ctx, a.restartMachine, func(m *machine) error {
		if o.fork {
			return a.fork(ctx, m, run.ID, o)
		}
		return a.takeUp(ctx, m, run.ID, o)
	})
	if inUse, is := errors.AsType[*embedded.InUseError](err); is {
		return a.resumeElsewhere(ctx, run.ID, inUse, o)
	}
	return err
}

// nothingToResume says of a run that is complete that it is: whoever wants it done has what he wants. A fork of it would be another run.
func (a *app) nothingToResume(run landscape.Run, o resumption) error {
	if o.fork {
		return wrongUse(run.Resumable())
	}
	return a.printOrder(orderResult{Run: run.ID, Order: "resume"}, fmt.Sprintf("is %s already: nothing is left to do", run.Status))
}

// resumable refuses a run that cannot be taken up, or that another one took the place of.
func (r *record) resumable(ctx context.Context, run string) error {
	_, err := r.log.Resumable(ctx, run)
	if _, is := errors.AsType[*landscape.NotResumableError](err); is {
		return wrongUse(err)
	}
	return err
}

// takeUp goes on with a run in this process, or on the cluster. Until its workflow has taken it up, nothing is written for it.
func (a *app) takeUp(ctx context.Context, m *machine, id string, o resumption) error {
	run, err := a.stopped(ctx, m, id)
	if client.Complete(run.Status) {
		return a.nothingToResume(run, o)
	}
	if err == nil && !o.recorded && a.sees(run) {
		err = a.sameDocument(run)
	}
	if err != nil {
		return err
	}
	m.planner.Run = id
	if !m.onCluster() { // its workers see the files, and check the same when they take the run up
		if err := m.activities().Check(ctx, id); err != nil {
			return wrongUse(err)
		}
	}
	if err := recovery.CompareWith(ctx, m.temporal.Temporal, m.temporal.Converter, m.record.log.Reader, id); err != nil {
		return err
	}
	if err := a.markInterrupted(ctx, m, id); err != nil {
		return err
	}
	total, err := m.record.sourceBytes(ctx, run)
	if err != nil {
		return err
	}
	e := &execution{app: a, machine: m, pipeline: run.Pipeline, total: total, detach: o.detach, input: workflows.RunInput{
		OpenInput: activities.OpenInput{Run: id},
		Resume:    &activities.ResumeInput{Run: id, Epoch: run.Epoch + 1, Why: o.why, Files: m.filesOf(ctx, run)},
	}}
	return e.perform(ctx)
}

// stopped returns the run as it is now that nobody else can work for it, if it can still be resumed.
func (a *app) stopped(ctx context.Context, m *machine, id string) (landscape.Run, error) {
	run, err := m.record.log.Run(ctx, id)
	if err == nil {
		err = m.record.resumable(ctx, id)
	}
	if err == nil {
		err = a.refuseForked(ctx, m, id)
	}
	return run, err
}

// documentPath returns where the document of a run was read; empty if that is not on record.
func documentPath(run landscape.Run) string {
	if run.File == "" || filepath.IsAbs(run.File) {
		return run.File
	}
	return filepath.Join(run.BaseDir, run.File)
}

// sameDocument refuses to go on with a document whose file holds something else by now. A file that is gone says nothing.
func (a *app) sameDocument(run landscape.Run) error {
	path := documentPath(run)
	if info, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	present, err := readDocument(path)
	if err != nil {
		return wrongUse(err)
	}
	if bytes.Equal(present, []byte(run.Document)) {
		return nil
	}
	choices := "waymark resume " + run.ID + " --recorded   goes on with the document on record"
	if activities.MayFork(run) == nil {
		choices += "\nwaymark resume " + run.ID + " --fork       begins a new run of the present document, and ends this one for good"
	}
	return wrongUsef("%s is not what it was when run %s began:\n%s\nput back what was there, or choose:\n%s",
		shown(path), run.ID, activities.Difference("on record", []byte(run.Document), "now", present, differenceBytes), choices)
}

// differenceBytes bounds how much is shown of a change of a document.
const differenceBytes = 8_000

// resumeElsewhere lets a paused run go on in the process that works for it. Whoever is at work already is left alone.
func (a *app) resumeElsewhere(ctx context.Context, run string, inUse *embedded.InUseError, o resumption) error {
	process, err := a.connect(ctx, inUse.Process)
	if err != nil {
		return inUse
	}
	defer process.Close()
	if works, err := process.Executes(ctx, run); err != nil || !works {
		return inUse
	}
	return a.letGoOn(ctx, process, run, o)
}

// letGoOn lets a paused run go on where it is worked for.
func (a *app) letGoOn(ctx context.Context, worker *client.Executor, run string, o resumption) error {
	if err := worker.Attended(ctx, run); err != nil {
		return err
	}
	view, err := worker.View(ctx, run)
	if err != nil || view.Paused == nil || o.fork {
		return fmt.Errorf("%s works for run %s already: waymark status %s", worker.Name(), run, run)
	}
	if err := worker.Order(ctx, run, workflows.ContinueUpdate, workflows.Order{Actor: actor(), Why: cmp.Or(o.why, "waymark resume")}); err != nil {
		return err
	}
	return a.printOrder(orderResult{Run: run, Order: workflows.ContinueUpdate}, "goes on, in "+worker.Name())
}

// filesOf returns the name of the files that a worker should see who takes the run up; nothing if none does, or in this process.
func (m *machine) filesOf(ctx context.Context, run landscape.Run) string {
	if !m.onCluster() || m.temporal.Unattended(ctx, workflows.FilesQueue(m.queue, run.Host)) {
		return ""
	}
	return run.Host
}
