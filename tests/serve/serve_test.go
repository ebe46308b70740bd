package serve_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"waymark/activities"
	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/serving"
	"waymark/workflows"
)

// TestServe serves a folder: several commands start runs there at once, so does a schedule, and Temporal's pages show them.
func TestServe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "served.yaml"), []byte(fixtures.Served), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, 5_000)), 0o600))
	s := serving.Start(t, folder)

	var side errgroup.Group
	for i := range 4 {
		side.Go(func() error {
			args := []string{"run", "--pipeline", "served"}
			if i%2 == 0 {
				args = []string{"run", "served.yaml"}
			}
			out, err := s.Try(t.Context(), append(args, "--param", fmt.Sprintf("to=out/%d.csv", i), "--run-id", fmt.Sprint("r", i))...)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
	require.NoError(t, side.Wait())
	ready := strings.ReplaceAll(strings.Replace(fixtures.Served, "in.csv", filepath.Join(folder, "in.csv"), 1), "out/served.csv", filepath.Join(folder, "ready.csv"))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "ready.yaml"), []byte(ready), 0o600))
	require.Contains(t, s.Waymark(t, "deploy", "ready.yaml", "--allow-path", folder, "--dry-run", "--json"), `"state":"ready"}],"worker":true`, "a worker looks")
	temporal := s.Temporal(t)
	schedule, err := temporal.ScheduleClient().Create(t.Context(), sdk.ScheduleOptions{
		ID: "each-second", Spec: sdk.ScheduleSpec{Intervals: []sdk.ScheduleIntervalSpec{{Every: time.Second}}}, RemainingActions: 1,
		Action: &sdk.ScheduleWorkflowAction{
			ID: "nightly", Workflow: workflows.RunPipelineName, TaskQueue: workflows.TaskQueue, Args: []any{map[string]any{"pipeline": "served"}},
		},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		runs := serving.Listed[serving.Run](t, s, "runs")
		return len(runs) == 5 && runs[0].Trigger == activities.TriggerSchedule && runs[0].Status == pipeline.Completed
	}, patience, 100*time.Millisecond)
	require.NoError(t, schedule.Delete(t.Context()))
	for _, run := range serving.Listed[serving.Run](t, s, "runs") {
		require.Equal(t, pipeline.Completed, run.Status)
		s.Waymark(t, "verify", run.Run)
	}
	fired(t, s, temporal)
	starts := serving.Listed[struct{ Schedule, Workflow string }](t, s, "starts")
	require.Equal(t, "each-second", starts[3].Schedule)
	require.Contains(t, starts[3].Workflow, "nightly-")

	for path, want := range map[string]string{"/": "<!doctype html>", "/api/v1/namespaces/default/workflows": `"workflowId": "run-r0"`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Pages+path, http.NoBody)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Contains(t, body.String(), want)
	}
	require.NoError(t, s.Command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.Command.Wait())
	address, _ := local.Folder(filepath.Join(folder, ".waymark")).Server()
	require.Empty(t, address)
}

// fired makes a schedule of Temporal ring for three days that are over, of which one has a gap in the zone's clocks: each run knows its day.
func fired(t *testing.T, s *serving.Server, temporal sdk.Client) {
	t.Helper()
	daily := strings.Replace(fixtures.Served, "params: {to: {type: string, default: out/served.csv}}",
		"params: {day: {type: date, default: \"${slot:date}\"}}\nschedules: {nightly: {every: day, at: \"02:30\", zone: Europe/Berlin}}", 1)
	daily = strings.NewReplacer("name: served", "name: daily", "${param:to}\", overwrite: true", "out/${param:day}.csv\"").Replace(daily)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "daily.yaml"), []byte(daily), 0o600))
	schedule, err := temporal.ScheduleClient().Create(t.Context(), sdk.ScheduleOptions{
		ID: "backfilled", Paused: true, Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
		Spec: sdk.ScheduleSpec{
			Calendars: []sdk.ScheduleCalendarSpec{{Hour: []sdk.ScheduleRange{{Start: 3}}}}, TimeZoneName: "Europe/Berlin",
		},
		Action: &sdk.ScheduleWorkflowAction{
			ID: "daily", Workflow: workflows.RunPipelineName, TaskQueue: workflows.TaskQueue, Args: []any{map[string]any{"pipeline": "daily"}},
		},
	})
	require.NoError(t, err)
	require.NoError(t, schedule.Backfill(t.Context(), sdk.ScheduleBackfillOptions{Backfill: []sdk.ScheduleBackfill{{
		Start: time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), Overlap: enums.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
	}}}))
	days := []string{"2026-03-27", "2026-03-28", "2026-03-29"}
	require.Eventually(t, func() bool {
		var slots []string
		for _, start := range serving.Listed[struct {
			Slot     string
			Schedule string
			Run      string
		}](t, s, "starts") {
			if start.Schedule == "backfilled" && start.Slot != "" {
				slots = append(slots, start.Slot)
			}
		}
		slices.Sort(slots)
		return slices.Equal(slots, days)
	}, patience, 100*time.Millisecond)
	for _, day := range days {
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(s.Folder, "out", day+".csv"))
			return err == nil
		}, patience, 50*time.Millisecond, day)
	}
	require.NoError(t, schedule.Delete(t.Context()))
}

