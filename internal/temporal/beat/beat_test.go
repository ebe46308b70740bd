package beat

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTolerate(t *testing.T) {
	const heartbeat, other = workflowservice.WorkflowService_RecordActivityTaskHeartbeat_FullMethodName, "/another"
	call := func(method string, code codes.Code) error {
		answer := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			return status.Error(code, "a test")
		}
		return tolerate(t.Context(), method, nil, nil, nil, answer)
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		require.Equal(t, code, status.Code(call(other, code)), "other calls are as they are")
	}
	lost := []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Internal}
	for _, code := range lost {
		require.NoError(t, call(heartbeat, code), "a heartbeat that is lost says nothing of the activity: %v", code)
	}
	answers := []codes.Code{codes.NotFound, codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument}
	for _, code := range answers {
		require.Equal(t, code, status.Code(call(heartbeat, code)), "what Temporal answers counts")
	}
}
