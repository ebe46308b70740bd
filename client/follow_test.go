package client

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
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
		require.Equal(t, said, Cause(err), name)
	}
	require.Equal(t, "plain", Cause(errors.New("plain")))
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
	var said, held []string
	w := &watch{follower: &follower{emit: func(event Event) bool {
		held = append(held, event.Message)
		if !event.Again {
			said = append(said, event.Message)
		}
		return true
	}}}
	for _, pending := range [][]*workflow.PendingActivityInfo{quiet, full, full, alsoFull, quiet, quiet} {
		w.hold(hindrance{message: waiting(converter.GetDefaultDataConverter(), pending)})
	}
	require.Equal(t, []string{"waiting: no space left", ""}, said)
	require.Equal(t, []string{"waiting: no space left", "waiting: none left either", ""}, held)
	w.hold(hindrance{message: "paused by ann: lunch"})
	w.hold(hindrance{message: "waiting: no space left"})
	require.Equal(t, []string{"paused by ann: lunch", "waiting: no space left"}, said[2:])
}

// TestDocumentPath: the document of a run is found from any working folder.
func TestDocumentPath(t *testing.T) {
	for file, want := range map[string]string{"p.yaml": "/data/p.yaml", "sub/p.yaml": "/data/sub/p.yaml", "/else/p.yaml": "/else/p.yaml"} {
		require.Equal(t, want, documentPath(landscape.Run{RunHead: landscape.RunHead{BaseDir: "/data"}, File: file}))
	}
}

// TestARunThatWaitsForAWorkerSaysForWhich: one of the queue, or one that sees the files.
func TestARunThatWaitsForAWorkerSaysForWhich(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		files string
		seen  map[string]time.Time
		says  string
		cure  Cure
	}{
		"nobody":          {"", nil, "waiting: no worker listens on queue waymark", StartWorker},
		"none with files": {"here", map[string]time.Time{"waymark": now}, `waiting: no worker of queue waymark sees the files of "here"`, StartWorkerThere},
		"one with files":  {"here", map[string]time.Time{"waymark": now, "waymark@here": now}, "", ""},
		"no files needed": {"", map[string]time.Time{"waymark": now}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Execution{session: &Session{Queue: "waymark", Connection: &Connection{Temporal: queues{seen: test.seen}}}}
			e.input.Files = test.files
			says, cure := e.Workerless(t.Context())
			require.Equal(t, test.says, says)
			require.Equal(t, test.cure, cure)
		})
	}
}
