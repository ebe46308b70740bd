package recovery

import (
	"context"

	"go.temporal.io/sdk/client"

	"waymark/internal/temporal/cluster"
)

// Unworkable returns the ids of the open workflows of runs that no worker ever gets a task of: an id that is not printable ASCII does not fit into
// the headers with which Temporal's services ask each other.
func Unworkable(ctx context.Context, c client.Client) (ids []string, err error) {
	for open, err := range cluster.Workflows(ctx, c, openRuns) {
		if err != nil {
			return ids, err
		}
		if id := open.GetExecution().GetWorkflowId(); !printable(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// printable reports whether a text is of printable ASCII characters.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
