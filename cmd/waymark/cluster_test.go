package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/codec"
	"waymark/embedded"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/worker"
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
	var o client.Options
	codec.ClientOptions(&o, keys)
	c, err := embedded.Dial(ctx, ts.Getenv("TEMPORAL_ADDRESS"), o)
	ts.Check(err)
	member := worker.Member{Files: args[0], Pipelines: ts.MkAbs("pipelines")}
	member.Options.WorkerStopTimeout = 5 * time.Second
	place, err := member.Place()
	ts.Check(err)
	log, payloads := landscape.New(driver, nil), payload.New(objects, payload.Options{})
	group := member.Group(c, place, activities.NewAt(place, log, payloads, worker.Planner{FingerprintKey: make([]byte, keyBytes)}, "test"))
	ts.Check(group.Start())
	ts.Defer(func() {
		group.Stop()
		c.Close()
		ts.Check(errors.Join(objects.Close(), driver.Close()))
	})
}

// terminate WORKFLOW ends a workflow of the cluster, as somebody may do in Temporal's own UI.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	c, err := embedded.Dial(context.Background(), ts.Getenv("TEMPORAL_ADDRESS"), client.Options{})
	ts.Check(err)
	defer c.Close()
	ts.Check(c.TerminateWorkflow(context.Background(), args[0], "", "a mistake"))
}
