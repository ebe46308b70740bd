package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/worker"
)

func TestFingerprintKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("ab", worker.KeyBytes)+"\n"), 0o600))
	key, err := worker.FingerprintKey(file, strings.Repeat("cd", worker.KeyBytes))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("\xab", worker.KeyBytes), string(key), "the file comes first")
	key, err = worker.FingerprintKey("", strings.Repeat("cd", worker.KeyBytes))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("\xcd", worker.KeyBytes), string(key))
	key, err = worker.FingerprintKey("", "")
	require.NoError(t, err)
	require.Nil(t, key)
}

func TestWrongFingerprintKeyIsFinal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for _, text := range []string{"canary", strings.Repeat("ab", worker.KeyBytes-1), strings.Repeat("ab", worker.KeyBytes) + "ab", strings.Repeat("zz", worker.KeyBytes)} {
		_, err := worker.FingerprintKey("", text)
		require.ErrorContains(t, err, "WAYMARK_FINGERPRINT_KEY is not 64 hex digits")
		require.NotContains(t, err.Error(), text)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err = worker.FingerprintKey(file, "")
		require.ErrorContains(t, err, file+" is not 64 hex digits")
	}
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := worker.FingerprintKey(file, "")
	require.ErrorContains(t, err, "is not 64 hex digits")
	_, err = worker.FingerprintKey(file+".gone", "")
	require.ErrorIs(t, err, os.ErrNotExist)
}
