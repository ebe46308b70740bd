// Package beat keeps heartbeats that get lost from ending the work that they report.
package beat

import (
	"context"
	"slices"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Tolerant returns options of a client whose workers take a heartbeat that did not reach Temporal for one that did.
//
// Without it, Temporal's SDK cancels an activity as soon as one of its heartbeats fails within the interval between two
// of them: on a busy machine, or while Temporal is restarted, that throws away work whose next heartbeat would have
// arrived. Temporal itself decides when an activity was silent for too long. What it answers, such as that it does not
// know the activity any more, is passed on.
func Tolerant(o client.Options) client.Options {
	dialing := &o.ConnectionOptions.DialOptions
	*dialing = append(slices.Clip(*dialing), grpc.WithChainUnaryInterceptor(tolerate))
	return o
}

func tolerate(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	if method == workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName && lost(err) {
		return nil
	}
	return err
}

// lost reports whether a call failed in the network, or in a server that is not well: it says nothing of the activity.
func lost(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Aborted,
		codes.Internal, codes.Unknown:
		return true
	}
	return false
}
