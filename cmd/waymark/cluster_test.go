package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	sdk "go.temporal.io/sdk/client"

	"waymark/internal/temporal/embedded"
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

// startWorker FILES starts a worker of the cluster that sees the files of the name, with the record in the state folder and the keys in
// WAYMARK_CODEC_KEYS, and waits until it works. What it says is in worker.log. It ends with the script.
func startWorker(ts *testscript.TestScript, _ bool, args []string) {
	log, err := os.OpenFile(ts.MkAbs("worker.log"), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs("pipelines"), 0o700))
	var words []string
	for _, name := range []string{"PATH", "TEMPORAL_ADDRESS", "TEMPORAL_CONFIG_FILE", "WAYMARK_ALLOW_NETWORK", "WAYMARK_CODEC_KEYS"} {
		words = append(words, name+"="+ts.Getenv(name))
	}
	words = append(words, "waymark", "worker", "--files", args[0], "--pipelines", "pipelines",
		"--allow-write", ".", "--http", "off", "--drain", "5s")
	run := exec.Command("env", words...)
	run.Dir, run.Stdout, run.Stderr = ts.MkAbs("."), log, log
	ts.Check(run.Start())
	ts.Defer(func() {
		_ = run.Process.Signal(syscall.SIGTERM) // it may have ended
		ts.Check(errors.Join(run.Wait(), log.Close()))
	})
	told(ts, false, []string{"worker.log", "msg=working"})
}

// terminate WORKFLOW ends a workflow of the cluster, as somebody may do in Temporal's own UI.
func terminate(ts *testscript.TestScript, _ bool, args []string) {
	c, err := embedded.Dial(context.Background(), ts.Getenv("TEMPORAL_ADDRESS"), sdk.Options{})
	ts.Check(err)
	defer c.Close()
	ts.Check(c.TerminateWorkflow(context.Background(), args[0], "", "a mistake"))
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
