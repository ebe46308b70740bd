package pages_test

import (
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/serving"
)

// pageTriggers looks at triggers, and gives each order by the forms of the pages.
func (s *pageServer) pageTriggers(t *testing.T) {
	p := s.looking(t)
	const path = "/triggers/default/arriving/drop"
	shows := func(at string, want ...string) string {
		t.Helper()
		answer, text := p.get(t, at)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		read := textOf(parsed(t, at, text))
		for _, words := range want {
			require.Contains(t, read, words, at)
		}
		return text
	}
	require.Contains(t, shows("/triggers", "paused by", "<b>to see</b>; 1 file waits"), `href="`+path+`"`)
	require.Contains(t, shows("/pipelines/arriving", "drop brings files to files: 1 file waits"), `href="`+path+`"`)
	run := s.ArrivedRun(t)
	text := shows(path, "▲ paused", "1 file waits for a run", "<b onclick=window.broken=1>xRLO&\".csv", "✓ done", "… ready", "Changes of the trigger")
	require.Contains(t, text, `href="/runs/`+run+`"`)
	require.NotContains(t, text, "<b onclick")
	require.Contains(t, shows("/runs/"+run, "Begun by trigger default/arriving/drop; it reads ", "a.csv"), `href="`+path+`"`)
	require.NotContains(t, shows(path+"?state=ready"), "a.csv")
	require.Contains(t, shows(path+"?limit=1"), "after=")

	hostile, first := filepath.Join(s.Folder, "arriving", serving.HostileFile), filepath.Join(s.Folder, "arriving", "a.csv")
	for _, order := range []struct {
		verb, want string
		form       url.Values
	}{
		{"ignore", "ignored by ann: a test", url.Values{"item": {hostile}}}, {"again", "again, by ann: a test", url.Values{"item": {first}}}, {"ignore", "0 files wait", url.Values{"all": {"true"}}},
		{"resume", "✓ It begins runs.", url.Values{}}, {"pause", "paused by ann: a test; 0 files wait", url.Values{}},
	} {
		order.form.Set("why", "a test")
		answer, text := p.post(t, path+"/"+order.verb, order.form)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
		require.Equal(t, path, answer.Header.Get("Location"))
		shows(path, order.want)
	}
	answer, _ := p.post(t, path+"/ignore", url.Values{"all": {"true"}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, "an order needs a reason")
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	_, text = viewer.get(t, path)
	require.NotContains(t, text, "<form method=\"post\" action=\""+path)
	require.Contains(t, text, "a.csv")
}
