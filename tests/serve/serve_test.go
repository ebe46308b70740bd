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
	"regexp"
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
	"waymark/tests/held"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/tests/system"
	"waymark/workflows"
)

// served is a server of which one test asks everything.
type served struct {
	*serving.Server
	hook  *receiver
	web   *held.Web
	serve func() // until the whole test ends
}

// heldBack is a document that reads what a Web holds back, in place of WEB.
const heldBack = `
name: held
chunk: {rows: 10}
sources: {in: {csv: {path: "WEB/in.csv"}, schema: {fields: {id: int, kind: string}}}}
sinks: {out: {csv: {path: out/held.csv}}}
`

// TestServe serves a folder, is killed with a run in its middle, and serves again: commands start runs there at once,
// so does a schedule, the API gives orders, and Temporal's pages show all of it.
func TestServe(t *testing.T) {
	t.Parallel()
	folder, from := t.TempDir(), t.TempDir()
	s := &served{hook: newReceiver(t), web: held.Serve(from)}
	t.Cleanup(s.web.Close)
	s.serve = func() {
		s.Server = serving.Start(t, folder, "--api", "127.0.0.1:0",
			"--secrets-dir", "secrets", "--secrets", hooks, "--allow-network", held.Networks)
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "secrets"), 0o700))
	for path, text := range map[string]string{
		filepath.Join(folder, "secrets", "hook"): secret,
		filepath.Join(from, "in.csv"):            fixtures.Numbered(0, 100),
		filepath.Join(folder, "held.yaml"):       strings.Replace(heldBack, "WEB", s.web.URL, 1),
		filepath.Join(folder, "served.yaml"):     fixtures.Served,
		filepath.Join(folder, "in.csv"):          fixtures.Numbered(0, 50),
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s.serve()
	t.Run("killed", s.isKilled)
	resumed := s.resumes(t)
	t.Run("runs", s.runsAtOnce)
	t.Run("schedule", s.schedule)
	t.Run("orders", s.orders)
	t.Run("pages", s.pages)
	require.NoError(t, resumed.Wait())
	t.Run("resumed", s.isResumed)
	require.NoError(t, s.Command.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.Command.Wait())
	address, _ := local.Folder(filepath.Join(folder, ".waymark")).Server()
	require.Empty(t, address)
}

// isKilled kills the server when a run is paused in its middle, and an endpoint has an event and did not answer, and
// serves again: the run then continues in the epoch in which it was, and the endpoint gets that event again, with its
// id, and all others once and in order. Nothing is in flight then, whose loss is noticed half a minute later:
// TestServeIsKilled kills runs at work.
func (s *served) isKilled(t *testing.T) {
	s.web.Hold(50)
	s.Waymark(t, "endpoint", "add", "hook", "--url", s.hook.URL, "--secret", "hook", "--why", "test")
	s.Waymark(t, "run", "--pipeline", "held", "--run-id", "r", "--detach")
	require.Eventually(t, func() bool {
		status, err := s.Home(t).Counts(t.Context(), "r")
		return err == nil && status.Rows == 50 && len(s.hook.got()) == 1
	}, patience, 5*time.Millisecond)
	s.Waymark(t, "pause", "r", "--why", "to see")
	s.web.Release()
	temporal := s.Temporal(t)
	require.Eventually(t, func() bool {
		described, err := temporal.DescribeWorkflowExecution(t.Context(), workflows.WorkflowID("r"), "")
		return err == nil && len(described.GetPendingActivities()) == 0
	}, patience, 20*time.Millisecond, "nothing is in flight")
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	require.Contains(t, s.Waymark(t, "status", "r"), "waymark serve continues it; without a server: waymark resume r")

	s.serve()
	require.Equal(t, pipeline.Running, s.find(t, "r").Status)
}

// resumes lets the run continue, beside what is tried meanwhile: Temporal gives it to another worker than the one that
// was killed after ten seconds.
func (s *served) resumes(t *testing.T) *errgroup.Group {
	t.Helper()
	var side errgroup.Group
	temporal := s.Temporal(t)
	side.Go(func() error {
		seen := workflows.Command{Actor: "ann", Why: "seen"}
		return system.Give(t, temporal, workflows.WorkflowID("r"), workflows.ContinueUpdate, seen)
	})
	return &side
}

// isResumed looks at the run that was killed.
func (s *served) isResumed(t *testing.T) {
	s.becomes(t, "r", pipeline.Completed)
	ids := s.events(t)
	require.Eventually(t, func() bool { return len(s.hook.got()) > len(ids) }, patience, 50*time.Millisecond)
	require.Equal(t, append(ids[:1:1], ids...), s.hook.got())
	require.Zero(t, s.find(t, "r").Epoch)
	written, err := os.ReadFile(filepath.Join(s.Folder, "out", "held.csv"))
	require.NoError(t, err)
	require.Equal(t, fixtures.Numbered(0, 100), string(written))
	s.Waymark(t, "verify", "r")
}

// find returns a run that is recorded.
func (s *served) find(t *testing.T, run string) landscape.Run {
	t.Helper()
	found, err := s.Home(t).Find(t.Context(), run)
	require.NoError(t, err)
	return found
}

// becomes waits until a run has a status.
func (s *served) becomes(t *testing.T, run string, status pipeline.RunStatus) {
	t.Helper()
	require.Eventually(t, func() bool {
		found, err := s.Home(t).Find(t.Context(), run)
		return err == nil && found.Status == status
	}, patience, 20*time.Millisecond, "%s %s", run, status)
}

