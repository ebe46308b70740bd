// Package histories holds workflow code against histories that released code recorded: a change that would decide otherwise
// in the middle of somebody's run fails here. They are recorded by TestRecord of package tests: to replay them takes no server.
package histories

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/workflows"
	"waymark/workflows/slots"
)

// TestReplay replays every recorded history. Those named bad-* were changed by hand and must not replay: they show that a
// wrong decision is noticed.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 8, "the recorded histories are missing")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(workflows.RunPipeline, workflow.RegisterOptions{Name: workflows.RunPipelineName})
			replayer.RegisterWorkflowWithOptions(workflows.ListPipelines, workflow.RegisterOptions{Name: workflows.ListPipelinesName})
			replayer.RegisterWorkflowWithOptions(workflows.Preflight, workflow.RegisterOptions{Name: workflows.PreflightName})
			replayer.RegisterWorkflowWithOptions(slots.ScheduleFired, workflow.RegisterOptions{Name: slots.FiredName})
			past := parsed(t, file)
			own := workflow.Execution{ID: past.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()} // by which the workflow knows what it is
			err := replayer.ReplayWorkflowHistoryWithOptions(nil, past, worker.ReplayWorkflowHistoryOptions{OriginalExecution: own})
			if strings.HasPrefix(filepath.Base(file), "bad-") {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
		})
	}
}

// inBase64 is what may be bytes, such as the digest in a cursor.
var inBase64 = regexp.MustCompile(`[A-Za-z0-9+/]{16,}={0,2}`)

// TestHistoriesHoldNoRows looks for what the recorded runs read in everything that Temporal kept of them.
func TestHistoriesHoldNoRows(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	for _, file := range files {
		for _, event := range parsed(t, file).Events {
			text := event.String()
			require.NotContains(t, text, "canary", "%s, event %d", file, event.EventId)
			for _, encoded := range inBase64.FindAllString(text, -1) {
				decoded, _ := base64.StdEncoding.DecodeString(encoded) // much of it is none
				require.NotContains(t, string(decoded), "canary", "%s, event %d: %s", file, event.EventId, encoded)
			}
			require.Less(t, event.Size(), 8<<10, "%s, event %d", file, event.EventId)
		}
	}
}

// parsed reads a recorded history.
func parsed(t *testing.T, file string) *history.History {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	past := new(history.History)
	require.NoError(t, temporalproto.CustomJSONUnmarshalOptions{}.Unmarshal(content, past))
	return past
}
