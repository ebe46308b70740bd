package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/worker"
)

func TestNetworks(t *testing.T) {
	var n worker.Networks
	require.NoError(t, n.Set("10.1.2.3/8"))
	require.NoError(t, n.Set("192.168.0.7, fd00::/8,::1,::ffff:127.0.0.1"))
	require.Equal(t, "10.0.0.0/8,192.168.0.7/32,fd00::/8,::1/128,127.0.0.1/32", n.String())
	for _, text := range []string{"", "localhost", "10.0.0.0/33", "10.0.0.0/8,", "fe80::1%eth0", "10.0.0", "010.0.0.1"} {
		require.ErrorContains(t, n.Set(text), "neither a network such as 10.0.0.0/8 nor an address", text)
	}
}
