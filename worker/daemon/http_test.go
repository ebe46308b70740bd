package daemon

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOnlyThisMachinesNames: what listens on this machine alone takes no request for a name that a stranger could give
// its address.
func TestOnlyThisMachinesNames(t *testing.T) {
	here := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	e, err := listen(t.Context(), "--http", "127.0.0.1:0", here, slog.New(slog.DiscardHandler), make(chan error, 1))
	require.NoError(t, err)
	defer e.close()
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8077": 200, "127.0.0.1:8077": 200, "[::1]:8077": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8077": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"10.0.0.1:8077": 403,
	} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
		request.Host = host
		answer := httptest.NewRecorder()
		e.server.Handler.ServeHTTP(answer, request)
		require.Equal(t, want, answer.Code, host)
	}
}
