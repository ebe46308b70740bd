package codec

import (
	"context"
	"errors"
	"strings"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/proxy"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"waymark/internal/defect"
)

// TypeUnreadable is the type of the failure with which a worker gives a task back that it cannot read. Stored in histories; never
// rename.
const TypeUnreadable = "PayloadUnreadable"

// givingBackTimeout is how long it may take to give a task back. After it Temporal finds out by itself.
const givingBackTimeout = 5 * time.Second

// Guard stands between a worker and Temporal. A task with payloads that cannot be read with the worker's keys does not reach the
// worker, whose code would fail the whole workflow for it: it goes back to Temporal at once as a task that failed, and another
// worker gets it.
//
// The input of a workflow for which nothing was done yet is an exception if it is not encrypted and has to be: it is let through, so
// that the workflow fails and its starter sees why.
type Guard struct {
	// Codec has the worker's keys; nil if it has none.
	Codec *Codec
	// Unreadable is told of each task that was given back, by the id of its workflow.
	Unreadable func(workflow string, err error)
	// Failed is told of each workflow that the worker let fail.
	Failed func(workflow string, err error)

	failures converter.FailureConverter
}

// ClientOptions makes clients with these options, and workers on them, use the Codec and the Guard.
func (g *Guard) ClientOptions(o *client.Options) {
	ClientOptions(o, g.Codec)
	g.failures = o.FailureConverter
	o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(g.intercept))
}

// lookKey marks calls of somebody who only looks: what cannot be read is no error for them.
type lookKey struct{}

// Looking returns a context for calls of a guarded client whose answers nobody works on.
func Looking(ctx context.Context) context.Context { return context.WithValue(ctx, lookKey{}, true) }

// intercept is a grpc.UnaryClientInterceptor.
func (g *Guard) intercept(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if err := invoke(ctx, method, in, out, conn, options...); err != nil {
		return err
	}
	back := giver{Guard: g, server: workflowservice.NewWorkflowServiceClient(conn)}
	// Pollers of the SDK catch nothing.
	return defect.Catch("codec", func() error { return back.look(context.WithoutCancel(ctx), in, out) })
}

// look looks at an answer before the worker sees it.
func (g giver) look(ctx context.Context, in, out any) error {
	back := g
	switch answer := out.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		if request, is := in.(*workflowservice.PollWorkflowTaskQueueRequest); is {
			back.identity, back.namespace = request.GetIdentity(), request.GetNamespace()
		}
		if back.workflowTask(ctx, answer) {
			proto.Reset(answer) // as if there had been no task
		}
	case *workflowservice.PollActivityTaskQueueResponse:
		if request, is := in.(*workflowservice.PollActivityTaskQueueRequest); is {
			back.identity, back.namespace = request.GetIdentity(), request.GetNamespace()
		}
		if back.activityTask(ctx, answer) {
			proto.Reset(answer)
		}
	case *workflowservice.RespondWorkflowTaskCompletedResponse:
		if request, is := in.(*workflowservice.RespondWorkflowTaskCompletedRequest); is {
			back.identity, back.namespace = request.GetIdentity(), request.GetNamespace()
			g.tell(request)
		}
		if answer.GetWorkflowTask() != nil && back.workflowTask(ctx, answer.GetWorkflowTask()) {
			answer.WorkflowTask = nil
		}
	case *workflowservice.GetWorkflowExecutionHistoryResponse:
		if err := g.Codec.Check(ctx, answer); err != nil && ctx.Value(lookKey{}) == nil {
			return status.Error(codes.FailedPrecondition, err.Error())
		}
	}
	return nil
}

// tell tells of workflows that fail.
func (g *Guard) tell(request *workflowservice.RespondWorkflowTaskCompletedRequest) {
	for _, command := range request.GetCommands() {
		if failure := command.GetFailWorkflowExecutionCommandAttributes().GetFailure(); failure != nil {
			g.Failed(strings.TrimPrefix(request.GetResourceId(), "workflow:"), g.failures.FailureToError(failure))
		}
	}
}

// giver gives tasks back.
type giver struct {
	*Guard
	server              workflowservice.WorkflowServiceClient
	identity, namespace string
}

