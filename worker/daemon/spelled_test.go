package daemon

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
)

// TestLinesHaveOneSpelling: what Temporal's SDK says of a workflow is found by the same names as what this program says.
func TestLinesHaveOneSpelling(t *testing.T) {
	var log bytes.Buffer
	d := &process{Config: Config{LogFormat: formatJSON, LogLevel: "info"}, Program: Program{Stderr: &log}}
	logger, err := d.newLogger()
	require.NoError(t, err)
	sdk := sdklog.With(sdklog.NewStructuredLogger(logger), "Namespace", "default", "WorkerID", "1@a", "WorkflowID", "run-r1", "RunID", "0198")
	sdk.Warn("who waits is unknown", "run", "r1", "Error", "away")
	require.Contains(t, log.String(), `"msg":"who waits is unknown","namespace":"default","worker":"1@a","workflow":"run-r1","execution":"0198","run":"r1","error":"away"}`)
}
