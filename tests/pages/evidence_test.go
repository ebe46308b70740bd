package pages_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/serving"
)

// evidence has a run verified from its page, and through the API, and takes along what others verify without the server.
func (s *pageServer) evidence(t *testing.T) {
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

	auditor := s.Tokens[landscape.Auditor]
	_, body := s.Ask(t, "GET", "/v1"+path+"/verification", auditor, "")
	var told struct {
		State  string
		Report json.RawMessage
	}
	require.NoError(t, json.Unmarshal(body, &told))
	require.Equal(t, "verified", told.State)
	said := s.Waymark(t, "verify", s.ordersRun, "--json")
	require.JSONEq(t, said, string(told.Report))
	answer, _ = s.Ask(t, "GET", "/v1/runs/refusing/verification", auditor, "")
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	answer, _ = s.Ask(t, "POST", "/v1/runs/refusing/verification", auditor, "")
	require.Equal(t, http.StatusAccepted, answer.StatusCode)

	for name, from := range map[string]string{"run.zip": "/bundle?payloads=all&artifacts=true", "row.proof": "/proof?row=1"} {
		answer, content := p.get(t, path+from)
		require.Equal(t, http.StatusOK, answer.StatusCode, content)
		require.Contains(t, answer.Header.Get("Content-Disposition"), "attachment")
		require.Contains(t, answer.Header.Get("Content-Security-Policy"), "sandbox")
		_, again := s.Ask(t, "GET", "/v1"+path+from, auditor, "")
		for _, sent := range [][]byte{[]byte(content), again} { // the log may have grown meanwhile
			require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name), sent, 0o600))
			s.Waymark(t, "verify", name)
		}
	}
	answer, text = p.get(t, path+"/proof?row=99")
	require.Equal(t, http.StatusNotFound, answer.StatusCode, text)
	answer, text = p.get(t, path+"/proof")
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, text)
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	answer, _ = viewer.get(t, path+"/bundle")
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	answer, _ = viewer.get(t, path+"/proof?row=1")
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "its hashes have no salt")
	_, text = viewer.get(t, path+"/evidence")
	require.NotContains(t, text, "Take the bundle")
	require.NotContains(t, text, "Take the proof")
	disclosed := s.Waymark(t, "access", "disclosures", "--limit", "0")
	require.Contains(t, disclosed, "bundle")
	require.Contains(t, disclosed, "verification")
	require.Regexp(t, `proof +row 1\b`, disclosed)
}

// find looks for things by what people have of them.
func (s *pageServer) find(t *testing.T) {
	p := s.looking(t)
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	record := "3,99"
	sum := sha256.Sum256([]byte(record))
	output, err := os.ReadFile(filepath.Join(s.Folder, "out/deployed/all.retry-1.csv"))
	require.NoError(t, err)
	published := sha256.Sum256(output)
	explain := func(run, token string) string { return "/runs/" + run + "/explain?token=" + url.QueryEscape(token) }
	for word, link := range map[string]string{
		s.nastyRun[:30]: "/runs/" + s.nastyRun, "deployed": "/pipelines/deployed", "nasty": "/runs/" + s.nastyRun, "in:3/both": explain(s.nastyRun, "in:3/both"), "all:2": explain(s.ordersRun, "in:3"),
		"orders.csv:4": explain(s.ordersRun, "in:3"), record: explain(s.ordersRun, "in:3"), hex.EncodeToString(sum[:]): explain("refusing", "in:3"), "CONVERT": "/runs/refusing/errors",
		hex.EncodeToString(published[:])[:16]: "/rows?node=all",
	} {
		_, text := p.get(t, "/find?q="+url.QueryEscape(word))
		found := false
		for attributes := range links(parsed(t, word, text)) {
			found = found || strings.HasSuffix(attributes["href"], link)
		}
		require.True(t, found, "%s leads to %s: %s", word, link, text)
		_, text = viewer.get(t, "/find?q="+url.QueryEscape(word))
		require.NotContains(t, text, "/explain?", "viewers see no values")
		if word == record || len(word) == hex.EncodedLen(sha256.Size) {
			require.Contains(t, text, "Nothing in the record matches where it was looked for")
			require.Contains(t, text, "an auditor can look for these", "viewers cannot guess values either")
		}

		_, body := s.Ask(t, "GET", "/v1/find?q="+url.QueryEscape(word), s.Tokens[landscape.Auditor], "")
		var list struct{ Items []json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &list))
		told := serving.Listed[json.RawMessage](t, s.Server, "find", word)
		require.Len(t, list.Items, len(told), word)
		for i, item := range told {
			require.JSONEq(t, string(item), string(list.Items[i]), word)
		}
	}
	const left = "row 1 of each run but the newest: write SOURCE:1, or name a run"
	_, text := p.get(t, "/find?q=1")
	require.Contains(t, text, left)
	_, body := s.Ask(t, "GET", "/v1/find?q=1", s.Tokens[landscape.Auditor], "")
	require.Contains(t, string(body), `"unsearched":[{"what":"`+left+`"}]`)
	require.Contains(t, s.Waymark(t, "find", "1"), "not searched: "+left)
	require.Contains(t, s.Waymark(t, "find", "1", "--json"), `{"kind":"unsearched","what":"`+left+`"}`)
	_, text = p.get(t, "/find?q="+record+"&run=refusing")
	require.NotContains(t, text, "Not searched", "a run that is named is searched whole")
	require.Contains(t, text, `name="run" value="refusing"`)
	for _, word := range nasty {
		answer, text := p.get(t, "/find?q="+url.QueryEscape(word))
		require.Contains(t, []int{http.StatusOK, http.StatusRequestURITooLong}, answer.StatusCode)
		parsed(t, word, text)
	}
}
