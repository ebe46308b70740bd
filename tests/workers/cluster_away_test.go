package workers_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/client"
	"waymark/client/remote"
	"waymark/landscape"
	"waymark/serve/api"
	"waymark/tests/sample"
	"waymark/workflows"
)

// asking is one way of asking a cluster for a run. It returns what became of that: nothing if it is accepted.
type asking struct {
	name string
	ask  func(ctx context.Context, c *topology, run string) (answer string, err error)
}

// noRecord is the code of a client that reads the record itself while Postgres is down.
const noRecord = string(client.StorageUnavailable)

// noTemporal is that nobody has answered for as long as somebody waited.
const noTemporal = "no answer"

// askings are the ways. Commands ask as the library does.
var askings = []asking{
	{"library", func(ctx context.Context, c *topology, run string) (string, error) {
		e, err := c.home.Start(ctx, client.StartRequest{Run: run, Pipeline: "orders", Params: map[string]string{"out": run}, Detach: true})
		if refused, ok := errors.AsType[*client.Error](err); ok {
			return string(refused.Code), nil
		}
		if err == nil {
			err = e.Close()
		}
		return "", err
	}},
	{"stranger", func(ctx context.Context, c *topology, run string) (string, error) {
		_, err := c.temporal.ExecuteWorkflow(ctx, sdk.StartWorkflowOptions{ID: workflows.WorkflowID(run), TaskQueue: workflows.TaskQueue}, workflows.RunPipelineName,
			map[string]any{"run": run, "pipeline": "orders", "params": map[string]string{"out": run}})
		_, away := errors.AsType[*serviceerror.Unavailable](err)
		_, late := errors.AsType[*serviceerror.DeadlineExceeded](err)
		if away || late || errors.Is(err, context.DeadlineExceeded) {
			return noTemporal, nil
		}
		return "", err
	}},
	{"service", func(ctx context.Context, c *topology, run string) (string, error) {
		_, _, err := c.api.Start(ctx, "", remote.StartRequest{Run: run, Pipeline: "orders", Params: map[string]string{"out": run}})
		if refused, ok := errors.AsType[*client.Error](err); ok {
			return string(refused.Code), nil
		}
		return "", err
	}},
}

// TestStartsWhileAServiceIsAway asks for runs while workers, the record or Temporal are away. Each start that was accepted is a complete run as soon as the service is
// back, and only those; who was refused knows, and may ask again.
func TestStartsWhileAServiceIsAway(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	c := startCluster(t)
	c.deploy(10)
	c.serve()
	var worker *process
	for _, away := range []struct {
		name    string
		stop    func()
		back    func()
		answers []string // by way; empty: accepted
	}{
		{"worker", func() {}, func() { worker = c.worker("one") }, []string{"", "", ""}},
		{"record", func() { c.postgres.Stop(true) }, func() { c.postgres.Start(t) }, []string{noRecord, "", noRecord}},
		{"temporal", c.server.kill, c.startTemporal, []string{string(client.TemporalUnavailable), noTemporal, ""}},
	} {
		away.stop()
		if away.name == "record" {
			requireUnavailable(t, c)
		}
		for i, way := range askings {
			ctx, done := context.WithTimeout(t.Context(), 30*time.Second)
			answer, err := way.ask(ctx, c, away.name+"-"+way.name)
			done()
			require.NoError(t, err, "%s, %s", away.name, way.name)
			require.Equal(t, away.answers[i], answer, "%s, %s", away.name, way.name)
		}
		away.back()
		for i, way := range askings {
			run := away.name + "-" + way.name
			if away.answers[i] != "" {
				_, err := c.log.LastStart(t.Context(), run)
				require.ErrorIs(t, err, landscape.ErrNotFound, run)
				await(t, run+" is accepted", func() bool { // a service that is back may not be ready for everything yet
					answer, err := way.ask(t.Context(), c, run)
					require.NoError(t, err, run)
					return answer == ""
				})
			}
			await(t, run, func() bool {
				on, err := c.log.Run(t.Context(), run)
				return err == nil && client.Complete(on.Status)
			})
			begun, err := c.log.LastStart(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, landscape.StartBegun, begun.State, run)
			require.Zero(t, begun.Seq, "%s was asked for more than once", run)
		}
	}
	cancelledWhileAway(t, c)
	worker.end()
}

