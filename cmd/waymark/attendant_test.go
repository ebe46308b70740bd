package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"

	"waymark/client"
)

// queues is a cluster of which only the queues are asked.
type queues struct {
	sdk.Client
	seen map[string]time.Time // when a worker of the queue asked for work
}

func (q queues) DescribeTaskQueue(_ context.Context, queue string, _ enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	seen, is := q.seen[queue]
	if !is {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{Identity: "1@a", LastAccessTime: timestamppb.New(seen)}}}, nil
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
			e := &execution{machine: &machine{queue: "waymark", temporal: &client.Connection{Temporal: queues{seen: test.seen}}}}
			e.input.Files = test.files
			require.Equal(t, test.says, e.workerless(t.Context()))
		})
	}
}
