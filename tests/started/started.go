// Package started is Temporal as far as activities ask it how their workflow began, for environments without a server.
package started

import (
	"context"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"waymark/activities"
)

// Context is one for the activities of workflows that somebody by the name of identity started.
func Context(identity string) context.Context {
	return activities.WithService(context.Background(), service{identity: identity})
}

type service struct {
	workflowservice.WorkflowServiceClient
	identity string
}

// GetWorkflowExecutionHistory returns the first event of whatever it is asked for.
func (s service) GetWorkflowExecutionHistory(
	_ context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption,
) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	start := &history.WorkflowExecutionStartedEventAttributes{
		WorkflowType: &common.WorkflowType{Name: "RunPipeline"}, Identity: s.identity, OriginalExecutionRunId: in.GetExecution().GetRunId(), Attempt: 1,
	}
	event := &history.HistoryEvent{EventId: 1, Attributes: &history.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: start}}
	return &workflowservice.GetWorkflowExecutionHistoryResponse{History: &history.History{Events: []*history.HistoryEvent{event}}}, nil
}

// GetWorkflowExecutionHistoryReverse returns that whatever it is asked for was cancelled.
func (s service) GetWorkflowExecutionHistoryReverse(
	context.Context, *workflowservice.GetWorkflowExecutionHistoryReverseRequest, ...grpc.CallOption,
) (*workflowservice.GetWorkflowExecutionHistoryReverseResponse, error) {
	cancel := &history.WorkflowExecutionCancelRequestedEventAttributes{Identity: s.identity}
	event := &history.HistoryEvent{Attributes: &history.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes{WorkflowExecutionCancelRequestedEventAttributes: cancel}}
	return &workflowservice.GetWorkflowExecutionHistoryReverseResponse{History: &history.History{Events: []*history.HistoryEvent{event}}}, nil
}
