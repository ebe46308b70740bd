package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
)

// TestServerOfTheStateFolderIsAway: who joined the server of a state folder is not told to name a cluster.
func TestServerOfTheStateFolderIsAway(t *testing.T) {
	away := client.Cluster{Address: "127.0.0.1:1", Env: func(string) (string, bool) { return "", false }}
	_, err := away.Dial(t.Context(), "test")
	require.ErrorContains(t, err, "or TEMPORAL_ADDRESS")
	away.Present = func() string { return "" }
	_, err = away.Dial(t.Context(), "test")
	require.ErrorContains(t, err, "start it again with waymark serve")
	require.NotContains(t, err.Error(), "or TEMPORAL_ADDRESS")
}
