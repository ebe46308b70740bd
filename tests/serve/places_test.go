package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/internal/settings"
	"waymark/landscape"
)

// places lets a deployer reach for what is the server's own, and for the programs beside it. TestPlaces of
// cmd/waymark tries all places.
func (s *apiServer) places(t *testing.T) {
	script := filepath.Join(s.Folder, "backup.sh")
	require.NoError(t, os.WriteFile(script, []byte("echo all\n"), 0o600))
	at := func(name string) string { return filepath.Join(s.Folder, name) }
	const own, writes = "which no document reads or writes", "is not where documents write on a server: write to "
	says := writes + at("out/backup.sh") + ", or its operator allows a folder with --allow-write " + s.Folder
	for _, attempt := range []struct{ source, sink, says string }{
		{at("orders.csv"), at(settings.DefaultFile), own},
		{at("orders.csv"), at("calls.yaml"), own},
		{at("orders.csv"), script, says},
		{at(".waymark/keys/sealer.key"), at("out/loot.csv"), own},
		{at("calls.yaml"), at("out/loot.csv"), own},
		{at("orders.csv"), at("out/loot.csv"), ""},
	} {
		document := fmt.Sprintf("name: loot\nsources: {in: {csv: {path: %q}}}\n"+
			"sinks: {out: {jsonl: {path: %q, overwrite: true}}}\n", attempt.source, attempt.sink)
		body, err := json.Marshal(map[string]any{"why": "a test", "document": document, "dry_run": true})
		require.NoError(t, err)
		answer, text := s.Ask(t, "POST", "/v1/pipelines", s.Tokens[landscape.Deployer], string(body))
		if attempt.says == "" {
			require.Equal(t, http.StatusOK, answer.StatusCode, "%s", text)
			continue
		}
		require.Equal(t, []any{http.StatusBadRequest, "INVALID_DOCUMENT"},
			[]any{answer.StatusCode, code(t, text)}, document)
		require.Contains(t, string(text), attempt.says)
	}
}
