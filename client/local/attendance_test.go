package local

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	service "go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/workflows"
)

// temporal answers an attendance, and counts what it is asked.
type temporal struct {
	lists, singles atomic.Int64
	mu             sync.Mutex
	open           map[string]bool // runs that the list has
	late           map[string]bool // runs that are open, and that the list lacks as yet
	silent         bool            // it answers nothing
	broken         bool            // to ask it panics
	takes          time.Duration   // before it lists
}

func (p *temporal) now(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *temporal) answer(ctx context.Context) (*temporal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken {
		panic("broken")
	}
	if p.silent {
		p.mu.Unlock()
		<-ctx.Done()
		p.mu.Lock()
		return nil, ctx.Err()
	}
	now := &temporal{open: map[string]bool{}, late: p.late}
	for run := range p.open {
		now.open[workflows.WorkflowID(run)] = true
	}
	return now, nil
}

func (p *temporal) list(ctx context.Context) (map[string]bool, error) {
	p.lists.Add(1)
	time.Sleep(p.takes)
	now, err := p.answer(ctx)
	if err != nil {
		return nil, err
	}
	return now.open, nil
}

func (p *temporal) alone(ctx context.Context, run string) (bool, error) {
	p.singles.Add(1)
	now, err := p.answer(ctx)
	if err != nil {
		return false, err
	}
	return now.late[run] || now.open[workflows.WorkflowID(run)], nil
}

// attended has a test look at an attendance in time that passes at once.
func attended(t *testing.T, test func(t *testing.T, p *temporal, a *attendance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &temporal{open: map[string]bool{"r": true}}
		a := newAttendance(p.list, p.alone)
		defer a.close()
		test(t, p, a)
	})
}

var yes, no = true, false

// TestAttendanceAsksOnceForAll: however many ask for however many runs, Temporal lists them once a second, and is asked
// nothing while nobody asks.
func TestAttendanceAsksOnceForAll(t *testing.T) {
	attended(t, func(t *testing.T, p *temporal, a *attendance) {
		for i := range 300 {
			p.open[fmt.Sprint(i)] = true
		}
		for second := range 3 {
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					for i := range 300 {
						if executes := a.executes(t.Context(), fmt.Sprint(i)); executes == nil || !*executes {
							t.Errorf("run %d is executed", i)
						}
					}
				})
			}
			all.Wait()
			require.EqualValues(t, second+1, p.lists.Load())
			time.Sleep(listEvery + time.Millisecond)
		}
		time.Sleep(time.Hour)
		require.EqualValues(t, 3, p.lists.Load())
		require.Zero(t, p.singles.Load())
	})
}

// TestAttendanceAsksForWhatTheListLacks: only such a run is asked for by itself, one that has ended once in ten
// seconds.
func TestAttendanceAsksForWhatTheListLacks(t *testing.T) {
	attended(t, func(t *testing.T, p *temporal, a *attendance) {
		p.late = map[string]bool{"young": true}
		for range 10 {
			require.Equal(t, &yes, a.executes(t.Context(), "young"))
			require.Equal(t, &no, a.executes(t.Context(), "old"))
		}
		require.EqualValues(t, 2, p.singles.Load())
		time.Sleep(2 * time.Second)
		p.now(func() { p.open["young"], p.late = true, nil })
		require.Equal(t, &yes, a.executes(t.Context(), "young"))
		require.Equal(t, &no, a.executes(t.Context(), "old"))
		require.EqualValues(t, 2, p.singles.Load())
		p.now(func() { p.open["old"] = true }) // it was resumed elsewhere
		time.Sleep(2 * time.Second)
		require.Equal(t, &yes, a.executes(t.Context(), "old"), "the list counts more")
		p.now(func() { delete(p.open, "r") })
		require.Equal(t, &no, a.executes(t.Context(), "again"))
		p.now(func() { p.late = map[string]bool{"again": true} }) // it is resumed by this process
		a.forget()
		require.Equal(t, &yes, a.executes(t.Context(), "again"))
	})
}

// TestAttendanceTellsTheTruthWhileTemporalIsSilent: what was known counts for a moment, and then all is unknown;
// nothing is ever said to be executed by nobody.
func TestAttendanceTellsTheTruthWhileTemporalIsSilent(t *testing.T) {
	attended(t, func(t *testing.T, p *temporal, a *attendance) {
		p.silent = true
		require.Nil(t, a.executes(t.Context(), "r"))
		p.now(func() { p.silent = false })
		time.Sleep(2 * time.Second)
		require.Equal(t, &yes, a.executes(t.Context(), "r"))

		p.now(func() { p.silent = true })
		began := time.Now()
		for time.Since(began) < time.Minute {
			asked := time.Now()
			executes := a.executes(t.Context(), "r")
			require.LessOrEqual(t, time.Since(asked), listPatience, "who asks does not wait for long")
			if time.Since(began) <= listGood-listPatience {
				require.Equal(t, &yes, executes)
			} else if time.Since(began) > listGood {
				require.Nil(t, executes)
			}
			require.Nil(t, a.executes(t.Context(), "other"), "the list lacks it, and it may be executed")
			time.Sleep(50 * time.Millisecond)
		}
		require.LessOrEqual(t, p.lists.Load(), int64(2+60/5+2), "one question after the other")
		p.now(func() { p.silent = false })
		time.Sleep(client.AnswerTimeout + listEvery)
		require.Equal(t, &yes, a.executes(t.Context(), "r"))
		require.Equal(t, &no, a.executes(t.Context(), "other"))
	})
}

