package tests

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// evidence has a run verified from its page, and through the API, and takes along what others verify without the server.
func (s *apiServer) evidence(t *testing.T) {
	p, path := s.looking(t), "/runs/"+s.ordersRun
	_, text := p.get(t, path+"/evidence")
	shown := textOf(parsed(t, path, text))
	require.Contains(t, shown, "Sealed when the run ended")
	require.Contains(t, shown, "Nobody has had the run verified")
	answer, text := p.post(t, path+"/verification", nil)
	require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
	require.Equal(t, path+"/evidence", answer.Header.Get("Location"))
	require.Eventually(t, func() bool {
		_, text := p.get(t, path+"/evidence")
		return strings.Contains(textOf(parsed(t, path, text)), "✓ everything that was compared is true") || strings.Contains(text, "✓ everything that can be computed again is true")
	}, patience, 50*time.Millisecond)

	auditor := s.tokens[landscape.Auditor]
	_, body := s.ask(t, "GET", "/v1"+path+"/verification", auditor, "")
	var told struct {
		State  string
		Report json.RawMessage
	}
	require.NoError(t, json.Unmarshal(body, &told))
	require.Equal(t, "verified", told.State)
	said := s.waymark(t, "verify", s.ordersRun, "--json")
	require.JSONEq(t, said, string(told.Report))
	answer, _ = s.ask(t, "GET", "/v1/runs/refusing/verification", auditor, "")
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	answer, _ = s.ask(t, "POST", "/v1/runs/refusing/verification", auditor, "")
	require.Equal(t, http.StatusAccepted, answer.StatusCode)

	for name, from := range map[string]string{"run.zip": "/bundle?payloads=all&artifacts=true", "row.proof": "/proof?row=1"} {
		answer, content := p.get(t, path+from)
		require.Equal(t, http.StatusOK, answer.StatusCode, content)
		require.Contains(t, answer.Header.Get("Content-Disposition"), "attachment")
		require.Contains(t, answer.Header.Get("Content-Security-Policy"), "sandbox")
		require.NoError(t, os.WriteFile(filepath.Join(s.folder, name), []byte(content), 0o600))
		require.NotContains(t, s.waymark(t, "verify", name), "FAILED")
		_, again := s.ask(t, "GET", "/v1"+path+from, auditor, "")
		require.Equal(t, content, string(again), "the API sends the same bytes")
	}
	answer, text = p.get(t, path+"/proof?row=99")
	require.Equal(t, http.StatusNotFound, answer.StatusCode, text)
	answer, text = p.get(t, path+"/proof")
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	viewer := s.signIn(t, s.tokens[landscape.Viewer])
	answer, _ = viewer.get(t, path+"/bundle")
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	answer, _ = viewer.get(t, path+"/proof?row=1")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	_, text = viewer.get(t, path+"/evidence")
	require.NotContains(t, text, "Take the bundle")
	disclosed := s.waymark(t, "access", "disclosures", "--limit", "0")
	require.Contains(t, disclosed, "bundle")
	require.Contains(t, disclosed, "verification")
}
