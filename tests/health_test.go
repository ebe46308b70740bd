package tests

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
)

// health holds that a server looks at what waymark doctor looks at on a cluster, finds the same, and knows besides how many streams are open.
func (s *apiServer) health(t *testing.T) {
	address, _ := local.Folder(filepath.Join(s.folder, ".waymark")).Server()
	told := map[string]client.Health{}
	for _, check := range listed[client.ToldCheck](t, s.serving, "doctor", "--temporal", address) {
		require.NotEqual(t, client.Unhealthy, check.State, check.Detail)
		told[check.Name] = check.State
	}
	stream, _, err := s.send(t, http.MethodGet, "/v1/events/stream", s.tokens[landscape.Viewer], "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, stream.StatusCode)
	found := map[string]client.ToldCheck{}
	_, body := s.ask(t, http.MethodGet, "/v1/doctor", s.tokens[landscape.Viewer], "")
	var list struct{ Items []client.ToldCheck }
	require.NoError(t, json.Unmarshal(body, &list))
	for _, check := range list.Items {
		found[check.Name] = check
	}
	for name, state := range told {
		require.Equal(t, state, found[name].State, name)
	}
	require.Len(t, found, len(told)+1)
	require.Contains(t, found["workers"].Detail, "1 worker on queue waymark: ")
	require.Contains(t, found["queues"].Detail, "no workflows wait on waymark")
	require.Contains(t, found["size"].Detail, "write-ahead log")
	require.Regexp(t, "[0-9]+ streams? open", found["event streams"].Detail)
}

// healthPage holds that the page says what the API says, and looks again whenever it is asked for.
func (s *apiServer) healthPage(t *testing.T) {
	p := s.signIn(t, s.tokens[landscape.Viewer])
	answer, text := p.get(t, "/doctor")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	tree := parsed(t, "/doctor", text)
	shown := textOf(tree)
	for _, word := range []string{"workers", "1 worker on queue waymark", "no activities wait on waymark", "write-ahead log", "MB free", "codec keys", "streams open", "Run all again"} {
		require.Contains(t, shown, word)
	}
	_, body := s.ask(t, http.MethodGet, "/v1/doctor", s.tokens[landscape.Viewer], "")
	var list struct{ Items []client.ToldCheck }
	require.NoError(t, json.Unmarshal(body, &list))
	for _, check := range list.Items {
		require.Contains(t, shown, check.Name)
	}
	again := false
	for link, words := range links(tree) {
		again = again || link["href"] == "/doctor" && words == "Run all again"
	}
	require.True(t, again)
}