// TestAttendanceOutlastsWhoAsks: who goes away leaves the others their answer, a panic makes nothing known, and after
// the end nothing is.
func TestAttendanceOutlastsWhoAsks(t *testing.T) {
	attended(t, func(t *testing.T, p *temporal, a *attendance) {
		p.takes = time.Millisecond // or it may have answered before who is gone looks
		gone, leave := context.WithCancel(t.Context())
		leave()
		require.Nil(t, a.executes(gone, "r"))
		require.Equal(t, &yes, a.executes(t.Context(), "r"))
		require.EqualValues(t, 1, p.lists.Load())

		p.now(func() { p.broken = true })
		require.Nil(t, a.executes(t.Context(), "other"))
		time.Sleep(time.Minute)
		require.Nil(t, a.executes(t.Context(), "r"))
		p.now(func() { p.broken = false })
		time.Sleep(2 * listEvery)
		require.Equal(t, &yes, a.executes(t.Context(), "r"))
		require.Equal(t, &no, a.executes(t.Context(), "other"))
		for i := range 2 * mostSingles {
			require.Equal(t, &no, a.executes(t.Context(), fmt.Sprint(i)))
		}
		require.LessOrEqual(t, len(a.singles), mostSingles)
		a.close()
		require.Nil(t, a.executes(t.Context(), "r"))
	})
}

// frontend is a cluster that has an open workflow for each run but one.
type frontend struct {
	service.UnimplementedWorkflowServiceServer
	lists, described atomic.Int64
	silent           atomic.Bool
}

const listedRuns = 30

func (*frontend) GetSystemInfo(context.Context, *service.GetSystemInfoRequest) (*service.GetSystemInfoResponse, error) {
	return &service.GetSystemInfoResponse{}, nil
}

func (*frontend) DescribeNamespace(
	context.Context, *service.DescribeNamespaceRequest,
) (*service.DescribeNamespaceResponse, error) {
	return &service.DescribeNamespaceResponse{}, nil
}

func (f *frontend) ListWorkflowExecutions(
	context.Context, *service.ListWorkflowExecutionsRequest,
) (*service.ListWorkflowExecutionsResponse, error) {
	f.lists.Add(1)
	if f.silent.Load() {
		return nil, serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()
	}
	var found []*workflow.WorkflowExecutionInfo
	for i := range listedRuns {
		id := workflows.WorkflowID(fmt.Sprint("r", i))
		found = append(found, &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: id}})
	}
	return &service.ListWorkflowExecutionsResponse{Executions: found}, nil
}

func (f *frontend) DescribeWorkflowExecution(
	context.Context, *service.DescribeWorkflowExecutionRequest,
) (*service.DescribeWorkflowExecutionResponse, error) {
	f.described.Add(1)
	return nil, serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()
}

// counting counts those that a listener accepts.
type counting struct {
	net.Listener
	accepted atomic.Int64
}

func (c *counting) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return connection, err
}

// TestListsAskTheClusterOnce: to list runs, and to show one, asks Temporal for the open workflows and for no run. What
// asks for one does not connect again.
func TestListsAskTheClusterOnce(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f, server := &frontend{}, grpc.NewServer()
	service.RegisterWorkflowServiceServer(server, f)
	counted := &counting{Listener: listener}
	go func() { _ = server.Serve(counted) }() // until Stop
	t.Cleanup(server.Stop)

	state := filepath.Join(t.TempDir(), "state")
	var warned atomic.Int64
	unset := func(string) (string, bool) { return "", false }
	home, err := Open(t.Context(), Options{
		State: Folder(state), Payloads: "file:" + t.TempDir(),
		Landscape: "sqlite:" + filepath.Join(t.TempDir(), "landscape.db"),
		Cluster:   &client.Cluster{Address: listener.Addr().String(), Env: unset},
		Warn:      func(string) { warned.Add(1) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	store, err := sqlitestore.Open(t.Context(), home.Place(), sqlitestore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	for i := range listedRuns {
		scene := landscapetest.Scene{Run: fmt.Sprint("r", i)}
		require.NoError(t, scene.Begin(t.Context(), landscape.New(store, time.Now)))
	}

	began := time.Now()
	var all sync.WaitGroup
	look := func(alive *bool) {
		seen := 0
		_, err := home.RunsAfter(t.Context(), "", func(run *client.Run) (bool, error) {
			seen++
			require.Equal(t, alive, run.Alive, run.ID)
			return true, nil
		})
		require.NoError(t, err)
		require.Equal(t, listedRuns, seen)
		status, err := home.Status(t.Context(), "r7")
		require.NoError(t, err)
		require.Equal(t, alive, status.Alive)
	}
	for range 10 {
		all.Go(func() { look(&yes) })
	}
	all.Wait()
	require.LessOrEqual(t, f.lists.Load(), 1+int64(time.Since(began)/listEvery))
	require.Zero(t, f.described.Load())
	for range 3 {
		_, err := home.Find(t.Context(), "nobody")
		require.ErrorContains(t, err, `no run "nobody" is recorded`)
	}
	require.NotZero(t, f.described.Load())
	require.EqualValues(t, 1, counted.accepted.Load())

	f.silent.Store(true)
	unknown := func() bool { return home.Executes(t.Context(), "r7") == nil }
	require.Eventually(t, unknown, time.Minute, 10*time.Millisecond)
	look(nil)
	require.EqualValues(t, 1, warned.Load())
}
