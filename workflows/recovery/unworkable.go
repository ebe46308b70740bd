package recovery

import (
	"context"

	"go.temporal.io/sdk/client"

	"waymark/internal/temporal/cluster"
)

// Unworkable returns the ids of the open workflows of runs that no worker ever gets a task of.
func Unworkable(ctx context.Context, c client.Client) (ids []string, err error) {
	for open, err := range cluster.Workflows(ctx, c, openRuns) {
		if err != nil {
			return ids, err
		}
		if id := open.GetExecution().GetWorkflowId(); !cluster.Printable(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
