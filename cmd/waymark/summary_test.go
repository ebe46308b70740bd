package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// TestUnrecordedEnd: when the end of a run could not be recorded, no summary says that it is running.
func TestUnrecordedEnd(t *testing.T) {
	for _, test := range []struct {
		kind client.Kind
		code int
		said string
		json string
	}{
		{client.Interrupted, exitInterrupted, "run r was stopped; the disk is gone\nwaymark doctor", `"status":"interrupted"`},
		{client.Failed, exitFailed, "run r failed; the disk is gone\nwaymark doctor", `"status":"failed"`},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			var out bytes.Buffer
			a := &app{stdout: &out}
			e, end := &client.Execution{Run: "r"}, &client.Ending{Interrupted: test.kind == client.Interrupted}
			outcome := &client.Outcome{
				Run:    landscape.Run{RunHead: landscape.RunHead{ID: "r", Status: pipeline.Running}},
				Status: &client.Status{Run: client.Run{ID: "r", Status: pipeline.Running}},
				Err:    &client.Error{Kind: test.kind, Message: "the disk is gone", Cure: client.DiagnoseAndResume, Run: "r"},
			}
			code, said := exitCode(worded(a.report(e, end, outcome)), true)
			require.Equal(t, test.code, code)
			require.ErrorContains(t, said, test.said)
			require.Empty(t, out.String())
			a.json = true
			code, _ = exitCode(worded(a.report(e, end, outcome)), true)
			require.Equal(t, test.code, code)
			require.Contains(t, out.String(), test.json)
			require.Contains(t, out.String(), `"error":"the disk is gone"`)
		})
	}
}

func TestLogLine(t *testing.T) {
	for want, in := range map[string]*client.RunInLog{
		"":                       nil,
		"no entry: the run":      {Entry: -1},
		"entry 2, not signed":    {Entry: 2},
		"entry 2, signed, at 1 ": {Entry: 2, Signed: true, Anchored: 1, Anchors: 2},
	} {
		require.True(t, strings.HasPrefix(logLine(in), want), logLine(in))
	}
	require.Empty(t, logLine(nil))
}
