package codec_test

import (
	"context"
	"errors"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	querypb "go.temporal.io/api/query/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"waymark/internal/temporal/codec"
)

// started is a history that begins with an input, a header and a summary.
func started(input, header, summary *commonpb.Payload) *historypb.History {
	return &historypb.History{Events: []*historypb.HistoryEvent{{
		UserMetadata: &sdkpb.UserMetadata{Summary: summary},
		Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input:  &commonpb.Payloads{Payloads: []*commonpb.Payload{input}},
				Header: &commonpb.Header{Fields: map[string]*commonpb.Payload{"trace": header}},
				Memo:   &commonpb.Memo{Fields: map[string]*commonpb.Payload{"by": header}},
			},
		},
	}}}
}

func TestOnlyWhatProgramsReadIsChecked(t *testing.T) {
	one, two := newCodec(t, key("k1", 1)), newCodec(t, key("k2", 2))
	strict, err := codec.New([]codec.Key{key("k1", 1)}, true)
	require.NoError(t, err)
	encrypted, other, plain := encode(t, one, "text"), encode(t, two, "text"), payload("text")[0]
	for _, test := range []struct {
		name    string
		codec   *codec.Codec
		history *historypb.History
		says    string
		plain   bool
	}{
		{"its own", one, started(encrypted, plain, plain), "", false},
		{"plain", one, started(plain, plain, plain), "", false},
		{"plain, to one without keys", nil, started(plain, plain, plain), "", false},
		{"of another", two, started(encrypted, plain, plain), `encrypted with key "k1", which this program does not have`, false},
		{"to one without keys", nil, started(encrypted, plain, plain), `encrypted with key "k1", and this program has no codec keys`, false},
		{"another key of the id", newCodec(t, key("k1", 3)), started(encrypted, plain, plain), `its key is not the key "k1" that this program has`, false},
		{"plain, to one that requires more", strict, started(plain, encrypted, encrypted), "the payload is not encrypted, and --codec-require says", true},
		{"headers and summaries are none of its business", strict, started(encrypted, plain, other), "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.codec.Check(t.Context(), test.history)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
			fault, is := errors.AsType[*codec.UnreadableError](err)
			require.True(t, is)
			require.Equal(t, test.plain, fault.Plain)
		})
	}
	require.True(t, codec.Uses(t.Context(), started(encrypted, plain, plain)))
	require.False(t, codec.Uses(t.Context(), started(plain, encrypted, encrypted)))
}

func TestWhoHasNotTheKeyIsToldSo(t *testing.T) {
	options := func(c *codec.Codec) (o client.Options) {
		codec.ClientOptions(&o, c)
		return o
	}
	one := newCodec(t, key("k1", 1))
	inner := temporal.NewApplicationError("the disk is full", "Full")
	failure := options(one).FailureConverter.ErrorToFailure(temporal.NewApplicationErrorWithCause("cannot go on", "Stopped", inner))
	require.Equal(t, "Encoded failure", failure.GetMessage())
	require.ErrorContains(t, options(one).FailureConverter.FailureToError(failure), "the disk is full")

	failure = options(one).FailureConverter.ErrorToFailure(temporal.NewApplicationErrorWithCause("cannot go on", "Stopped", inner))
	err := options(nil).FailureConverter.FailureToError(failure)
	require.ErrorContains(t, err, `the text of this failure cannot be read here: the payload is encrypted with key "k1"`)
	require.NotContains(t, err.Error(), "Encoded failure")
	require.Equal(t, "Encoded failure", failure.GetMessage(), "what Temporal has is left alone")

	plain := options(nil).FailureConverter.ErrorToFailure(inner)
	require.Equal(t, "the disk is full", plain.GetMessage(), "without keys nothing is encrypted")
	require.ErrorContains(t, options(one).FailureConverter.FailureToError(plain), "the disk is full")
}

// server hands out tasks, and keeps what comes back.
type server struct {
	workflowservice.UnimplementedWorkflowServiceServer
	history *historypb.History // of the workflow, or with the input of the activity
	before  int64              // event of the last task that somebody did
	attempt int32              // of the task, from 1
	query   bool
	back    []proto.Message
}

func (s *server) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (s *server) task() *workflowservice.PollWorkflowTaskQueueResponse {
	task := &workflowservice.PollWorkflowTaskQueueResponse{
		TaskToken: []byte("task"), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "run-1"}, History: s.history, PreviousStartedEventId: s.before, Attempt: s.attempt,
	}
	if s.query {
		task.Query = &querypb.WorkflowQuery{QueryType: "progress"}
	}
	return task
}