// cancelledWhileAway asks for two runs while Temporal is away, and cancels one of them: of that none comes.
func cancelledWhileAway(t *testing.T, c *topology) {
	t.Helper()
	c.server.kill()
	for _, run := range []string{"wanted", "unwanted"} {
		report, _, err := c.api.Start(t.Context(), "", remote.StartRequest{Run: run, Pipeline: "orders", Params: map[string]string{"out": run}, Why: "somebody waits"})
		require.NoError(t, err)
		require.Equal(t, landscape.StartAccepted, report.Start.State)
		require.Equal(t, "Temporal did not answer: the run begins when it does", report.Start.Reason)
	}
	_, _, err := c.api.Start(t.Context(), "", remote.StartRequest{Run: "wanted", Pipeline: "orders"})
	require.NoError(t, err, "the same request, again")
	_, err = c.api.Cancel(t.Context(), "unwanted", "nobody waits any more", false)
	require.NoError(t, err)
	c.startTemporal()
	await(t, "the run that is wanted", func() bool {
		on, err := c.log.Run(t.Context(), "wanted")
		return err == nil && client.Complete(on.Status)
	})
	begun, err := c.log.LastStart(t.Context(), "wanted")
	require.NoError(t, err)
	require.Equal(t, []any{"service", activities.TriggerAPI, "somebody waits", int64(0)}, []any{begun.Actor, begun.Trigger, begun.Why, begun.Seq})
	called, err := c.log.LastStart(t.Context(), "unwanted")
	require.NoError(t, err)
	require.Equal(t, landscape.StartCancelled, called.State)
	_, err = c.log.Run(t.Context(), "unwanted")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	c.verify("wanted")
}

// serve serves the HTTP API, as a worker with --api does.
func (c *topology) serve() {
	c.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	server, err := api.New(api.Options{Home: c.home, Logger: slog.New(slog.DiscardHandler), Private: true, Later: true})
	require.NoError(c.t, err)
	ctx, end := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()
	c.t.Cleanup(func() {
		end()
		require.NoError(c.t, <-ended)
	})
	granted, err := c.home.GrantAccess(c.t.Context(), client.AccessRequest{
		By: client.By{Why: "a test"}, Name: "service", Roles: []landscape.Role{landscape.Service, landscape.Operator}, Expires: time.Now().Add(time.Hour),
	})
	require.NoError(c.t, err)
	c.url, c.token = "http://"+listener.Addr().String(), granted.Token
	c.api, err = remote.New(remote.Options{URL: c.url, Token: c.token, Patience: time.Second})
	require.NoError(c.t, err)
}

// requireUnavailable requires that what a client asks while the record is away is refused with a code and a cure.
func requireUnavailable(t *testing.T, c *topology) {
	t.Helper()
	run := landscape.Run{RunHead: landscape.RunHead{ID: "worker-library"}}
	for _, call := range []struct {
		name string
		ask  func(ctx context.Context) error
	}{
		{"deploy", func(ctx context.Context) error {
			_, err := c.home.Deploy(ctx, client.DeployRequest{File: filepath.Join(c.folder, "orders.yaml")})
			return err
		}},
		{"resume", func(ctx context.Context) error {
			_, err := c.home.Resume(ctx, run, client.ResumeRequest{})
			return err
		}},
		{"find", func(ctx context.Context) error { _, err := c.home.Find(ctx, run.ID); return err }},
		{"starts", func(ctx context.Context) error { _, err := c.home.Starts(ctx, "", "", 1); return err }},
		{"queue", func(ctx context.Context) error { _, err := c.home.Queue(ctx); return err }},
		{"schedules", func(ctx context.Context) error { _, err := c.home.Schedules(ctx, ""); return err }},
	} {
		refused, ok := errors.AsType[*client.Error](call.ask(t.Context()))
		require.True(t, ok, call.name)
		require.Equal(t, []any{client.Unavailable, client.StorageUnavailable, client.Diagnose}, []any{refused.Kind, refused.Code, refused.Cure}, call.name)
	}
}
