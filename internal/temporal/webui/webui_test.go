package webui

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyThisMachinesNames: a page of a stranger, whose name leads to this machine, gets nothing of Temporal, and may start nothing.
func TestOnlyThisMachinesNames(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	stop, err := Start(t.Context(), address, "127.0.0.1:1") // nobody needs to be there
	require.NoError(t, err)
	defer stop()
	port := address[strings.LastIndexByte(address, ':'):]
	for host, served := range map[string]bool{
		address: true, "localhost" + port: true, "localhost": true, "[::1]" + port: true, "[::1]": true,
		"stranger.example" + port: false, "stranger.example": false, "localhost.stranger.example" + port: false, "127.0.0.1.stranger.example": false,
	} {
		for _, path := range []string{"/api/v1/namespaces", "/api/v1/cluster-info"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
			require.NoError(t, err)
			request.Host = host
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, served, response.StatusCode != http.StatusMisdirectedRequest, "%s of %s: %s", path, host, response.Status)
		}
	}
}
