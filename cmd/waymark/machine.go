package main

import (
	"context"
	"errors"
	"slices"

	sdk "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/client"
	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/worker"
	"waymark/workflows"
)

// machine is everything that executes runs: in this process, or on a cluster.
type machine struct {
	record   *record
	planner  worker.Planner
	server   *embedded.Server // nil if a cluster executes the runs
	temporal *client.Connection
	queue    string // of the cluster's workers; empty in this process
	scratch  string // folder for files that are gone with the process
	logger   sdklog.Logger
	lift     func() // the limit of its memory; nil without one
}

// onCluster reports whether the workers of a cluster execute runs, and this process only follows them.
func (m *machine) onCluster() bool { return m.queue != "" }

// withMachine starts a machine, does something with it, and stops it.
func (a *app) withMachine(ctx context.Context, start func(context.Context) (*machine, error), do func(*machine) error) (err error) {
	m, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		err = closing(err, m.stop)
		if failed := a.printOutput(); failed != nil {
			err = failed // what else there is to say was said
		}
	}()
	return do(m)
}

// startMachine makes what is missing in the state folder and starts the embedded Temporal server. Only one process at a
// time can do so for a state folder. If a cluster executes runs, the state folder is its workers' affair.
func (a *app) startMachine(ctx context.Context) (*machine, error) {
	key := existingKey
	if !a.onCluster() {
		key = lastingKey
		if err := a.makeState(); err != nil {
			return nil, err
		}
	}
	planner, err := a.planner(key)
	if err != nil {
		return nil, err
	}
	record, err := a.createRecord(ctx)
	if err != nil {
		return nil, err
	}
	return a.machine(ctx, record, planner)
}

// restartMachine is startMachine for runs on record: no record is made.
func (a *app) restartMachine(ctx context.Context) (*machine, error) {
	return a.machineOnRecord(ctx, a.openPayloads)
}

// cancelMachine is restartMachine without the payloads, which need not be there to stop a run.
func (a *app) cancelMachine(ctx context.Context) (*machine, error) {
	return a.machineOnRecord(ctx, func(context.Context, *record) error { return nil })
}

// machineOnRecord is a machine for runs on record, of which more is opened first.
func (a *app) machineOnRecord(ctx context.Context, more func(context.Context, *record) error) (*machine, error) {
	record, err := a.openRecord(ctx)
	if err != nil {
		return nil, err
	}
	if err := more(ctx, record); err != nil {
		return nil, closing(err, record.close)
	}
	if err := a.mayWork(ctx, record.opened); err != nil {
		return nil, closing(err, record.close)
	}
	planner, err := a.planner(existingKey)
	if err == nil && !a.onCluster() {
		err = a.makeState() // it is not there if the record lies elsewhere
	}
	if err != nil {
		return nil, closing(err, record.close)
	}
	return a.machine(ctx, record, planner)
}

// machine starts the embedded Temporal server, or connects to the cluster. The machine closes the record, also if it does not
// start.
func (a *app) machine(ctx context.Context, record *record, planner worker.Planner) (*machine, error) {
	m := &machine{record: record, planner: planner, logger: sdklog.NewStructuredLogger(a.logger())}
	var err error
	if a.onCluster() {
		m.queue = a.queue
		m.temporal, err = a.dialCluster(ctx)
	} else {
		m.lift = limitMemory(runBytes, 200)
		m.scratch = a.inState("")
		err = m.connect(ctx, embedded.Options{DatabasePath: a.inState("temporal.db"), Logger: a.logger()})
	}
	if err != nil {
		return nil, closing(err, m.stop)
	}
	return m, nil
}

func (m *machine) connect(ctx context.Context, options embedded.Options) error {
	var err error
	if m.server, err = embedded.Start(ctx, options); err != nil {
		return err
	}
	o := sdk.Options{Logger: m.logger, Identity: identity()}
	c, err := m.server.Client(ctx, o)
	if err == nil {
		m.temporal = client.Connect(c, o, "the Temporal server in this process")
	}
	return err
}

// stop releases everything, also after a start that failed half-way.
func (m *machine) stop() error {
	if m.temporal != nil {
		m.temporal.Temporal.Close()
	}
	if m.lift != nil {
		defer m.lift()
	}
	var err error
	if m.server != nil {
		err = m.server.Stop()
	}
	return errors.Join(err, m.record.close())
}

// queueOf returns the task queue of a run that a process executes. Every run has its own, so that a process works on the runs it
// was asked for: with one queue for all, the next `waymark run` would silently go on with whatever an interrupted one left behind.
func queueOf(run string) string { return workflows.TaskQueue + "-" + run }

// queueOf returns the task queue of a run: on a cluster, the one that its workers share.
func (m *machine) queueOf(run string) string {
	if m.onCluster() {
		return m.queue
	}
	return client.ProcessQueue(run)
}

// work starts a worker for the run and returns what stops it. On a cluster there are others.
func (m *machine) work(run string) (stop func(), err error) {
	if m.onCluster() {
		return func() {}, nil
	}
	sdkworker.SetBinaryChecksum(thisBuild().Code()) // or else the SDK reads the whole binary to name it: 0.8 s of a run's start
	w := worker.New(m.temporal.Temporal, client.ProcessQueue(run), m.activities())
	if err := w.Start(); err != nil {
		return nil, err
	}
	return w.Stop, nil
}

// activities are those of this process.
func (m *machine) activities() *activities.Activities {
	return activities.NewAt(activities.Place{Scratch: m.scratch}, m.record.log, m.record.payloads, m.planner, thisBuild().Code())
}

// markInterrupted puts on record that earlier runs of this state folder, besides the one given, were interrupted: a run that
// is running on record, while the lock of our Temporal says that no other process works for it. A run of another state
// folder, which may share the landscape, is none of our business, and neither are those of a cluster: its workers come and go.
func (a *app) markInterrupted(ctx context.Context, m *machine, besides string) error {
	if m.onCluster() {
		return nil
	}
	runs, err := m.record.log.Runs(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Status != pipeline.Running || run.ID == besides {
			continue
		}
		ours, err := a.worksFor(ctx, m, run.ID)
		if err == nil && ours {
			err = m.record.log.StopRun(ctx, run.ID, pipeline.Interrupted, client.ProcessEnded)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// worksFor reports whether the run is one of this state folder: the record is the folder's own, or our Temporal knows the run.
func (a *app) worksFor(ctx context.Context, m *machine, run string) (bool, error) {
	if a.ownRecord() {
		return true, nil
	}
	return m.knows(ctx, run)
}

// mostTold is how many interrupted runs are told about before the others are only counted.
const mostTold = 3

// tellInterrupted tells how to go on with the interrupted runs, the newest first.
func (a *app) tellInterrupted(runs []landscape.RunHead) {
	interrupted := slices.DeleteFunc(slices.SortedFunc(slices.Values(runs), client.NewestFirst), func(run landscape.RunHead) bool { return run.Status != pipeline.Interrupted })
	for i, run := range interrupted {
		if i == mostTold {
			a.note("%d more runs were interrupted: waymark runs", len(interrupted)-mostTold)
			return
		}
		a.note("run %s of %s was interrupted; go on with: waymark resume %s", run.ID, run.Pipeline, run.ID)
	}
}

// knows reports whether our Temporal has a workflow for the run.
func (m *machine) knows(ctx context.Context, run string) (bool, error) {
	_, known, err := cluster.Latest(ctx, m.temporal.Temporal, workflows.WorkflowID(run))
	return known, err
}