func (s *server) PollWorkflowTaskQueue(context.Context, *workflowservice.PollWorkflowTaskQueueRequest) (*workflowservice.PollWorkflowTaskQueueResponse, error) {
	return s.task(), nil
}

func (s *server) PollActivityTaskQueue(context.Context, *workflowservice.PollActivityTaskQueueRequest) (*workflowservice.PollActivityTaskQueueResponse, error) {
	return &workflowservice.PollActivityTaskQueueResponse{
		TaskToken: []byte("task"), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "run-1"},
		Input: s.history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetInput(),
	}, nil
}

func (s *server) RespondWorkflowTaskCompleted(context.Context, *workflowservice.RespondWorkflowTaskCompletedRequest) (*workflowservice.RespondWorkflowTaskCompletedResponse, error) {
	return &workflowservice.RespondWorkflowTaskCompletedResponse{WorkflowTask: s.task()}, nil
}

func (s *server) GetWorkflowExecutionHistory(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: s.history}, nil
}

func (s *server) RespondWorkflowTaskFailed(_ context.Context, in *workflowservice.RespondWorkflowTaskFailedRequest) (*workflowservice.RespondWorkflowTaskFailedResponse, error) {
	s.back = append(s.back, in)
	return &workflowservice.RespondWorkflowTaskFailedResponse{}, nil
}

func (s *server) RespondActivityTaskFailed(_ context.Context, in *workflowservice.RespondActivityTaskFailedRequest) (*workflowservice.RespondActivityTaskFailedResponse, error) {
	s.back = append(s.back, in)
	return &workflowservice.RespondActivityTaskFailedResponse{}, nil
}

func (s *server) RespondQueryTaskCompleted(_ context.Context, in *workflowservice.RespondQueryTaskCompletedRequest) (*workflowservice.RespondQueryTaskCompletedResponse, error) {
	s.back = append(s.back, in)
	return &workflowservice.RespondQueryTaskCompletedResponse{}, nil
}

// guarded returns a client of the server behind the guard.
func (s *server) guarded(t *testing.T, guard *codec.Guard) workflowservice.WorkflowServiceClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(serving, s)
	go func() { _ = serving.Serve(listener) }() // until Stop
	t.Cleanup(serving.Stop)
	o := client.Options{HostPort: listener.Addr().String()}
	guard.ClientOptions(&o)
	c, err := client.DialContext(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.WorkflowService()
}

func TestWhatCannotBeReadGoesBack(t *testing.T) {
	const identity = "worker one"
	one, plain := newCodec(t, key("k1", 1)), payload("text")[0]
	strict, err := codec.New([]codec.Key{key("k1", 1)}, true)
	require.NoError(t, err)
	encrypted := started(encode(t, one, "text"), plain, plain)
	// The ways in which a worker gets something to read. Each returns whether it got it.
	polls := map[string]func(*testing.T, workflowservice.WorkflowServiceClient) bool{
		"workflow task": func(t *testing.T, c workflowservice.WorkflowServiceClient) bool {
			task, err := c.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{Identity: identity})
			require.NoError(t, err)
			return len(task.GetTaskToken()) > 0
		},
		"next workflow task": func(t *testing.T, c workflowservice.WorkflowServiceClient) bool {
			answer, err := c.RespondWorkflowTaskCompleted(t.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{Identity: identity})
			require.NoError(t, err)
			return answer.GetWorkflowTask() != nil
		},
		"activity task": func(t *testing.T, c workflowservice.WorkflowServiceClient) bool {
			task, err := c.PollActivityTaskQueue(t.Context(), &workflowservice.PollActivityTaskQueueRequest{Identity: identity})
			require.NoError(t, err)
			return len(task.GetTaskToken()) > 0
		},
	}
	for _, test := range []struct {
		name    string
		codec   *codec.Codec
		history *historypb.History
		before  int64
		query   bool
		back    map[string]bool // the polls whose tasks go back
	}{
		{"its own", one, encrypted, 0, false, nil},
		{"of another", newCodec(t, key("k2", 2)), encrypted, 0, false, map[string]bool{"workflow task": true, "next workflow task": true, "activity task": true}},
		{"to one without keys", nil, encrypted, 3, false, map[string]bool{"workflow task": true, "next workflow task": true, "activity task": true}},
		{"a query", nil, encrypted, 3, true, map[string]bool{"workflow task": true, "next workflow task": true, "activity task": true}},
		{"plain, at the beginning", strict, started(plain, plain, plain), 0, false, map[string]bool{"activity task": true}},
		{"plain, later", strict, started(plain, plain, plain), 3, false, map[string]bool{"workflow task": true, "next workflow task": true, "activity task": true}},
	} {
		for name, poll := range polls {
			t.Run(test.name+", "+name, func(t *testing.T) {
				s := &server{history: test.history, before: test.before, query: test.query}
				var told []string
				c := s.guarded(t, &codec.Guard{
					Codec: test.codec, Unreadable: func(workflow string, err error) { told = append(told, workflow+": "+err.Error()) },
				})
				require.Equal(t, !test.back[name], poll(t, c))
				if !test.back[name] {
					require.Empty(t, told)
					require.Empty(t, s.back)
					return
				}
				require.Len(t, told, 1)
				require.Contains(t, told[0], "run-1: the payload is ")
				require.Len(t, s.back, 1)
				var failure *failurepb.Failure
				switch back := s.back[0].(type) {
				case *workflowservice.RespondWorkflowTaskFailedRequest:
					failure = back.GetFailure()
					require.Equal(t, identity, back.GetIdentity())
				case *workflowservice.RespondActivityTaskFailedRequest:
					failure = back.GetFailure()
				case *workflowservice.RespondQueryTaskCompletedRequest:
					require.True(t, test.query)
					require.Contains(t, told[0], back.GetErrorMessage())
					return
				}
				require.Contains(t, told[0], failure.GetMessage())
				require.Equal(t, codec.TypeUnreadable, failure.GetApplicationFailureInfo().GetType())
				require.False(t, failure.GetApplicationFailureInfo().GetNonRetryable())
			})
		}
	}
}

