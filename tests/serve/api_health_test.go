package serve_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/tests/serving"
)

// health holds that a server looks at what waymark doctor looks at on a cluster, finds the same, and knows besides how many streams are open.
func (s *apiServer) health(t *testing.T) {
	address, _ := local.Folder(filepath.Join(s.Folder, ".waymark")).Server()
	told := map[string]client.Health{}
	for _, check := range serving.Listed[client.CheckText](t, s.Server, "doctor", "--temporal", address) {
		require.NotEqual(t, client.Unhealthy, check.State, check.Detail)
		told[check.Name] = check.State
	}
	stream, _, err := s.Send(t, http.MethodGet, "/v1/events/stream", s.Tokens[landscape.Viewer], "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, stream.StatusCode)
	found := map[string]client.CheckText{}
	_, body := s.Ask(t, http.MethodGet, "/v1/doctor", s.Tokens[landscape.Viewer], "")
	var list struct{ Items []client.CheckText }
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
