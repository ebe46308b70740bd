package embedded

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	sdkactivity "go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const queue = "queue"

func startServer(t testing.TB, o Options) *Server {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	begin := time.Now()
	s, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Logf("started in %v", time.Since(begin).Round(time.Millisecond))
	return s
}

func stopServer(t testing.TB, s *Server) {
	t.Helper()
	begin := time.Now()
	require.NoError(t, s.Stop())
	t.Logf("stopped in %v", time.Since(begin).Round(time.Millisecond))
}

// startWorker starts a worker that stops at the end of the test, and returns its client.
func startWorker(t testing.TB, s *Server) client.Client {
	t.Helper()
	return startWorkerOf(t, s, echo)
}

// startWorkerOf is startWorker with another activity in the place of echo.
func startWorkerOf(t testing.TB, s *Server, activity func(context.Context, int) (int, error)) client.Client {
	t.Helper()
	c := dial(t, s)
	w := sdkworker.New(c, queue, sdkworker.Options{})
	w.RegisterWorkflow(many)
	w.RegisterWorkflow(again)
	w.RegisterWorkflow(wait)
	w.RegisterActivityWithOptions(activity, sdkactivity.RegisterOptions{Name: "echo"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return c
}

func dial(t testing.TB, s *Server) client.Client {
	t.Helper()
	c, err := s.Client(t.Context(), client.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// many runs n activities, as many at a time as width says, and returns their sum.
func many(ctx workflow.Context, n, width int) (int, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 2 * time.Second})
	sum := 0
	for i := 0; i < n; i += width {
		var futures []workflow.Future
		for j := range min(width, n-i) {
			futures = append(futures, workflow.ExecuteActivity(ctx, echo, i+j))
		}
		for _, future := range futures {
			var x int
			if err := future.Get(ctx, &x); err != nil {
				return 0, err
			}
			sum += x
		}
	}
	return sum, nil
}

func echo(_ context.Context, n int) (int, error) { return n, nil }

// wait ends with the signal's value.
func wait(ctx workflow.Context) (int, error) {
	var n int
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &n)
	return n, nil
}

// again continues as new until a run is told twice to, and returns how many events the first such run had.
func again(ctx workflow.Context, events int) (int, error) {
	for events == 0 {
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
		if info := workflow.GetInfo(ctx); info.GetContinueAsNewSuggested() {
			return 0, workflow.NewContinueAsNewError(ctx, again, info.GetCurrentHistoryLength())
		}
	}
	return events, nil
}

// TestStateSurvives: what is closed and what is open when the server stops is there when it starts again.
func TestStateSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	t.Run("first", func(t *testing.T) {
		s := startServer(t, Options{DatabasePath: path})
		t.Cleanup(func() { stopServer(t, s) })
		c := startWorker(t, s)
		require.Equal(t, 45, runMany(t, c, "closed", 10, 4))
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "open", TaskQueue: queue}, wait)
		require.NoError(t, err)
		_, err = c.QueryWorkflow(t.Context(), "open", "", client.QueryTypeStackTrace)
		require.NoError(t, err, "it waits for the signal")
	})
	t.Run("second", func(t *testing.T) {
		s := startServer(t, Options{DatabasePath: path})
		t.Cleanup(func() { stopServer(t, s) })
		c := startWorker(t, s)
		var n int
		require.NoError(t, c.GetWorkflow(t.Context(), "closed", "").Get(t.Context(), &n))
		require.Equal(t, 45, n)
		require.NoError(t, c.SignalWorkflow(t.Context(), "open", "", "go", 7))
		require.NoError(t, c.GetWorkflow(t.Context(), "open", "").Get(t.Context(), &n))
		require.Equal(t, 7, n)
	})
}

// TestOneServer: a database is used by one server at a time, and is free again whenever that ends.
func TestOneServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	s := startServer(t, Options{DatabasePath: path})
	_, err := Start(t.Context(), Options{DatabasePath: path})
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, Process{PID: os.Getpid(), Address: s.address}, inUse.Process)
	c, err := Dial(t.Context(), inUse.Address, client.Options{})
	require.NoError(t, err, "the other process can be asked")
	c.Close()
	require.ErrorContains(t, inUse, "this process uses")
	stopServer(t, s)
	stopServer(t, startServer(t, Options{DatabasePath: path}))
}

// TestStartFails: a start that fails says why and leaves the database free.
func TestStartFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Start(ctx, Options{DatabasePath: path})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("port in use", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		_, err = Start(t.Context(), Options{DatabasePath: path, Port: l.Addr().(*net.TCPAddr).Port})
		require.ErrorIs(t, err, ErrPortTaken)
		require.ErrorContains(t, err, l.Addr().String())
	})
	t.Run("port taken meanwhile", func(t *testing.T) {
		p, err := choosePorts(0)
		require.NoError(t, err)
		l, err := net.Listen("tcp", p.address(matching))
		require.NoError(t, err)
		defer l.Close()
		_, err = startOn(t.Context(), p, Options{DatabasePath: path, Logger: slog.New(slog.DiscardHandler)})
		require.ErrorIs(t, err, ErrPortTaken)
	})
	t.Run("no folder", func(t *testing.T) {
		_, err := Start(t.Context(), Options{DatabasePath: filepath.Join(path+".none", "temporal.db")})
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	stopServer(t, startServer(t, Options{DatabasePath: path}))
}

// TestDamaged: a database that is damaged at its beginning or further on is named with the cure, which helps.
func TestDamaged(t *testing.T) {
	for name, at := range map[string]int64{"beginning": 0, "further on": 3 * 4096} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "temporal.db")
			stopServer(t, startServer(t, Options{DatabasePath: path}))
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = file.WriteAt(bytes.Repeat([]byte("damage "), 10_000), at)
			require.NoError(t, errors.Join(err, file.Close()))
			_, err = Start(t.Context(), Options{DatabasePath: path})
			require.ErrorContains(t, err, path+" is damaged; delete it while no run is active")
			require.NoError(t, os.Remove(path))
			stopServer(t, startServer(t, Options{DatabasePath: path}))
		})
	}
}

