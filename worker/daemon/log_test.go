package daemon

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/tests/blank"
	"waymark/worker/telemetry"
)

// TestMetricOfUnsealedRuns: a run that ended as a process ends one that cannot seal it counts once its seal is overdue.
// One that has just ended, is running or is sealed does not.
func TestMetricOfUnsealedRuns(t *testing.T) {
	driver := blank.New(t)
	log := landscape.New(driver, nil)
	for _, run := range []string{"running", "sealed", "unsealed", "ended-now"} {
		require.NoError(t, landscapetest.Scene{Run: run}.Begin(t.Context(), log))
	}
	require.NoError(t, log.StopRun(t.Context(), "sealed", pipeline.Failed, "broken"))
	overdue := time.Now().Add(-2 * evidence.SealPatience)
	for run, at := range map[string]time.Time{"unsealed": overdue, "ended-now": time.Now()} {
		heads, err := landscape.Select[landscape.RunHead](t.Context(), driver, run)
		require.NoError(t, err)
		ended := heads[0]
		ended.Status, ended.Finished = pipeline.Failed, landscape.MicrosOf(at)
		tx := landscape.Tx{Move: []landscape.Move{{From: heads[0], To: ended}}}
		require.NoError(t, driver.Commit(t.Context(), tx))
	}

	d := &process{logger: slog.New(slog.DiscardHandler)}
	var err error
	d.telemetry, err = telemetry.Start(t.Context(), telemetry.Options{Logger: d.logger, Env: func(string) (string, bool) { return "", false }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.telemetry.Stop(context.WithoutCancel(t.Context()))) })
	over, end := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watchSeals(over, log.Reader)
	}()
	require.Eventually(t, func() bool {
		answer := httptest.NewRecorder()
		d.telemetry.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return strings.Contains(answer.Body.String(), "\nwaymark_runs_unsealed 1\n")
	}, time.Minute, time.Millisecond)
	end()
	<-watched
}
