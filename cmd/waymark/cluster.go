package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/internal/settings"
	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
	"waymark/workflows"
)

// onCluster reports whether runs are executed by the workers of a Temporal cluster instead of in this process.
func (c *config) onCluster() bool { return c.temporal != "" }

// environment is where Temporal's environment configuration is looked up.
type environment settings.Lookup

// LookupEnv returns an environment variable and whether it is set.
func (e environment) LookupEnv(name string) (string, bool) { return e(name) }

// Environ returns all environment variables.
func (environment) Environ() []string { return os.Environ() }

// clusterOptions returns how to reach the cluster.
func (a *app) clusterOptions() (client.Options, error) {
	o, err := cluster.Options(a.temporal, environment(a.env))
	if err != nil {
		return o, wrongUse(err)
	}
	keys, _ := a.env("WAYMARK_CODEC_KEYS")
	encrypts, err := codec.Load(a.codecKeys, keys, false)
	if err != nil {
		return o, wrongUse(err)
	}
	codec.ClientOptions(&o, encrypts)
	o.Identity = identity()
	return o, nil
}

// post is a connection to a Temporal server, and how what it stores is read.
type post struct {
	client    client.Client
	converter converter.DataConverter
	failures  converter.FailureConverter
	place     string // for people: where the server is
	namespace string
}

// newPost returns the post of a client with these options.
func newPost(c client.Client, o client.Options, place string) *post {
	p := &post{client: c, converter: o.DataConverter, failures: o.FailureConverter, place: place, namespace: o.Namespace}
	if p.converter == nil {
		p.converter = converter.GetDefaultDataConverter()
	}
	if p.failures == nil {
		p.failures = temporal.GetDefaultFailureConverter()
	}
	return p
}

// dialCluster connects to the cluster.
func (a *app) dialCluster(ctx context.Context) (*post, error) {
	o, err := a.clusterOptions()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	return newPost(c, o, "temporal at "+cluster.Place(o)), nil
}

// errBusy is wrapped by the refusal to do something for a run that workers of the cluster work for.
var errBusy = errors.New("is being worked on")

// busy refuses a run for which a workflow is open.
func busy(run string) error {
	return fmt.Errorf("run %s %w already: waymark status %s, waymark follow %s", run, errBusy, run, run)
}

// terminate ends the run's workflow, if it is open.
func (p *post) terminate(ctx context.Context, run, why string) error {
	err := p.client.TerminateWorkflow(ctx, workflows.WorkflowID(run), "", why)
	if cluster.Missing(err) {
		return nil
	}
	return err
}

// workerless reports whether nobody takes work from the queue; false also if that cannot be told.
func (p *post) workerless(ctx context.Context, queue string) bool {
	for _, kind := range []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY} {
		workers, err := cluster.Workers(ctx, p.client, queue, kind)
		if err != nil || len(workers) > 0 {
			return false
		}
	}
	return true
}

// open reports whether the cluster has an open workflow for the run: somebody works for it, or will when there is a worker.
func (p *post) open(ctx context.Context, run string) (bool, error) {
	execution, known, err := cluster.Latest(ctx, p.client, workflows.WorkflowID(run))
	return known && execution.Open(), err
}

// workerless says that the run waits for a worker; nothing if there is one, or if that cannot be told.
func (e *execution) workerless(ctx context.Context) string {
	temporal, queue, files := e.machine.temporal, e.machine.queue, e.input.Files
	switch {
	case temporal.workerless(ctx, queue):
		return fmt.Sprintf("%sno worker listens on queue %s: start one with waymark worker", waitingWord, queue)
	case files != "" && temporal.workerless(ctx, workflows.FilesQueue(queue, files)):
		return fmt.Sprintf("%sno worker of queue %s sees the files of %q: start one there with waymark worker", waitingWord, queue, files)
	}
	return ""
}
