package client

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// TestLookupSaysWhereItStopped: what is not in the answer may be in a part of the record that the answer names, and a
// search of the run that it names finds it.
func TestLookupSaysWhereItStopped(t *testing.T) {
	moment := time.Unix(0, 0)
	log := landscape.New(blank.New(t), func() time.Time { moment = moment.Add(time.Second); return moment })
	c := New(log, "memory", nobody{})
	small := landscapetest.Scene{Run: "small", Chunks: 1, ChunkRows: 2}
	for _, scene := range []landscapetest.Scene{
		small, {Run: "great", Chunks: 2, ChunkRows: 20}, {Run: "newest", Chunks: 1, ChunkRows: 3},
	} {
		require.NoError(t, scene.PlayToEnd(t.Context(), log))
	}
	running := landscapetest.Scene{Run: "running", Chunks: 1, ChunkRows: 2}
	require.NoError(t, running.Begin(t.Context(), log))
	chunk, records := running.Chunk(0)
	require.NoError(t, log.RecordChunk(t.Context(), chunk, records))
	hash := small.Hash("raw", 1)
	record := hex.EncodeToString(hash[:])

	look := func(r LookupRequest, most lookupLimits) (runs []string, told string) {
		t.Helper()
		result, err := c.lookUp(t.Context(), r, most)
		require.NoError(t, err)
		for _, f := range result.Items {
			runs = append(runs, f.Run)
		}
		lines := make([]string, 0, len(result.Unsearched))
		for _, u := range result.Unsearched {
			lines = append(lines, u.Run+"|"+u.What)
		}
		return runs, strings.Join(lines, "\n")
	}
	few := lookupLimits{runs: 50, looked: 5_000, rows: 39}
	runs, told := look(LookupRequest{Word: record, Guess: true}, lookupMost)
	require.Equal(t, []string{"running", "newest", "great", "small"}, runs)
	require.Empty(t, told, "it looked everywhere")

	runs, told = look(LookupRequest{Word: record, Guess: true}, few)
	require.Equal(t, []string{"running", "newest", "small"}, runs, "a great run does not hide those before it")
	require.Equal(t, "great|the 40 records of run great of bird-strikes: "+
		"at most 39 of all runs are compared with a word at once", told)
	runs, told = look(LookupRequest{Word: record, Guess: true, Run: "great"}, few)
	require.Equal(t, []string{"great"}, runs, "and alone it is searched whole")
	require.Empty(t, told)

	runs, told = look(LookupRequest{Word: record, Guess: true}, lookupLimits{runs: 2, looked: 5_000, rows: 99})
	require.Equal(t, []string{"running", "newest"}, runs)
	require.Equal(t, "|rows, names of files and codes in runs before newest: "+
		"these are looked for in the newest 2 runs, so name an older one to search it", told)
	sees := func(run landscape.RunHead) bool { return run.ID == "great" || run.ID == "small" }
	runs, told = look(LookupRequest{Word: record, Guess: true, Sees: sees}, lookupLimits{runs: 2, looked: 5_000, rows: 99})
	require.Equal(t, []string{"great", "small"}, runs, "the newest runs are those that the caller sees")
	require.Empty(t, told)
	_, told = look(LookupRequest{Word: record, Guess: true, Sees: sees}, lookupLimits{runs: 2, looked: 3, rows: 99})
	require.Contains(t, told, "in older runs than the newest 3 of all pipelines")

	runs, told = look(LookupRequest{Word: record}, lookupMost)
	require.Empty(t, runs)
	require.Equal(t, "|whole records and their digests: an auditor can look for these", told)
	_, told = look(LookupRequest{Word: "2", Guess: true}, lookupMost)
	require.Equal(t, "|row 2 of each run but the newest: write SOURCE:2, or name a run", told)
}