// receiver takes events; it never answers the first time.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	ids []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		r.mu.Lock()
		r.ids = append(r.ids, request.Header.Get("webhook-id"))
		first := len(r.ids) == 1
		r.mu.Unlock()
		if first {
			<-request.Context().Done()
		}
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// TestServeIsKilled kills it while a run moves rows, and while an endpoint has an event and did not answer, and serves again: the run continues by itself, in the epoch in
// which it was, and the endpoint gets that event again, with its id, and all others once and in order.
func TestServeIsKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const rows = 400_000
	require.NoError(t, os.WriteFile(filepath.Join(folder, "served.yaml"), []byte(fixtures.Served), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, rows)), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "secrets"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "secrets", "hook"), []byte("whsec_"+strings.Repeat("QUJD", 8)+"\n"), 0o600))
	delivering, hook := []string{"--secrets-dir", "secrets", "--allow-network", "127.0.0.1"}, newReceiver(t)
	s := serving.Start(t, folder, delivering...)
	s.Waymark(t, "endpoint", "add", "hook", "--url", hook.URL, "--secret", "hook", "--why", "test")
	s.Waymark(t, "run", "--pipeline", "served", "--run-id", "r", "--detach")
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(folder, ".waymark")), Existing: true})
	require.NoError(t, err)
	defer home.Close()
	require.Eventually(t, func() bool {
		status, err := home.Counts(t.Context(), "r")
		return err == nil && status.Rows > rows/10 && len(hook.got()) == 1
	}, patience, 5*time.Millisecond)
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	require.Contains(t, s.Waymark(t, "status", "r"), "waymark serve continues it; without a server: waymark resume r")
	out, err := s.Try(t.Context(), "follow", "r")
	require.Error(t, err)
	require.Contains(t, out, "nobody works for run r; waymark serve continues it")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "other.yaml"), []byte(strings.Replace(fixtures.Served, "in.csv", "other.csv", 1)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "other.csv"), []byte(fixtures.Numbered(0, 1)), 0o600))
	alone, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(folder, ".waymark"))})
	require.NoError(t, err)
	other, err := alone.Start(t.Context(), client.StartRequest{File: filepath.Join(folder, "other.yaml"), Params: map[string]string{"to": "out/other.csv"}})
	require.NoError(t, err)
	_, err = other.Wait(t.Context())
	require.NoError(t, err)
	left, err := home.Status(t.Context(), "r")
	require.NoError(t, err)
	require.True(t, left.Dead(), "the process that has the folder executes runs of its own")
	require.NoError(t, errors.Join(other.Close(), alone.Close()))
	run, err := home.Find(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, pipeline.Running, run.Status, "and leaves it to the next one that serves")

	s = serving.Start(t, folder, delivering...)
	require.Eventually(t, func() bool {
		run, err := home.Find(t.Context(), "r")
		return err == nil && run.Status == pipeline.Completed
	}, patience, 100*time.Millisecond)
	var ids []string
	for _, event := range serving.Listed[client.OutboxEvent](t, s, "outbox") {
		ids = append(ids, event.ID)
	}
	require.Eventually(t, func() bool { return len(hook.got()) > len(ids) }, patience, 50*time.Millisecond)
	require.Equal(t, append(ids[:1:1], ids...), hook.got())
	run, err = home.Find(t.Context(), "r")
	require.NoError(t, err)
	require.Zero(t, run.Epoch)
	written, err := os.ReadFile(filepath.Join(folder, "out", "served.csv"))
	require.NoError(t, err)
	require.Equal(t, rows+1, bytes.Count(written, []byte("\n")))
	s.Waymark(t, "verify", "r")
	require.Equal(t, landscape.StartBegun, serving.Listed[struct{ State landscape.StartState }](t, s, "starts")[0].State)
}

// TestFollowersOfAServerThatEnded: who follows a run that a server executes follows it on another port, if the server comes back there, and else
// learns that it is gone, and how to go on.
func TestFollowersOfAServerThatEnded(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "served.yaml"), []byte(fixtures.Served), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, 10)), 0o600))
	s := serving.Start(t, folder)
	s.Waymark(t, "run", "--pipeline", "served", "--run-id", "whole")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, 400_000)), 0o600))
	s.Waymark(t, "run", "--pipeline", "served", "--run-id", "moved", "--detach")
	s.IsRecorded(t, "moved")
	s.Waymark(t, "pause", "moved", "--why", "to end the server")
	said := followAndKill(t, s, "moved")
	s = serving.Start(t, folder)
	s.Waymark(t, "cancel", "moved", "--why", "seen at the other address")
	require.Contains(t, said(), "run moved was cancelled by ")

	s.Waymark(t, "run", "--pipeline", "served", "--run-id", "r", "--detach")
	s.IsRecorded(t, "r")
	s.Waymark(t, "pause", "r", "--why", "to end the server")
	out := followAndKill(t, s, "r")()
	require.Contains(t, out, "the process that worked for run r ended; waymark serve continues it, and waymark follow r follows it then")
	require.Contains(t, out, "exit status 130")
}

// followAndKill kills the server while somebody follows the run, and returns what gives what that one has said when it has ended.
func followAndKill(t *testing.T, s *serving.Server, run string) func() string {
	t.Helper()
	said := s.Followed(t, run)[run]
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	return said
}