func TestOptions(t *testing.T) {
	p, err := choosePorts(0)
	require.NoError(t, err)
	s := startServer(t, Options{
		DatabasePath: filepath.Join(t.TempDir(), "temporal.db"),
		Port:         p[frontend],
		Retention:    48 * time.Hour,
		Settings:     map[string]any{"limit.historyCount.suggestContinueAsNew": 30},
	})
	t.Cleanup(func() { stopServer(t, s) })
	c := startWorker(t, s)
	require.Equal(t, p.address(frontend), s.address)

	d, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: Namespace})
	require.NoError(t, err)
	require.Equal(t, 48*time.Hour, d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, again, 0)
	require.NoError(t, err)
	var events int
	require.NoError(t, run.Get(t.Context(), &events))
	require.InDelta(t, 30, events, 10)
}

func TestSchedule(t *testing.T) {
	s := startServer(t, Options{DatabasePath: filepath.Join(t.TempDir(), "temporal.db"), Schedules: true})
	t.Cleanup(func() { stopServer(t, s) })
	c := startWorker(t, s)
	_, err := c.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID:                 "hourly",
		Spec:               client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}},
		Action:             &client.ScheduleWorkflowAction{ID: "scheduled", Workflow: many, Args: []any{3, 1}, TaskQueue: queue},
		TriggerImmediately: true,
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		d, err := c.ScheduleClient().GetHandle(t.Context(), "hourly").Describe(t.Context())
		require.NoError(t, err)
		return len(d.Info.RecentActions) == 1 && len(d.Info.RunningWorkflows) == 0
	}, time.Minute, 50*time.Millisecond)
}

// TestStopEnds: after Stop nothing listens, and no goroutine is left but that of Temporal's database handle, which waits.
func TestStopEnds(t *testing.T) {
	before := goroutines()
	s := startServer(t, Options{DatabasePath: filepath.Join(t.TempDir(), "temporal.db")})
	c, err := s.Client(t.Context(), client.Options{})
	require.NoError(t, err)
	c.Close()
	stopServer(t, s)
	_, err = net.Dial("tcp", s.address)
	require.Error(t, err)
	// Besides, what an earlier server with schedules left tries again and again to connect.
	waiting := regexp.MustCompile(`^goroutine .*\n(database/sql\.\(\*DB\)\.connectionOpener|google\.golang\.org/grpc\.\(\*addrConn\)\.resetTransportAndUnlock)\(`)
	var left []string
	require.Eventuallyf(t, func() bool {
		left = slices.DeleteFunc(goroutines()[1:], func(stack string) bool { // the first is the one that looks
			return slices.ContainsFunc(before, func(old string) bool { return number(old) == number(stack) }) || waiting.MatchString(stack)
		})
		return len(left) == 0
	}, time.Minute, 20*time.Millisecond,
		"goroutines are left:\n%v", lazy(func() string { return strings.Join(left, "\n\n") }))
}

// lazy is a text that is made when it is shown.
type lazy func() string

func (l lazy) String() string { return l() }

// goroutines returns the stacks of all goroutines, its caller's first.
func goroutines() []string {
	text := make([]byte, 16<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}

// number returns the number of the goroutine that has the stack.
func number(stack string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
	return id
}

// TestListensOnLoopback: nobody outside of the machine reaches any of the server's ports.
func TestListensOnLoopback(t *testing.T) {
	s := startServer(t, Options{DatabasePath: filepath.Join(t.TempDir(), "temporal.db"), Schedules: true})
	t.Cleanup(func() { stopServer(t, s) })
	listening := 0
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile("/proc/self/net/" + table)
		if err != nil {
			t.Skip("there is no /proc/self/net")
		}
		mine := sockets(t)
		for _, line := range strings.Split(string(text), "\n")[1:] {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" || !mine["socket:["+fields[9]+"]"] {
				continue
			}
			listening++
			require.True(t, strings.HasPrefix(fields[1], "0100007F:"), "listens on %s, not on 127.0.0.1", fields[1])
		}
	}
	require.GreaterOrEqual(t, listening, 3)
}

// sockets returns the sockets that this process has open, as /proc names them.
func sockets(t *testing.T) map[string]bool {
	t.Helper()
	open := map[string]bool{}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range entries {
		if name, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil {
			open[name] = true
		}
	}
	return open
}
