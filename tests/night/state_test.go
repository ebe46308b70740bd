package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStateIsKept(t *testing.T) {
	path, u := filepath.Join(t.TempDir(), "night.json"), unitsOf("c", "1")[0]
	s, err := load(path)
	require.NoError(t, err)
	require.Equal(t, time.Minute, s.expected(u))
	s.note(u, passed, 40*time.Second, "abc", midnight)
	s.Owed["c"] = -3
	require.NoError(t, s.save())
	again, err := load(path)
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.Equal(t, 50*time.Second, again.expected(u))
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = load(path)
	require.ErrorContains(t, err, path)
}

func TestWhatIsCutShowsNothing(t *testing.T) {
	s, u := &state{Units: map[string]outcome{}}, unitsOf("c", "1")[0]
	s.note(u, cut, 4*time.Minute, "abc", midnight)
	require.False(t, s.covered(u, midnight))
	require.Equal(t, 5*time.Minute, s.expected(u))
	s.note(u, passed, time.Minute, "abc", midnight)
	s.note(u, cut, time.Second, "def", midnight.Add(time.Hour))
	want := outcome{Last: midnight, Tried: midnight, Commit: "abc", Result: passed, Seconds: 60, Round: 1}
	require.Equal(t, want, s.Units[u.key()])
	s.note(u, failed, time.Minute, "def", midnight.Add(time.Hour))
	require.Equal(t, failed, s.Units[u.key()].Result)
	require.EqualValues(t, 1, s.Units[u.key()].Round, "the same seeds are tried again")
	require.True(t, s.covered(u, midnight.Add(time.Hour)))
	s.note(u, skipped, time.Second, "def", midnight.AddDate(0, 0, 3))
	require.False(t, s.covered(u, midnight.AddDate(0, 0, 2)), "a test that is skipped covers nothing")
}

func TestSeedsAreOthersInEveryUnitAndRound(t *testing.T) {
	seen := map[uint64]bool{}
	units := seeded(tests("random", 1, "./p", "^TestX$"), 3, 10, func(first uint64) []string {
		for seed := range uint64(10) {
			require.False(t, seen[first+seed])
			seen[first+seed] = true
		}
		return nil
	})
	for round := range uint64(4) {
		for _, u := range units {
			u.flags(round)
		}
	}
	require.Len(t, seen, 120)
}