// events returns the ids of all events for others, in order.
func (s *served) events(t *testing.T) (ids []string) {
	t.Helper()
	_, err := s.Home(t).Outbox(t.Context(), client.OutboxFilter{}, func(e client.OutboxEvent) error {
		ids = append(ids, e.ID)
		return nil
	})
	require.NoError(t, err)
	return ids
}

// runsAtOnce starts runs of a name and of a file at the same time.
func (s *served) runsAtOnce(t *testing.T) {
	var side errgroup.Group
	for i, args := range [][]string{{"run", "--pipeline", "served"}, {"run", "served.yaml"}} {
		side.Go(func() error {
			out, err := s.Try(t.Context(), append(args, "--param", fmt.Sprintf("to=out/%d.csv", i), "--run-id", fmt.Sprint("r", i))...)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	}
	require.NoError(t, side.Wait())
	for i := range 2 {
		s.becomes(t, fmt.Sprint("r", i), pipeline.Completed)
		written, err := os.ReadFile(filepath.Join(s.Folder, "out", fmt.Sprint(i, ".csv")))
		require.NoError(t, err)
		require.Equal(t, fixtures.Numbered(0, 50), string(written))
	}
	s.Waymark(t, "verify", "r1")
	ready := strings.NewReplacer(
		"in.csv", filepath.Join(s.Folder, "in.csv"),
		"out/served.csv", filepath.Join(s.Folder, "out", "ready.csv"),
	).Replace(fixtures.Served)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "ready.yaml"), []byte(ready), 0o600))
	plan := s.Waymark(t, "deploy", "ready.yaml", "--allow-path", s.Folder, "--dry-run", "--json")
	require.Contains(t, plan, `"state":"ready"}],"worker":true`, "a worker looks")
}

// schedule lets a schedule that somebody made in Temporal fire once; at night also one for days that are over.
func (s *served) schedule(t *testing.T) {
	temporal := s.Temporal(t)
	schedule, err := temporal.ScheduleClient().Create(t.Context(), sdk.ScheduleOptions{
		ID: "each-second", Spec: sdk.ScheduleSpec{Intervals: []sdk.ScheduleIntervalSpec{{Every: time.Second}}}, RemainingActions: 1,
		Action: &sdk.ScheduleWorkflowAction{
			ID: "nightly", Workflow: workflows.RunPipelineName, TaskQueue: workflows.TaskQueue, Args: []any{map[string]any{"pipeline": "served"}},
		},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		runs, _, err := s.Home(t).Runs(t.Context(), 1)
		return err == nil && len(runs) == 1 &&
			runs[0].Trigger == activities.TriggerSchedule && runs[0].Status == pipeline.Completed
	}, patience, 20*time.Millisecond)
	require.NoError(t, schedule.Delete(t.Context()))
	start := serving.Listed[struct{ Schedule, Workflow string }](t, s.Server, "starts")[0]
	require.Equal(t, "each-second", start.Schedule)
	require.Contains(t, start.Workflow, "nightly-")
	if sample.All() {
		fired(t, s.Server, temporal)
	}
}

// orders cancels runs that nobody executes through the API: the log has an entry about each new seal.
func (s *served) orders(t *testing.T) {
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "p.yaml"), []byte(`name: p
sources: {rows: {csv: {path: in.csv}, schema: {fields: {id: int, kind: string}}}}
policies: [{name: none, assert: "run.read == 0", gate: publish}]
sinks: {out: {csv: {path: out/out.csv}}}
`), 0o600))
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	require.Eventually(t, func() bool { return listens.MatchString(s.Log.String()) }, patience, 10*time.Millisecond)
	token := s.Grant(t, "operator", "operator")
	for run, body := range map[string]string{"stopped": `{"why":"a test"}`, "final": `{"why":"a test","final":true}`} {
		_, err := s.Try(t.Context(), "run", "p.yaml", "--run-id", run)
		require.Error(t, err, "it is blocked")
		url := "http://" + listens.FindStringSubmatch(s.Log.String())[1] + "/v1/runs/" + run + "/cancel"
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, 300)
	}
	require.Contains(t, s.Waymark(t, "log", "check"), "the recorded runs agree")
}

// pages asks for Temporal's pages.
func (s *served) pages(t *testing.T) {
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
}

// fired makes a schedule of Temporal fire for three days that are over, of which one has a gap in the
// zone's clocks: each run knows its day.
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

// secret is the one with which events for the receiver are signed.
var secret = "whsec_" + strings.Repeat("QUJD", 8) + "\n"

// hooks is the rule that gives it to the endpoint.
const hooks = "{hook: {endpoints: [hook], hosts: [127.0.0.1]}}"

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

// TestServeIsKilled does what TestServe does with a large run, which is killed wherever it is: it kills the server
// while a run moves rows, and while an endpoint has an event and did not answer, and serves again: the run continues by
// itself, in the epoch in which it was, and the endpoint gets that event again, with its id, and all others once and in
// order.
func TestServeIsKilled(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	folder := t.TempDir()
	const rows = 400_000
	require.NoError(t, os.WriteFile(filepath.Join(folder, "served.yaml"), []byte(fixtures.Served), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(fixtures.Numbered(0, rows)), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "secrets"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "secrets", "hook"), []byte(secret), 0o600))
	delivering := []string{"--secrets-dir", "secrets", "--secrets", hooks, "--allow-network", "127.0.0.1"}
	hook := newReceiver(t)
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
	sample.Rarely(t)
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
