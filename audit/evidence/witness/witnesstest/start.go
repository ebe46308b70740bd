// Package witnesstest starts witnesses for tests.
package witnesstest

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/keys"
	"waymark/audit/evidence/trust"
	"waymark/audit/evidence/witness"
)

// Log makes the key of a log in a folder, and returns its public key: a witness has to know it before the log begins.
func Log(t testing.TB, folder, name string) string {
	t.Helper()
	key, err := keys.Generate(folder, keys.Log, name)
	require.NoError(t, err)
	return key.VKey
}

// Start starts a witness of the log with this public key, until the test ends. It returns what a policy says of it, and its anchor.
func Start(t testing.TB, name, log string) (of trust.Witness, anchor string) {
	t.Helper()
	key, err := keys.Generate(t.TempDir(), keys.Witness, name)
	require.NoError(t, err)
	text, err := trust.Text([]string{log})
	require.NoError(t, err)
	policy, err := trust.Parse(text)
	require.NoError(t, err)
	at, err := witness.Open(t.TempDir(), key, policy.Logs, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	server := httptest.NewServer(at)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, at.Close())
	})
	return trust.Witness{Name: name, Key: key.VKey, URL: server.URL}, server.URL + "?key=" + key.VKey
}
