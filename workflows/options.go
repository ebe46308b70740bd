package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// windowChunks is how many chunks are in flight at once: one being read, one or two in the steps, one being
	// written. More would cost memory (about 20 MB a chunk at the default size) and gain nothing on a few cores.
	windowChunks = 4

	// stretchChunks is how many chunks of a run that is split go through the steps in one activity, at most. What they take
	// in memory is bounded by the size of chunks.
	stretchChunks = 16

	// writeChunks is how many chunks wait at a process, at least, until their parts are written in one activity, and with
	// those that came last no more than a stretch more. With what goes through the steps meanwhile they have room in its
	// memory.
	writeChunks = 12

	// readChunks is how many are read in one, at most.
	readChunks = 24

	// surveyChunks is how many are found in one survey, at most, but for its last share.
	surveyChunks = 128

	// usualHeartbeat finds a dead worker. Activities beat every few seconds, however long a chunk takes.
	usualHeartbeat = 30 * time.Second

	// attemptTimeout bounds one attempt that is alive but stuck. A chunk takes well under a second; a slow disk or a
	// compressed source that is read again from its beginning may take minutes.
	attemptTimeout = 30 * time.Minute

	// maxAttempts ends the retries of a service that stays broken: with the intervals below, after about seven minutes.
	// The run then stops in a state that can be resumed.
	maxAttempts = 15
)

// retryPolicy is for services that break: a full disk, a locked database. Errors that no retry cures say so themselves.
func retryPolicy() *temporal.RetryPolicy {
	return &temporal.RetryPolicy{
		InitialInterval:    200 * time.Millisecond,
		BackoffCoefficient: 2,
		MaximumInterval:    time.Minute,
		MaximumAttempts:    maxAttempts,
	}
}

// withActivity returns a context for an activity. The summary is what Temporal's UI shows beside it.
func withActivity(ctx workflow.Context, format string, args ...any) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: attemptTimeout,
		HeartbeatTimeout:    heartbeatTimeout(),
		RetryPolicy:         retryPolicy(),
		Summary:             clipped(fmt.Sprintf(format, args...), mostSummary),
	})
}

// Temporal rejects longer notes, of 400 and 20,000 bytes after they are encoded, together with what they are about:
// the task would fail again and again. Names in them come from those who start runs and give orders.
const (
	mostSummary = 250
	mostDetails = 16_000
)

// clipped returns the beginning of a text that takes at most so many bytes as JSON.
func clipped(text string, most int) string {
	for end := min(len(text), most); ; end = end * 3 / 4 {
		begin := strings.ToValidUTF8(text[:end], "")
		encoded, err := json.Marshal(begin) //workflowcheck:ignore a string has one encoding
		if err == nil && len(encoded) <= most {
			return begin
		}
	}
}
