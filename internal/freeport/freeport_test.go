package freeport_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/freeport"
	"waymark/tests/services"
)

// TestNobodyGetsTheseUnasked compares with what this system gives to those who ask for any port.
func TestNobodyGetsTheseUnasked(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		l, err := freeport.Listen(0)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		at, is := l.Addr().(*net.TCPAddr)
		require.True(t, is)
		require.True(t, at.IP.IsLoopback())
		require.False(t, seen[at.Port], "each is listened on")
		seen[at.Port] = true
	}
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		services.Missing(t, "/proc/sys/net/ipv4/ip_local_port_range", "run this on Linux with /proc mounted")
	}
	from, err := strconv.Atoi(strings.Fields(string(text))[0])
	require.NoError(t, err)
	for port := range seen {
		require.Less(t, port, from)
	}
}
