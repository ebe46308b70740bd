package serve_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/serving"
)

// TestOrdersThroughTheAPIAreInTheLog cancels runs that nobody executes through the API of a process that serves: the log has an entry about each new seal.
func TestOrdersThroughTheAPIAreInTheLog(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "p.yaml"), []byte(`name: p
sources: {rows: {csv: {path: rows.csv}, schema: {fields: {id: int}}}}
policies: [{name: none, assert: "run.read == 0", gate: publish}]
sinks: {out: {csv: {path: out.csv}}}
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rows.csv"), []byte("id\n1\n"), 0o600))
	s := serving.Start(t, folder, "--api", "127.0.0.1:0")
	listens := regexp.MustCompile(`for=--api address=(\S+)`)
	require.Eventually(t, func() bool { return listens.MatchString(s.Log.String()) }, patience, 10*time.Millisecond)
	token := strings.TrimSpace(s.Waymark(t, "access", "grant", "operator", "--role", "operator", "--why", "a test"))
	order := func(run, verb, body string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listens.FindStringSubmatch(s.Log.String())[1]+"/v1/runs/"+run+"/"+verb, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Less(t, answer.StatusCode, 300)
	}
	for _, run := range []string{"stopped", "final"} {
		_, err := s.Try(t.Context(), "run", "p.yaml", "--run-id", run)
		require.Error(t, err, "it is blocked")
	}
	order("stopped", "cancel", `{"why":"a test"}`)
	order("final", "cancel", `{"why":"a test","final":true}`)
	require.Contains(t, s.Waymark(t, "log", "check"), "the recorded runs agree")
}
