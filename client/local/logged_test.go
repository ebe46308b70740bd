package local_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/pipeline"
)

// TestLoggedIsRecorded: an attempt that failed is an event of the run, under the one seal of it.
func TestLoggedIsRecorded(t *testing.T) {
	t.Parallel()
	home, file := open(t), document(t, 30)
	var asked atomic.Int64
	files := http.FileServer(http.Dir(filepath.Dir(file)))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 3 { // the run has begun
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "path: in.csv", "path: "+web.URL+"/in.csv", 1)), 0o600))
	execution, err := home.Start(t.Context(), client.StartRequest{File: file})
	require.NoError(t, err)
	status, err := execution.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, status.Status)
	require.NoError(t, execution.Close())
	events, err := home.Events(t.Context(), execution.Run)
	require.NoError(t, err)
	found := map[string]int{}
	for _, e := range events {
		found[e.Type]++
		if e.Type == "run.error" {
			require.Contains(t, string(e.Data), "503 Service Unavailable")
		}
	}
	require.Equal(t, 1, found["run.error"])
	require.Equal(t, 1, found["run.sealed"])
}
