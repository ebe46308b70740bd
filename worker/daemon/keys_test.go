package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"waymark/internal/temporal/codec"
)

// pastRun is a run that Temporal knows.
type pastRun struct {
	with *codec.Codec // nil: it is not encrypted
	read bool         // by some worker
	open bool
}

// past is a Temporal server that knows these runs and nothing else.
type past struct {
	client.Client
	runs  []pastRun
	fault error
}

// pastService answers what only the service answers.
type pastService struct {
	workflowservice.WorkflowServiceClient
	past past
}

func (p past) WorkflowService() workflowservice.WorkflowServiceClient { return pastService{past: p} }

func (p past) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	answer := new(workflowservice.ListWorkflowExecutionsResponse)
	for i, run := range p.runs {
		info := &workflow.WorkflowExecutionInfo{Execution: &common.WorkflowExecution{WorkflowId: fmt.Sprint("run-", i)}, Status: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED}
		if run.open {
			info.Status = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}
		answer.Executions = append(answer.Executions, info)
	}
	return answer, p.fault
}

func (p pastService) GetWorkflowExecutionHistory(_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	var i int
	if _, err := fmt.Sscanf(in.GetExecution().GetWorkflowId(), "run-%d", &i); err != nil {
		return nil, err
	}
	input, err := p.past.runs[i].with.Encode([]*common.Payload{{Data: []byte("input")}})
	events := []*history.HistoryEvent{{Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &history.WorkflowExecutionStartedEventAttributes{Input: &common.Payloads{Payloads: input}},
	}}}
	if p.past.runs[i].read {
		events = append(events, &history.HistoryEvent{EventType: enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
	}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &history.History{Events: events}}, err
}

func TestWrongKeysAreNoticed(t *testing.T) {
	made := func(id string, b byte) *codec.Codec {
		c, err := codec.New([]codec.Key{{ID: id, Secret: [32]byte(bytes.Repeat([]byte{b}, 32))}}, false)
		require.NoError(t, err)
		return c
	}
	ours, theirs := made("k1", 1), made("k2", 2)
	for name, test := range map[string]struct {
		runs  []pastRun
		fault error
		wrong bool // it ends
	}{
		"nothing is known":                        {},
		"its own":                                 {runs: []pastRun{{ours, true, true}, {ours, true, false}}},
		"one that goes, of others":                {runs: []pastRun{{theirs, true, true}}, wrong: true},
		"one that has ended":                      {runs: []pastRun{{theirs, true, false}}, wrong: true},
		"most are of others":                      {runs: []pastRun{{theirs, true, true}, {ours, true, false}, {theirs, true, false}}, wrong: true},
		"most are its own":                        {runs: []pastRun{{theirs, true, true}, {ours, true, false}, {ours, true, false}}},
		"as many":                                 {runs: []pastRun{{theirs, true, true}, {ours, true, false}}},
		"many that nobody could read":             {runs: []pastRun{{theirs, false, true}, {theirs, false, true}, {ours, true, false}}},
		"one that nobody could read, and no more": {runs: []pastRun{{theirs, false, true}}},
		"what is not encrypted":                   {runs: []pastRun{{nil, true, true}, {nil, true, true}}},
		"nobody answers":                          {runs: []pastRun{{theirs, true, true}}, fault: errors.New("no such method")},
	} {
		t.Run(name, func(t *testing.T) {
			d := &process{logger: slog.New(slog.DiscardHandler), codec: ours, ready: newReadiness(workService), failed: make(chan error, 1)}
			d.ready.set(workService, nil, nil)
			d.Queue = "waymark"
			k := &keeper{process: d, temporal: past{runs: test.runs, fault: test.fault}, namespace: "default"}
			require.Equal(t, test.wrong, k.judge(t.Context()) != nil)
			k.unreadable("run-0", errors.New("unreadable"))
			k.asking.Lock() // it has looked
			defer k.asking.Unlock()
			code, text := page(t, d.ready)
			if !test.wrong {
				require.Equal(t, http.StatusOK, code, text)
				require.Empty(t, d.failed)
				return
			}
			require.Equal(t, http.StatusServiceUnavailable, code)
			require.Contains(t, text, `this worker does not have the codec keys of queue waymark: others work on what it cannot read, such as run-`)
			require.Contains(t, text, `encrypted with key "k2", which this program does not have`)
			require.ErrorContains(t, <-d.failed, "all workers of a queue need the same keys, in WAYMARK_CODEC_KEYS or --codec-keys-file; with other keys, work on another queue")
		})
	}
}

// TestARunThatNobodyReadsIsSaidOnceAMinute: its task comes again and again, and says the same.
func TestARunThatNobodyReadsIsSaidOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d := &process{logger: slog.New(slog.NewTextHandler(&log, nil)), ready: newReadiness(workService), failed: make(chan error, 1)}
		k := &keeper{process: d, temporal: past{}, namespace: "default"}
		for range 24 { // two minutes
			for _, workflow := range []string{"run-1", "run-2"} {
				k.unreadable(workflow, errors.New("another key"))
			}
			time.Sleep(5 * time.Second)
		}
		require.Equal(t, 4, bytes.Count(log.Bytes(), []byte("cannot read a run")), log.String())
	})
}
