package daemon

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAWorkerSaysThatRunsOfOthersCome: it is not ready while they do, and logs it once a minute.
func TestAWorkerSaysThatRunsOfOthersCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		o := &others{process: &process{logger: slog.New(slog.NewTextHandler(&log, nil))}}
		require.NoError(t, o.check(t.Context()))
		for range 90 {
			o.told("run-r1", errors.New("it is of another landscape"))
			time.Sleep(time.Second)
		}
		require.Equal(t, 2, strings.Count(log.String(), "workflow=run-r1"), log.String())
		require.EqualError(t, o.check(t.Context()), "run-r1 came to this worker: it is of another landscape")
		time.Sleep(othersCount)
		require.NoError(t, o.check(t.Context()))
	})
}

// TestFactsTellValuesApartAndNotWhatTheyAre: workers with the same values have the same facts.
func TestFactsTellValuesApartAndNotWhatTheyAre(t *testing.T) {
	facts := func(value, environment string, key []byte) string {
		d := &process{fingerprintKey: key}
		d.AllowEnv, d.Environment = []string{"DEST", "ABSENT"}, environment
		d.Env = func(name string) (string, bool) { return value, name == "DEST" }
		return d.facts("0123456789abcdef")
	}
	one, two := []byte(strings.Repeat("k", 32)), []byte(strings.Repeat("l", 32))
	first := facts("out/a", "prod", one)
	require.Regexp(t, `^ landscape=0123456789abcdef values=[0-9a-f]{8}$`, first)
	require.Equal(t, first, facts("out/a", "prod", one))
	for _, other := range []string{facts("out/b", "prod", one), facts("out/a", "test", one), facts("out/a", "prod", two), facts("out/a", "prod", nil)} {
		require.NotEqual(t, first, other)
	}
	require.Equal(t, " landscape=0123456789abcdef values=", facts("out/a", "prod", nil), "nothing of values without a key")
}
