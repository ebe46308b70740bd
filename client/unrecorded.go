package client

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"

	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// unrecorded says of a run that is not recorded why its last start came to nothing, or else what the cluster knows of it: its workflow may have
// failed before a worker could record that. word is the id of a run, or that of a workflow that somebody started. If there is no more to say, it
// returns missing.
func (c *Client) unrecorded(ctx context.Context, word string, missing error) error {
	if word == pipeline.LastRun {
		return missing
	}
	start, err := c.startOf(ctx, word)
	switch {
	case err != nil:
		return err
	case start != nil && accepted(*start):
		return &Error{Kind: Unavailable, Code: RunWaiting, Run: start.Run, Message: requested(start) + ": " + awaitsTemporal, Cure: Diagnose, Err: missing}
	case start != nil && start.Reason != "":
		return c.neverBegan(ctx, word, start, missing)
	case start != nil && start.State == landscape.StartAccepted && c.abandoned(ctx, start.Run):
		return &Error{Kind: Unavailable, Code: RunWaiting, Run: start.Run, Message: requested(start), Cure: c.cureOfAbandoned(ctx, start), Err: missing}
	case start != nil && start.State == landscape.StartAccepted && c.host.Executes(ctx, start.Run) == nil:
		says := fmt.Sprintf("%s; whether its process is still there cannot be seen from here: if it is gone, nobody begins the run, and waymark cancel %s --why TEXT cancels it",
			requested(start), start.Run)
		return &Error{Kind: Unavailable, Code: RunWaiting, Run: start.Run, Message: says, Err: missing}
	}
	return c.unknown(ctx, word, start, missing)
}

// neverBegan says why the last start of a run came to nothing, or for what it waits.
func (c *Client) neverBegan(ctx context.Context, word string, start *landscape.Start, missing error) error {
	if start.State == landscape.StartWaiting {
		waits := &Error{Kind: Unavailable, Code: RunWaiting, Run: start.Run, Message: fmt.Sprintf("run %s waits for places: %s", start.Run, start.Reason), Cure: Join, Err: missing}
		if c.abandoned(ctx, start.Run) {
			waits.Cure, waits.Message = c.cureOfAbandoned(ctx, start), fmt.Sprintf("run %s waits for places", start.Run)
			if waits.Cure == ServeOrCancel { // the other cure says so itself
				waits.Message += ", and its process is gone"
			}
		}
		return waits
	}
	message := fmt.Sprintf("run %s did not begin: it was %s %s: %s", start.Run, start.State, Time(start.Decided).Time().Format(time.RFC3339), start.Reason)
	if start.Workflow == word && start.Run != word {
		message = fmt.Sprintf("workflow %s: %s", word, message)
	}
	return &Error{Kind: NotFound, Code: StartRefused, Run: start.Run, Message: message, Err: missing}
}

// whenTaken ends what is said of a start that a worker has yet to take.
const whenTaken = "it begins as soon as a worker takes it"

// unknown says what the cluster knows of a run that is not recorded; missing if nothing. start is its last one, nil if the
// record has none.
func (c *Client) unknown(ctx context.Context, word string, start *landscape.Start, missing error) error {
	executor, err := c.host.Reach(ctx)
	if err != nil || executor == nil {
		return missing
	}
	defer executor.Close()
	if executor.Process != 0 || executor.Connection == nil { // a process that has just begun has neither yet
		return missing
	}
	for _, id := range []string{workflows.WorkflowID(word), word} {
		execution, known, err := cluster.Latest(ctx, executor.Temporal, id)
		if err != nil || !known {
			continue
		}
		if execution.Open() {
			open := &Error{Kind: Unavailable, Code: RunWaiting, Run: word, Message: fmt.Sprintf("run %s is not recorded yet; its workflow %s is open", word, id)}
			if start != nil && start.State == landscape.StartAccepted {
				open.Run, open.Message = start.Run, requested(start)
			}
			if why := executor.Unreadable(ctx, id); why != "" {
				open.Message += ": " + WaitingWord + why
			} else {
				open.Cure, open.Message = Join, open.Message+": "+whenTaken
			}
			return open
		}
		if execution.Status != enums.WORKFLOW_EXECUTION_STATUS_FAILED {
			continue
		}
		if err := executor.Temporal.GetWorkflow(ctx, id, execution.ID).Get(ctx, nil); err != nil {
			message := fmt.Sprintf("run %s is not recorded; its workflow %s failed: %s", word, id, Cause(err))
			return &Error{Kind: NotFound, Code: StartRefused, Run: word, Message: message, Err: err}
		}
	}
	return missing
}
