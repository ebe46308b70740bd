package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"waymark/landscape"
)

// recordingView keeps what it is told.
type recordingView struct{ said, held []string }

func (*recordingView) show(landscape.Progress) {}
func (v *recordingView) say(text string)       { v.said = append(v.said, text) }
func (v *recordingView) hold(what string)      { v.held = append(v.held, what) }
func (*recordingView) close()                  {}

// TestWaitingIsToldOnce: what an activity waits for is said when that begins and when it ends, and heartbeats that say nothing
// do not count.
func TestWaitingIsToldOnce(t *testing.T) {
	beat := func(details ...any) *workflow.PendingActivityInfo {
		payloads, err := converter.GetDefaultDataConverter().ToPayloads(details...)
		require.NoError(t, err)
		return &workflow.PendingActivityInfo{HeartbeatDetails: payloads}
	}
	quiet := []*workflow.PendingActivityInfo{{}, beat(), beat(7), beat("busy")}
	full := append(quiet, beat("waiting: no space left"))
	alsoFull := []*workflow.PendingActivityInfo{beat("waiting: none left either")}
	w, view := &watch{}, &recordingView{}
	for _, pending := range [][]*workflow.PendingActivityInfo{quiet, full, full, alsoFull, quiet, quiet} {
		w.hold(waiting(converter.GetDefaultDataConverter(), pending), view)
	}
	require.Equal(t, []string{"waiting: no space left", "going on"}, view.said)
	require.Equal(t, []string{"waiting: no space left", "waiting: none left either", ""}, view.held)
	w.hold("paused by ann: lunch", view)
	w.hold("waiting: no space left", view)
	require.Equal(t, []string{"paused by ann: lunch", "waiting: no space left"}, view.said[2:])
}

// TestPaceIsThatOfThisProcess: what was done before it does not count for speed and time left.
func TestPaceIsThatOfThisProcess(t *testing.T) {
	c := pace{time.Now().Add(-10 * time.Second), landscape.Progress{Rows: 900, Passed: 900, Bytes: 5000}}
	require.Contains(t, c.text(landscape.Progress{Rows: 1000, Passed: 1000}), "1,000 rows read, 1,000 done, 9 rows/s")
	require.Zero(t, c.left(landscape.Progress{Bytes: 5000}, 10_000), "nothing is done yet")
	require.InDelta(t, 40*time.Second, c.left(landscape.Progress{Bytes: 6000}, 10_000), float64(time.Second))
	require.Zero(t, c.left(landscape.Progress{Bytes: 12_000}, 10_000))
}

// TestDocumentPath: the document of a run is found from any working folder; records of old do not say where it is.
func TestDocumentPath(t *testing.T) {
	for file, want := range map[string]string{"p.yaml": "/data/p.yaml", "sub/p.yaml": "/data/sub/p.yaml", "/else/p.yaml": "/else/p.yaml", "": ""} {
		require.Equal(t, want, documentPath(landscape.Run{RunHead: landscape.RunHead{BaseDir: "/data"}, File: file}))
	}
}