// workflowTask gives the task back if its history cannot be read, and reports whether it did. Orders and queries that cannot be read
// are refused by the workflow, which then continues.
func (g giver) workflowTask(ctx context.Context, task *workflowservice.PollWorkflowTaskQueueResponse) bool {
	err := g.Codec.Check(ctx, task.GetHistory())
	fault, is := errors.AsType[*UnreadableError](err)
	if err == nil || is && fault.Plain && task.GetPreviousStartedEventId() == 0 {
		return false
	}
	// An error means that Temporal finds out by itself, a little later.
	if task.GetQuery() != nil {
		ctx, done := context.WithTimeout(ctx, givingBackTimeout)
		defer done()
		_, _ = g.server.RespondQueryTaskCompleted(ctx, &workflowservice.RespondQueryTaskCompletedRequest{
			TaskToken: task.GetTaskToken(), Namespace: g.namespace, CompletedType: enums.QUERY_RESULT_TYPE_FAILED, ErrorMessage: err.Error(),
		})
	} else {
		request := &workflowservice.RespondWorkflowTaskFailedRequest{
			TaskToken: task.GetTaskToken(), Namespace: g.namespace, Identity: g.identity, Failure: failureOf(err),
			Cause: enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
		}
		giveBack := func() {
			ctx, done := context.WithTimeout(ctx, givingBackTimeout)
			defer done()
			_, _ = g.server.RespondWorkflowTaskFailed(ctx, request)
		}
		if pause := pauseBefore(task.GetAttempt()); pause > 0 {
			time.AfterFunc(pause, defect.Guard("codec", giveBack)) // the poller continues meanwhile
		} else {
			giveBack()
		}
	}
	g.Unreadable(task.GetWorkflowExecution().GetWorkflowId(), err)
	return true
}

// How long a task is kept before it goes back again, below the 10 seconds after which Temporal takes it for lost.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 8 * time.Second
)

// pauseBefore returns how long a worker keeps a task of this attempt, from 1, before it gives it back. At first another
// worker is to get it at once. If none of several attempts found one that can read it, there may be none, and Temporal
// would hand it out without a pause for as long as that stays so.
func pauseBefore(attempt int32) time.Duration {
	pause := time.Duration(0)
	for range attempt - 1 {
		if pause = max(2*pause, firstPause); pause >= mostPause {
			return mostPause
		}
	}
	return pause
}

// activityTask gives the task back if it cannot be read, and reports whether it did.
func (g giver) activityTask(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse) bool {
	err := g.Codec.Check(ctx, task)
	if err == nil {
		return false
	}
	ctx, done := context.WithTimeout(ctx, givingBackTimeout)
	defer done()
	_, _ = g.server.RespondActivityTaskFailed(ctx, &workflowservice.RespondActivityTaskFailedRequest{
		TaskToken: task.GetTaskToken(), Namespace: g.namespace, Identity: g.identity, Failure: failureOf(err),
	})
	g.Unreadable(task.GetWorkflowExecution().GetWorkflowId(), err)
	return true
}

// failureOf is a failure that a retry may cure. It is not encrypted: the person who looks for the cause has no key either, and it says no
// more than the metadata of the payload.
func failureOf(err error) *failurepb.Failure {
	return &failurepb.Failure{
		Message: err.Error(), Source: "waymark",
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: TypeUnreadable}},
	}
}

// Check returns nil if all payloads of the message can be read, as far as programs read them: headers, memos, summaries and search
// attributes are not looked at.
func (c *Codec) Check(ctx context.Context, message proto.Message) error {
	return visit(ctx, message, func(payload *commonpb.Payload) error {
		_, err := c.decrypt(payload)
		return err
	})
}

// Uses reports whether a payload of the message is encrypted.
func Uses(ctx context.Context, message proto.Message) bool {
	found := errors.New("found")
	return visit(ctx, message, func(payload *commonpb.Payload) error {
		if Encrypted(payload) {
			return found
		}
		return nil
	}) != nil
}

// visit shows the payloads of the message that programs read, until there is an error.
func visit(ctx context.Context, message proto.Message, show func(*commonpb.Payload) error) error {
	return proxy.VisitPayloads(ctx, message, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(at *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			switch at.Parent.(type) {
			case *commonpb.Header, *commonpb.Memo, *sdkpb.UserMetadata:
				return payloads, nil
			}
			for _, payload := range payloads {
				if err := show(payload); err != nil {
					return nil, err
				}
			}
			return payloads, nil
		},
	})
}
