package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

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

func TestExitCodes(t *testing.T) {
	for status, want := range map[pipeline.RunStatus]int{
		pipeline.Completed: 0, pipeline.Empty: 0, pipeline.Failed: 1, pipeline.Running: 1,
		pipeline.CompletedWithFailures: 3, pipeline.Cancelled: 130, pipeline.Interrupted: 130, pipeline.Blocked: 1,
	} {
		require.Equal(t, want, exitCodeOf(status), status)
	}
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
