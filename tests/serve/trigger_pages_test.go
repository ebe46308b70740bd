package serve_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/manual"
)

// TestTriggerPages serves as docs/webhooks-in.md says, and lets arrive there what that page and the others about
// triggers show: files, outputs of another pipeline, rows of a table, and deliveries. It is one server for all, because
// to start one takes longer than most of what is tried there.
func TestTriggerPages(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"secrets", "out"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	_, served, is := strings.Cut(manual.Blocks(manual.Page(t, "webhooks-in.md"), "sh")[0], "waymark serve ")
	require.True(t, is)
	flags := strings.Fields(strings.ReplaceAll(served, "/data", folder))
	s := watch(t, folder, append(flags, "--allow-network", "127.0.0.0/8", "--api", "127.0.0.1:0", "--api-rate", "0")...)
	t.Run("files and outputs", s.filesPage)
	t.Run("rows", s.rowsPage)
	t.Run("deliveries", s.webhooksPage)
	t.Run("deliveries that are not signed", s.signedOnly)
	t.Run("deliveries of this machine", s.fromThisMachine)
	t.Run("secrets of others", s.othersSecrets)
}

// filesPage executes the documents, the commands and the queries of docs/triggers.md, with another name than that of
// the pipeline of the other pages.
func (s *watching) filesPage(t *testing.T) {
	text := strings.NewReplacer("orders", "parcels", "/data/", s.Folder+"/").Replace(manual.Page(t, "triggers.md"))
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "in"), 0o700))
	for i, document := range manual.Blocks(text, "yaml") {
		name := fmt.Sprint("files", i, ".yaml")
		require.NoError(t, os.WriteFile(filepath.Join(s.Folder, name), []byte(document), 0o600))
		s.Waymark(t, "deploy", name, "--allow-path", s.Folder)
	}
	s.put(t, "a.csv", "id,total\n1,2.50\n")
	var read []landscape.Arrival
	require.Eventually(t, func() bool {
		read = s.at(t, "default/invoices/parcels")
		return len(read) == 1 && read[0].State == landscape.ArrivalDone
	}, patience, 20*time.Millisecond)
	first := s.at(t, "default/parcels/drop")[0]
	s.holds(t, "out", first.Run, "{\"id\":1,\"total\":2.50}\n")
	s.holds(t, "out/invoices", read[0].Run, "{\"id\":1,\"total\":2.50}\n")
	commands := strings.Split(strings.Join(manual.Blocks(text, "console"), ""), "$ waymark ")[1:]
	require.Len(t, commands, 6)
	for _, command := range commands {
		line, want, _ := strings.Cut(command, "\n")
		quoted := strings.Split(line, `"`)
		args := strings.Fields(quoted[0])
		if len(quoted) > 1 {
			args = append(args, quoted[1])
		}
		require.Contains(t, s.Waymark(t, args...), strings.TrimSpace(want), line)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Folder, ".waymark", "landscape.db")+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	queries := manual.Blocks(text, "sql")
	var item, state, run, reason string
	var revision int
	require.NoError(t, db.QueryRowContext(t.Context(), queries[0]).Scan(&item, &state, &run))
	require.Equal(t, []string{first.Run + "/out", "done", read[0].Run}, []string{item, state, run})
	require.NoError(t, db.QueryRowContext(t.Context(), queries[1]).Scan(&item, &revision, &state, &run, &reason))
	file := filepath.Join(s.Folder, "in", "a.csv")
	require.Equal(t, []any{file, 0, "done", first.Run, ""}, []any{item, revision, state, run, reason})
	s.ofOthers(t, read[0].Run)
}

// ofOthers asks where a row came from, as who sees the pipeline that read it, and not the one that published it.
func (s *watching) ofOthers(t *testing.T, run string) {
	listens := regexp.MustCompile(`for=--api address=(\S+)`).FindStringSubmatch(s.Log.String())
	require.NotNil(t, listens)
	told := regexp.MustCompile(`of parcels \(|"pipeline":"parcels"`)
	for _, who := range []struct {
		pipelines []string
		told      bool
	}{{nil, true}, {[]string{"invoices"}, false}} {
		auditor := s.Grant(t, "ann", "auditor", who.pipelines...)
		for _, path := range []string{"/explain?row=1", "/dossier?row=1"} {
			address := "http://" + listens[1] + "/v1/runs/" + run + path
			var text []byte
			require.Eventually(t, func() bool { // a dossier has a proof, which there is when the log is signed
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
				require.NoError(t, err)
				request.Header.Set("Authorization", "Bearer "+auditor)
				answer, err := http.DefaultClient.Do(request)
				require.NoError(t, err)
				text, err = io.ReadAll(answer.Body)
				require.NoError(t, errors.Join(err, answer.Body.Close()))
				return answer.StatusCode == http.StatusOK
			}, patience, 100*time.Millisecond, "%s", path)
			require.Equal(t, who.told, told.Match(text), "%s: %s", path, text)
		}
	}
}
