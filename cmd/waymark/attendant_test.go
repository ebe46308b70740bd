package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"waymark/internal/temporal/embedded"
)

// queues is a cluster of which only the queues are asked.
type queues struct {
	client.Client
	seen map[string]time.Time // when a worker of the queue asked for work
	down bool
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

// TestOrdersNeedAWorker: an order that nobody can hear is refused at once; who cannot be asked about workers is given it.
func TestOrdersNeedAWorker(t *testing.T) {
	for name, test := range map[string]struct {
		seen    map[string]time.Time
		down    bool
		process *embedded.Process
		refused bool
	}{
		"a worker":          {seen: map[string]time.Time{"waymark": time.Now()}},
		"none":              {refused: true},
		"one that is gone":  {seen: map[string]time.Time{"waymark": time.Now().Add(-time.Hour)}, refused: true},
		"of another queue":  {seen: map[string]time.Time{"other": time.Now()}, refused: true},
		"no answer":         {down: true},
		"a process is here": {process: &embedded.Process{PID: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			worker := &attendant{post: &post{client: queues{seen: test.seen, down: test.down}}, process: test.process}
			err := worker.heard(t.Context(), "r", "waymark")
			if test.refused {
				require.EqualError(t, err, "run r waits for a worker, and none listens on queue waymark: start one with waymark worker")
				return
			}
			require.NoError(t, err)
		})
	}
}

// TestARunThatWaitsForAWorkerSaysForWhich: one of the queue, or one that sees the files.
func TestARunThatWaitsForAWorkerSaysForWhich(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		files string
		seen  map[string]time.Time
		says  string
	}{
		"nobody":          {"", nil, "waiting: no worker listens on queue waymark: start one with waymark worker"},
		"none with files": {"here", map[string]time.Time{"waymark": now}, `waiting: no worker of queue waymark sees the files of "here": start one there with waymark worker`},
		"one with files":  {"here", map[string]time.Time{"waymark": now, "waymark@here": now}, ""},
		"no files needed": {"", map[string]time.Time{"waymark": now}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &execution{machine: &machine{queue: "waymark", temporal: &post{client: queues{seen: test.seen}}}}
			e.input.Files = test.files
			require.Equal(t, test.says, e.workerless(t.Context()))
		})
	}
}
