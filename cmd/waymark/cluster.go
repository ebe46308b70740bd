package main

import (
	"context"
	"os"

	sdk "go.temporal.io/sdk/client"

	"waymark/client"
	"waymark/internal/settings"
	"waymark/internal/temporal/cluster"
	"waymark/internal/temporal/codec"
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

// filesName is the name of the files that this machine sees, as its workers call them.
func (a *app) filesName() string { return (&client.Session{Files: a.files}).FilesName() }