func TestAFurtherPageOfAHistoryIsReadOrRefused(t *testing.T) {
	plain := payload("text")[0]
	s := &server{history: started(encode(t, newCodec(t, key("k1", 1)), "text"), plain, plain)}
	c := s.guarded(t, &codec.Guard{})
	_, err := c.GetWorkflowExecutionHistory(t.Context(), &workflowservice.GetWorkflowExecutionHistoryRequest{})
	require.ErrorContains(t, err, `encrypted with key "k1"`)
	answer, err := c.GetWorkflowExecutionHistory(codec.Looking(t.Context()), &workflowservice.GetWorkflowExecutionHistoryRequest{})
	require.NoError(t, err)
	require.Len(t, answer.GetHistory().GetEvents(), 1)
}

func TestAFailureIsToldInWords(t *testing.T) {
	one, plain := newCodec(t, key("k1", 1)), payload("text")[0]
	s := &server{history: started(plain, plain, plain)}
	var told string
	guard := &codec.Guard{Codec: one, Failed: func(workflow string, err error) { told = workflow + ": " + err.Error() }}
	c := s.guarded(t, guard)
	var o client.Options
	codec.ClientOptions(&o, one)
	failure := o.FailureConverter.ErrorToFailure(errors.New("the input is no object"))
	request := &workflowservice.RespondWorkflowTaskCompletedRequest{ResourceId: "workflow:run-1", Commands: []*commandpb.Command{{
		Attributes: &commandpb.Command_FailWorkflowExecutionCommandAttributes{FailWorkflowExecutionCommandAttributes: &commandpb.FailWorkflowExecutionCommandAttributes{Failure: failure}},
	}}}
	_, err := c.RespondWorkflowTaskCompleted(t.Context(), request)
	require.NoError(t, err)
	require.Contains(t, told, "run-1: the input is no object")
	require.Equal(t, "Encoded failure", failure.GetMessage())
}

// TestATaskThatNobodyReadsIsKeptForAWhile: the first worker gives it back at once. Then it waits longer and longer, which
// keeps no poller from other work, and never as long as Temporal takes to find it lost.
func TestATaskThatNobodyReadsIsKeptForAWhile(t *testing.T) {
	var pauses []time.Duration
	for _, attempt := range []int32{0, 1, 2, 3, 6, 7, 8, math.MaxInt32} {
		pauses = append(pauses, codec.PauseBefore(attempt))
	}
	const ms = time.Millisecond
	require.Equal(t, []time.Duration{0, 0, 250 * ms, 500 * ms, 4_000 * ms, 8_000 * ms, 8_000 * ms, 8_000 * ms}, pauses)

	s := &server{history: started(encode(t, newCodec(t, key("k1", 1)), "text"), nil, nil), attempt: 100}
	told := 0
	c := s.guarded(t, &codec.Guard{Codec: newCodec(t, key("k2", 2)), Unreadable: func(string, error) { told++ }})
	task, err := c.PollWorkflowTaskQueue(t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{})
	require.NoError(t, err)
	require.Empty(t, task.GetTaskToken())
	require.Equal(t, 1, told)
	require.Empty(t, s.back, "it goes back later")
}
