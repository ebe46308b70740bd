package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client/remote"
)

// rowsOfWeb is a document that asks a web server for rows, with a secret.
const rowsOfWeb = `name: NAME
sources: {in: {csv: {path: "WEB/rows.csv", http: {headers: {X-Token: "Bearer ${secret:SECRET}"}}},
  schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/NAME.jsonl", overwrite: true}}}
`

// othersSecrets lets a deployer ask for secrets that are not his pipeline's, with a web server of his own, before
// and after he deploys; and somebody hand a file to the server. What his pipeline has leaves once it is deployed.
func (s *watching) othersSecrets(t *testing.T) {
	var mu sync.Mutex
	var came []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		came = append(came, r.Header.Get("X-Token"))
		w.Header().Set("ETag", `"1"`)
		_, _ = io.WriteString(w, "id\n1\n")
	}))
	t.Cleanup(web.Close)
	require.NoError(t, os.MkdirAll(filepath.Join(s.Folder, "secrets", "crm"), 0o700))
	for name, value := range map[string]string{"crm/TOKEN": "token-of-crm", "SHARED": "shared-with-none"} {
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "secrets", name), []byte(value), 0o600))
	}
	document := func(name, secret string) string {
		return strings.NewReplacer("NAME", name, "SECRET", secret, "WEB", web.URL, "FOLDER",
			s.Folder).Replace(rowsOfWeb)
	}
	token := strings.TrimSpace(s.Waymark(t, "access", "grant", "eve", "--role", "deployer", "--why", "test", "-q"))
	deploy := func(name, secret string, dry bool) (int, string) {
		body, err := json.Marshal(remote.DeployRequest{Document: document(name, secret), DryRun: dry, Why: "test"})
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.listens(t)+"/v1/pipelines",
			strings.NewReader(string(body)))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for _, secret := range []string{"TOKEN", "SHARED", "NONE"} {
		for _, dry := range []bool{true, false} {
			status, answer := deploy("thief", secret, dry)
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, answer, "secret "+secret+": pipeline thief has none of this name for "+
				""+strings.TrimPrefix(web.URL, "http://")+
				": put it into the file thief/"+secret+" of the server's --secrets-dir, or share one in the "+
				"server's settings, under secrets: "+secret+
				`: {pipelines: [thief], hosts: [\"`+strings.TrimPrefix(web.URL, "http://")+`\"]}`)
		}
	}
	status, answer := deploy("crm", "TOKEN", true)
	require.Equal(t, http.StatusOK, status, answer)
	require.Contains(t, answer, `"state":"held"`)
	file := filepath.Join(s.Folder, "asking.yaml")
	require.NoError(t, os.WriteFile(file, []byte(document("crm", "TOKEN")), 0o600))
	out, err := s.Try(t.Context(), "run", file)
	require.Error(t, err)
	require.Contains(t, out, "secret TOKEN: a server gives secrets to pipelines that are deployed, and this "+
		"document is not: deploy it with waymark deploy")
	require.Empty(t, came)
	status, answer = deploy("crm", "TOKEN", false)
	require.Equal(t, http.StatusOK, status, answer)
	require.NotContains(t, answer, `"state":"held"`)
	require.NotEmpty(t, came)
	require.Equal(t, "Bearer token-of-crm", came[0])
}
