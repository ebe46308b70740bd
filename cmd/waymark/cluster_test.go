package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/internal/temporal/codec"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/worker"
	"waymark/workflows"
)

// startCluster starts a Temporal server that is none of the program's, and says in TEMPORAL_ADDRESS where it is.
func startCluster(ts *testscript.TestScript, _ bool, _ []string) {
	server, err := embedded.Start(context.Background(), embedded.Options{DatabasePath: ts.MkAbs("cluster.db")})
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Stop()) })
	process, _, err := embedded.Holder(ts.MkAbs("cluster.db"))
	ts.Check(err)
	ts.Setenv("TEMPORAL_ADDRESS", process.Address)
	ts.Setenv("TEMPORAL_CONFIG_FILE", ts.MkAbs("none.toml"))
	ts.Setenv("WAYMARK_TEMPORAL", "env")
}

// startWorker FILES starts a worker of the cluster in this process, which sees the files of the name, over the record in the state
// folder, with the keys in WAYMARK_CODEC_KEYS. It stops at the end of the script.
func startWorker(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	state := ts.MkAbs(".waymark")
	ts.Check(os.MkdirAll(state, 0o700))
	driver, err := sqlitestore.Open(ctx, filepath.Join(state, "landscape.db"), sqlitestore.Options{Create: true})
	ts.Check(err)
	objects, err := fsstore.Create(filepath.Join(state, "payloads"))
	ts.Check(err)
	keys, err := codec.Load("", ts.Getenv("WAYMARK_CODEC_KEYS"), false)
	ts.Check(err)
	var o sdk.Options
	guard := &codec.Guard{
		Codec: keys,
		Unreadable: func(workflow string, err error) {
			_ = os.WriteFile(unreadFile(ts, workflow), []byte(err.Error()), 0o600)
		},
		Failed: func(string, error) {},
	}
	guard.ClientOptions(&o)
	c, err := embedded.Dial(ctx, ts.Getenv("TEMPORAL_ADDRESS"), o)
	ts.Check(err)
	member := worker.Member{Files: args[0], Pipelines: ts.MkAbs("pipelines")}
	member.Options.WorkerStopTimeout = 5 * time.Second
	place, err := member.Affinity()
	ts.Check(err)
	planner := worker.Planner{FingerprintKey: make([]byte, worker.KeyBytes)}
	if networks := ts.Getenv("WAYMARK_ALLOW_NETWORK"); networks != "" {
		ts.Check(planner.AllowNetworks.Set(networks))
	}
	log, payloads := landscape.New(driver, nil), payload.New(objects, payload.Options{})
	group := member.Group(c, place, activities.NewAt(place, log, payloads, planner, "test"))
	ts.Check(group.Start())
	ts.Defer(func() {
		group.Stop()
		c.Close()
		ts.Check(errors.Join(objects.Close(), driver.Close()))
	})
}

// terminate WORKFLOW ends a workflow of the cluster, as somebody may do in Temporal's own UI.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	c, err := embedded.Dial(context.Background(), ts.Getenv("TEMPORAL_ADDRESS"), sdk.Options{})
	ts.Check(err)
	defer c.Close()
	ts.Check(c.TerminateWorkflow(context.Background(), args[0], "", "a mistake"))
}

// unreadFile is what a worker writes that could not read a workflow.
func unreadFile(ts *testscript.TestScript, workflow string) string {
	return ts.MkAbs("unread-" + workflow)
}

// unread WORKFLOW waits until the worker has had a workflow that it cannot read.
func unread(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(unreadFile(ts, args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("no worker came to %s within a minute", args[0])
}

// failing WORKFLOW INPUT starts a run's workflow with an input that somebody wrote who has no keys, and waits until it has failed.
func failing(ts *testscript.TestScript, _ bool, args []string) {
	c, err := embedded.Dial(context.Background(), ts.Getenv("TEMPORAL_ADDRESS"), sdk.Options{})
	ts.Check(err)
	defer c.Close()
	options := sdk.StartWorkflowOptions{ID: args[0], TaskQueue: workflows.TaskQueue}
	handle, err := c.ExecuteWorkflow(context.Background(), options, workflows.RunPipelineName, json.RawMessage(args[1]))
	ts.Check(err)
	if handle.Get(context.Background(), nil) == nil {
		ts.Fatalf("the workflow does not fail")
	}
}
