package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/temporal"

	"waymark/landscape"
	"waymark/pipeline"
)

func TestCauseIsWhatTheActivitySaid(t *testing.T) {
	const said = "landscape postgres://db:5432/x?schema=waymark: nothing listens there: is Postgres running?: dial error"
	converter := temporal.GetDefaultFailureConverter()
	// As it is stored in a history: what an activity returned, with what that wraps.
	activity := &failure.Failure{
		Message:     "activity error",
		FailureInfo: &failure.Failure_ActivityFailureInfo{ActivityFailureInfo: &failure.ActivityFailureInfo{}},
		Cause:       converter.ErrorToFailure(fmt.Errorf("landscape postgres://db:5432/x?schema=waymark: nothing listens there: is Postgres running?: %w", errors.New("dial error"))),
	}
	workflow := converter.ErrorToFailure(temporal.NewApplicationErrorWithCause("the workflow failed", "x", converter.FailureToError(activity)))
	first := temporal.NewNonRetryableApplicationError(said, "SourceUnusable", nil)
	for name, err := range map[string]error{
		"alone": first, "wrapped": fmt.Errorf("activity error: %w", first), "joined": errors.Join(fmt.Errorf("activity error: %w", first), nil),
		"of an activity": converter.FailureToError(activity), "of a workflow": converter.FailureToError(workflow),
	} {
		require.Equal(t, said, cause(err), name)
	}
	require.Equal(t, "plain", cause(errors.New("plain")))
}

func TestLinesComeNowAndThen(t *testing.T) {
	var out bytes.Buffer
	v := &lineView{out: &out, pace: pace{started: time.Now().Add(-10 * time.Second)}, last: time.Now()}
	v.show(landscape.Progress{Rows: 5})
	require.Empty(t, out.String(), "too early")
	v.last = v.last.Add(-lineInterval)
	v.show(landscape.Progress{Rows: 30_000, Passed: 20_000, Failed: 7})
	require.Regexp(t, `^waymark: 30,000 rows read, 20,000 done, [12],\d{3} rows/s, 7 refused\n$`, out.String())
	v.show(landscape.Progress{Rows: 31_000})
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")))
}

func TestBar(t *testing.T) {
	for name, total := range map[string]int64{"bar": 100, "spinner": 0} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			v := newBar(&out, total, landscape.Progress{Bytes: 20})
			v.show(landscape.Progress{Rows: 10, Bytes: 50})
			v.close()
			v.close()
		})
	}
}

func TestPlainText(t *testing.T) {
	for _, test := range []struct {
		files pipeline.Files
		path  string
		want  bool
	}{
		{pipeline.Files{}, "a.csv", true},
		{pipeline.Files{}, "a.csv.gz", false},
		{pipeline.Files{Compression: "auto"}, "a.zst", false},
		{pipeline.Files{Compression: "none"}, "a.gz", true},
		{pipeline.Files{Compression: "gzip"}, "a", false},
		{pipeline.Files{Encoding: "utf-16le"}, "a.csv", false},
		{pipeline.Files{Encoding: "latin-1"}, "a.csv", true},
	} {
		require.Equal(t, test.want, plainText(test.files, test.path), "%+v %s", test.files, test.path)
	}
}

func TestExitCodes(t *testing.T) {
	for status, want := range map[pipeline.RunStatus]int{
		pipeline.Completed: 0, pipeline.Empty: 0, pipeline.Failed: 1, pipeline.Running: 1,
		pipeline.CompletedWithFailures: 3, pipeline.Cancelled: 130, pipeline.Interrupted: 130, pipeline.Blocked: 1,
	} {
		require.Equal(t, want, exitCodeOf(status), status)
	}
}

// TestStillness: it is said after a while in which nothing moves, then now and then, and not before something has moved
// and stood still again.
func TestStillness(t *testing.T) {
	start := time.Now()
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := &stillness{moved: start}
	s.saw(landscape.Progress{Rows: 1}, after(5))
	s.saw(landscape.Progress{Rows: 1}, after(10))
	require.False(t, s.due(after(19)))
	require.True(t, s.due(after(20)))
	require.False(t, s.due(after(49)))
	require.True(t, s.due(after(50)))
	s.saw(landscape.Progress{Rows: 2}, after(75))
	require.False(t, s.due(after(80)), "it moved")
	require.True(t, s.due(after(90)))
}

// TestQuietViewTellsTrouble: -q and --json leave out progress and no trouble.
func TestQuietViewTellsTrouble(t *testing.T) {
	for _, settings := range []config{{quiet: true}, {json: true}} {
		var out bytes.Buffer
		view := (&app{config: settings, stderr: &out}).progressView(0, landscape.Progress{})
		view.show(landscape.Progress{Rows: 1})
		view.say("the disk is full")
		view.close()
		require.Equal(t, "waymark: the disk is full\n", out.String())
	}
}
