package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/worker/runlog"
)

// scene is a process that logs, and a record with the run r.
type scene struct {
	told   *runlog.Keeper
	logger *slog.Logger
	log    *landscape.Log
}

func newScene(t *testing.T) scene {
	s := scene{told: &runlog.Keeper{}, log: landscape.New(blank.New(t), nil)}
	s.logger = slog.New(s.told.Handler(slog.DiscardHandler))
	require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), s.log))
	return s
}

// recorded returns what was recorded of the run once the process ended.
func (s scene) recorded(t *testing.T) (said []string) {
	t.Helper()
	s.told.To(s.log)
	require.NoError(t, s.told.Close(t.Context()))
	events, err := landscape.Select[landscape.RunEvent](t.Context(), s.log, "r")
	require.NoError(t, err)
	for _, e := range events {
		require.Regexp(t, `^\S+/\d+: `, e.Detail)
		said = append(said, e.Event+" "+e.Detail[len(prefix(e.Detail)):])
	}
	return said
}

func prefix(detail string) string {
	for i := range detail {
		if detail[i] == ' ' {
			return detail[:i+1]
		}
	}
	return detail
}

// TestLines: warnings and errors about the run are recorded, in the words of this program, and nothing else.
func TestLines(t *testing.T) {
	s := newScene(t)
	sdk := sdklog.With(sdklog.NewStructuredLogger(s.logger), "Namespace", "default", "WorkerID", "1@a", "WorkflowID", "run-r", "RunID", "0198")
	sdk.Error("Activity error.", "ActivityType", "Write", "Attempt", 2, "Error", errors.New(`the disk is "away"`))
	sdk.Error("Activity error.", "Error", temporal.NewCanceledError())
	sdk.Info("Started Worker")
	s.logger.Warn("who waits is unknown", "run", "r", "error", "")
	s.logger.Warn("stopped", "run", "r", "error", fmt.Errorf("asked: %w", context.Canceled))
	s.logger.Warn("slot is late", "workflow", "slots-r")
	s.logger.Warn("it never began", "run", "other")
	require.Equal(t, []string{`error Activity error. activity=Write attempt=2 error="the disk is \"away\""`, "warning who waits is unknown"}, s.recorded(t))
}

// TestManyLines: of many lines the first ones are recorded, and how many more there are.
func TestManyLines(t *testing.T) {
	s := newScene(t)
	for i := range 75 {
		s.logger.Warn(fmt.Sprint("line ", i), "run", "r")
	}
	said := s.recorded(t)
	require.Len(t, said, 51)
	require.Equal(t, "warning line 49", said[49])
	require.Equal(t, "warning 25 further warnings and errors are in the log of this process alone", said[50])
}

// TestAfterTheEnd: a line that comes late belongs to the run if it was logged before the end, and the seal binds it.
func TestAfterTheEnd(t *testing.T) {
	s := newScene(t)
	s.logger.Warn("before", "run", "r")
	require.NoError(t, s.log.StopRun(t.Context(), "r", pipeline.Failed, "broken"))
	time.Sleep(time.Millisecond)
	s.logger.Warn("after", "run", "r")
	require.Equal(t, []string{"warning before"}, s.recorded(t))
	seals, err := s.log.RunSeals(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, seals, 2)
	_, err = s.log.CheckSeals(t.Context(), "r")
	require.NoError(t, err)
}

// TestSoon: lines are recorded while the process goes on, and once, also if somebody tries again.
func TestSoon(t *testing.T) {
	s := newScene(t)
	s.told.To(s.log)
	s.logger.Warn("now", "run", "r")
	require.Eventually(t, func() bool {
		events, err := landscape.Select[landscape.RunEvent](t.Context(), s.log, "r")
		require.NoError(t, err)
		if len(events) == 1 {
			require.NoError(t, s.log.RecordLogged(t.Context(), "r", events))
		}
		return len(events) == 1
	}, 30*time.Second, 20*time.Millisecond)
	require.Len(t, s.recorded(t), 1)
}
