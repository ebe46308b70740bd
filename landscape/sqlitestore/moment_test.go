package sqlitestore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

// momentVariable names the moment that breaks in a process that TestMoments starts.
const momentVariable = "WAYMARK_TEST_MOMENT"

// TestMoments breaks each moment of a transaction once, each in a process of its own: only what broke after the commit is stored,
// and the same works when it is done again.
func TestMoments(t *testing.T) {
	if !failpoint.Enabled {
		t.Skip("the failpoints of a normal build are not armed: docs/crash.md")
	}
	if moment := os.Getenv(momentVariable); moment != "" {
		broken(t, moment)
		return
	}
	for _, moment := range []string{
		"landscape.heals.begin", "landscape.heals.inserted", "landscape.heals.committing", "landscape.heals.committed",
		"landscape.runs.begin", "landscape.runs.inserted", "landscape.runs.committing", "landscape.runs.committed",
	} {
		t.Run(moment, func(t *testing.T) {
			again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMoments$")
			again.Env = append(os.Environ(), momentVariable+"="+moment, failpoint.PlanVariable+"="+moment+"=error:broken here")
			out, err := again.CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}

func broken(t *testing.T, moment string) {
	ctx := t.Context()
	store, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "landscape.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, func() time.Time { return time.Unix(1, 0) })
	count := func() int {
		heals, err := log.Heals(ctx)
		require.NoError(t, err)
		runs, err := log.RecentRuns(ctx, nil, 0)
		require.NoError(t, err)
		return len(heals) + len(runs)
	}
	failures := 0
	for _, write := range []func() error{
		func() error { return log.RecordHeal(ctx, strings.Repeat("0", 64), "short", "x") },
		func() error { return landscapetest.Scene{Run: "r"}.Begin(ctx, log) },
	} {
		before := count()
		if err := write(); err != nil {
			failures++
			require.ErrorContains(t, err, "broken here")
			stored := map[bool]int{true: 1}[filepath.Ext(moment) == ".committed"]
			require.Equal(t, before+stored, count())
			require.NoError(t, write())
		}
		require.Equal(t, before+1, count())
	}
	require.Equal(t, 1, failures)
}
