package pages_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// healthPage holds that the page says what the API says, and looks again whenever it is asked for.
func (s *pageServer) healthPage(t *testing.T) {
	p := s.signIn(t, s.Tokens[landscape.Viewer])
	answer, text := p.get(t, "/doctor")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	tree := parsed(t, "/doctor", text)
	shown := textOf(tree)
	for _, word := range []string{"workers", "1 worker on queue waymark", "no activities wait on waymark", "write-ahead log", "MB free", "codec keys", "streams open", "Run all again"} {
		require.Contains(t, shown, word)
	}
	_, body := s.Ask(t, http.MethodGet, "/v1/doctor", s.Tokens[landscape.Viewer], "")
	var list struct{ Items []client.CheckText }
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
