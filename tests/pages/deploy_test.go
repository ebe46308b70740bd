package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// pageDeploy deploys a document with the form on the page of the pipelines; one with problems comes back with them.
func (s *pageServer) pageDeploy(t *testing.T) {
	p := s.signIn(t, s.Tokens[landscape.Deployer])
	document := "name: pasted\r\nsources: {in: {csv: {path: " + s.Folder + "/orders.csv}, schema: {fields: {id: int, total: string}}}}\r\nsinks: {out: {csv: {path: " + s.Folder + "/out/pasted.csv, overwrite: true}}}\r\n"
	answer, text := p.post(t, "/pipelines", url.Values{"document": {strings.Replace(document, "sinks", "sinsk", 1)}, "why": {"a <b>test</b>"}, "environment": {""}})
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	shown := textOf(parsed(t, "/pipelines", text))
	require.Contains(t, shown, "pipeline.yaml:3")
	require.Contains(t, shown, "sinsk")
	why, _ := field(parsed(t, "/pipelines", text), "why")
	require.Equal(t, "a <b>test</b>", why, "what was written is still there")
	for range 2 {
		answer, text = p.post(t, "/pipelines", url.Values{"document": {document}, "why": {"a test"}, "environment": {""}})
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, text)
		require.Equal(t, "/pipelines/pasted", answer.Header.Get("Location"))
	}
	file := filepath.Join(t.TempDir(), "pipeline.yaml") // the name is part of a version
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(document, "\r", "")), 0o600))
	require.Contains(t, s.Waymark(t, "deploy", file, "--allow-path", s.Folder, "--json"), `"new":false`, "it is the version of the same bytes in a file")
	viewer := s.signIn(t, s.Tokens[landscape.Viewer])
	_, text = viewer.get(t, "/pipelines")
	require.NotContains(t, text, "<textarea")
}
