package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// TestOneProcessDeletesWhatIsDue: of two processes one has a turn, and the other none before an hour is over. When the
// one is gone, the other takes over, and none of them takes a turn that is at work.
func TestOneProcessDeletesWhatIsDue(t *testing.T) {
	driver, now := blank.New(t), time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	watch := func() *retentionWatch {
		log := landscape.New(driver, func() time.Time { return now })
		w := &retentionWatch{log: log, keeper: &retain.Keeper{Log: log, Actor: "waymark"}}
		require.NoError(t, w.keeper.Periods.Set("{debugging: 1d}"))
		return w
	}
	one, two := watch(), watch()
	had := func(w *retentionWatch) bool {
		t.Helper()
		done, err := w.look(t.Context())
		require.NoError(t, err)
		require.Empty(t, done.Problem)
		return done.Actor != ""
	}
	require.False(t, had(one), "another process may have the turn")
	require.False(t, had(two))
	now = now.Add(attestLease)
	require.True(t, had(one))
	require.False(t, had(two), "it saw that the turn moved")
	turns := map[bool]int{} // by whether the first process has it
	for range 24 * 60 {
		now = now.Add(time.Minute)
		for _, w := range []*retentionWatch{one, two} {
			if had(w) {
				turns[w == one]++
			}
		}
	}
	require.InDelta(t, 24, turns[true]+turns[false], 2, "one an hour, whoever has it: %v", turns)

	held, err := one.log.Turn(t.Context(), landscape.RetainTurns)
	require.NoError(t, err)
	_, err = one.log.MoveTurn(t.Context(), held)
	require.NoError(t, err, "one begins a turn, and is killed")
	now = now.Add(2 * time.Hour)
	require.False(t, had(two), "one may be at work")
	now = now.Add(retainEvery)
	require.True(t, had(two))
	alone := watch()
	alone.alone = true
	require.True(t, had(alone), "no other process has the landscape")
}

// TestStagedFilesOfARun: only files on this machine count.
func TestStagedFilesOfARun(t *testing.T) {
	folder := t.TempDir()
	run, _ := landscapetest.Scene{Run: "one"}.Graph()
	run.Plan = fmt.Sprintf(`{"nodes":[{"name":"a"},{"name":"b","location":"postgres://db/a.b"},`+
		`{"name":"c","location":%q}]}`,
		filepath.Join(folder, "out.csv"))
	there, err := stagedFiles(run)
	require.NoError(t, err)
	require.False(t, there)
	require.NoError(t, os.WriteFile(filepath.Join(folder, ".out.csv.one.partial"), []byte("a\n"), 0o600))
	there, err = stagedFiles(run)
	require.NoError(t, err)
	require.True(t, there)
	run.Plan = "?"
	_, err = stagedFiles(run)
	require.Error(t, err)
}
