package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"waymark/landscape"
	"waymark/workflows"
)

// queues is a cluster of which only the queues are asked.
type queues struct {
	sdk.Client
	seen map[string]time.Time // when a worker of the queue asked for work
	down bool
	kind string // of the workflow that is open; none if empty
	at   string // its queue
}

func (q queues) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if q.down || q.kind == "" {
		return nil, serviceerror.NewNotFound("none")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{
		ExecutionConfig:       &workflow.WorkflowExecutionConfig{TaskQueue: &taskqueue.TaskQueue{Name: q.at}},
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Type: &common.WorkflowType{Name: q.kind}, Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
	}, nil
}

func (q queues) DescribeTaskQueue(_ context.Context, queue string, _ enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	if q.down {
		return nil, serviceerror.NewUnavailable("down")
	}
	seen, is := q.seen[queue]
	if !is {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{Identity: "1@a", LastAccessTime: timestamppb.New(seen)}}}, nil
}

func (queues) Close() {}

// TestOrdersNeedAWorker: an order that nobody can hear is refused at once; who cannot be asked about workers is given it.
func TestOrdersNeedAWorker(t *testing.T) {
	for name, test := range map[string]struct {
		seen    map[string]time.Time
		down    bool
		process int
		refused bool
	}{
		"a worker":          {seen: map[string]time.Time{"waymark": time.Now()}},
		"none":              {refused: true},
		"one that is gone":  {seen: map[string]time.Time{"waymark": time.Now().Add(-time.Hour)}, refused: true},
		"of another queue":  {seen: map[string]time.Time{"other": time.Now()}, refused: true},
		"no answer":         {down: true},
		"a process is here": {process: 1},
	} {
		t.Run(name, func(t *testing.T) {
			executor := &Executor{Connection: &Connection{Temporal: queues{seen: test.seen, down: test.down}}, Process: test.process, Queue: "waymark"}
			err := executor.Attended(t.Context(), "r")
			if test.refused {
				require.EqualError(t, err, "run r waits for a worker, and none listens on queue waymark")
				requireKind(t, Unavailable, err)
				return
			}
			require.NoError(t, err)
		})
	}
}

// TestSomebodysOwnWorkflowHasTheIDOfARun: it is said what it is, and how to go on; a run that a worker of another queue
// executes is none such.
func TestSomebodysOwnWorkflowHasTheIDOfARun(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		kind, queue string
		says        string
	}{
		"none":               {},
		"the run's":          {kind: workflows.RunPipelineName, queue: "waymark"},
		"on another queue":   {kind: workflows.RunPipelineName, queue: "other"},
		"of another type":    {kind: "Foo", queue: "waymark", says: `it is of the type "Foo" on the queue "waymark". End it (temporal workflow terminate --workflow-id run-r), and`},
		"where nobody polls": {kind: workflows.RunPipelineName, queue: "nowhere", says: `on the queue "nowhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			temporal := queues{seen: map[string]time.Time{"waymark": now, "other": now}, kind: test.kind, at: test.queue}
			executor := &Executor{Connection: &Connection{Temporal: temporal}, Queue: "waymark"}
			err := executor.Attended(t.Context(), "r")
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			requireKind(t, Busy, err)
		})
	}
}

// reaching is a Host that reaches one Executor.
type reaching struct {
	Host
	executor *Executor
}

func (r reaching) Reach(context.Context) (*Executor, error) { return r.executor, nil }

// TestAStartThatNobodyTookYet: who asks for its run learns who asked for it and when it begins; of another one, which
// workflow is open.
func TestAStartThatNobodyTookYet(t *testing.T) {
	missing := noRun("r", "here", nil)
	open := queues{kind: workflows.RunPipelineName, at: "waymark"}
	c := New(nil, "here", reaching{executor: &Executor{Connection: &Connection{Temporal: open}, Queue: "waymark"}})
	start := landscape.Start{Run: "r", Pipeline: "p", Actor: "ann", Trigger: "cli", Accepted: 1, State: landscape.StartAccepted}
	const begins = ": it begins as soon as a worker takes it"
	require.EqualError(t, c.unknown(t.Context(), "r", &start, missing),
		"run r was requested at 1970-01-01T00:00:00Z by ann (cli), of pipeline p, and has not begun"+begins)
	require.EqualError(t, c.unknown(t.Context(), "r", nil, missing), "run r is not recorded yet; its workflow run-r is open"+begins)
	start.State = landscape.StartRefused
	require.ErrorContains(t, c.unknown(t.Context(), "r", &start, missing), "its workflow run-r is open")
}
