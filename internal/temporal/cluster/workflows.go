package cluster

import (
	"context"
	"iter"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// pageSize is how many workflows an answer has.
const pageSize = 1000

// Workflows returns the workflows that a query finds; what happened a moment ago may be missing. After an error there are no more.
func Workflows(ctx context.Context, c client.Client, query string) iter.Seq2[*workflow.WorkflowExecutionInfo, error] {
	return func(yield func(*workflow.WorkflowExecutionInfo, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: pageSize, Query: query}
		for {
			answer, err := c.ListWorkflow(ctx, request)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, found := range answer.GetExecutions() {
				if !yield(found, nil) {
					return
				}
			}
			if request.NextPageToken = answer.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}
