package local_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/client"
)

// TestRunWhoseEntryIsAnothers: an entry that somebody appended before a run began, and that does not count, is not the
// run's. Its status and its verification say so.
func TestRunWhoseEntryIsAnothers(t *testing.T) {
	home, file := homeWithRun(t)
	in, err := home.RunInLog(t.Context(), "done")
	require.NoError(t, err)
	require.Positive(t, in.Entry)
	require.Empty(t, in.Missing)

	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(file), "state", "landscape.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`insert into log (position, about, entry, leaf)
		select size, 'began/taken', 'junk', zeroblob(32) from log_head`)
	require.NoError(t, err)
	execution, err := home.Start(t.Context(), client.StartRequest{Run: "taken", File: file})
	require.NoError(t, err)
	_, err = execution.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, execution.Close())

	in, err = home.RunInLog(t.Context(), "taken")
	require.NoError(t, err)
	require.EqualValues(t, -1, in.Entry)
	require.False(t, in.Signed)
	require.Len(t, in.Missing, 1)
	report, err := home.Verify(t.Context(), "taken", audit.VerifyOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, report.Problems)
	require.Contains(t, report.Problems[0].Detail, "which has the place of the entry about that, does not count")
}
