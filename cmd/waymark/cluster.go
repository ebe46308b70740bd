package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	sdk "go.temporal.io/sdk/client"

	"waymark/client"
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
func (a *app) clusterOptions() (sdk.Options, error) {
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

// dialCluster connects to the cluster.
func (a *app) dialCluster(ctx context.Context) (*client.Connection, error) {
	o, err := a.clusterOptions()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Dial(ctx, o)
	if err != nil {
		return nil, err
	}
	return client.Connect(c, o, "temporal at "+cluster.Place(o)), nil
}

// errBusy is wrapped by the refusal to do something for a run that workers of the cluster work for.
var errBusy = errors.New("is being worked on")

// busy refuses a run for which a workflow is open.
func busy(run string) error {
	return fmt.Errorf("run %s %w already: waymark status %s, waymark follow %s", run, errBusy, run, run)
}

// workerless says that the run waits for a worker; nothing if there is one, or if that cannot be told.
func (e *execution) workerless(ctx context.Context) string {
	temporal, queue, files := e.machine.temporal, e.machine.queue, e.input.Files
	switch {
	case temporal.Unattended(ctx, queue):
		return fmt.Sprintf("%sno worker listens on queue %s: start one with waymark worker", waitingWord, queue)
	case files != "" && temporal.Unattended(ctx, workflows.FilesQueue(queue, files)):
		return fmt.Sprintf("%sno worker of queue %s sees the files of %q: start one there with waymark worker", waitingWord, queue, files)
	}
	return ""
}
