package pages_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/graphs"
	"waymark/tests/held"
	"waymark/tests/services/pg"
	"waymark/tests/serving"
)

// A site is a server with runs of all kinds.
type site struct {
	*pageServer
	web   *held.Web                     // of the source of the run moving
	kinds map[string]pipeline.RunStatus // of its runs, by id
}

// graphSeed is of a random document with forks, coalesces, barriers, and rows that are refused.
const graphSeed = 0

// The source of the run moving, which is sent a row at a time.
const (
	movingRows  = 100
	movingChunk = 6
)

// crawledDocuments are those of the runs of a site, by name. Each reads in.csv, of which one row is refused.
var crawledDocuments = map[string]string{
	"plain": "", "strict": "on_invalid: fail",
	"governed": "policies: [{name: none refused, assert: run.refused == 0, gate: publish}]",
	"queued":   "pools: {closed: 1}",
}

// buildSite starts a server and lets it have runs of all kinds.
func buildSite(t *testing.T) *site {
	t.Helper()
	folder := t.TempDir()
	database := pg.New(t)
	secrets := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(secrets, "late"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "late", "DW"), []byte(database.DSN()), 0o600))
	s := &site{pageServer: &pageServer{API: serving.StartAPI(t, "--allow-network", held.Networks, "--secrets-dir", secrets)}, web: held.Serve(folder), kinds: map[string]pipeline.RunStatus{}}
	t.Cleanup(s.web.Close)
	s.writeDocuments(t, folder)
	s.oldRuns(t)
	s.endedRuns(t)
	s.stoppedRuns(t)
	s.lateRefusals(t, database.DSN())
	return s
}

// write writes a file into the folder of the server.
func (s *site) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(s.Folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// run executes a command that brings a run to this status.
func (s *site) run(t *testing.T, id string, status pipeline.RunStatus, command ...string) {
	t.Helper()
	out, _ := s.Try(t.Context(), command...) // its exit code says no more than the status
	require.Equal(t, status, s.statusOf(t, id), out)
	s.kinds[id] = status
}

func (s *site) statusOf(t *testing.T, id string) pipeline.RunStatus {
	t.Helper()
	var run struct{ Status pipeline.RunStatus }
	require.NoError(t, json.Unmarshal([]byte(s.Waymark(t, "status", id, "--json")), &run))
	return run.Status
}

// writeDocuments writes the documents, and what they read.
func (s *site) writeDocuments(t *testing.T, web string) {
	t.Helper()
	s.writeNasty(t)
	s.write(t, "in.csv", "id,total\n1,10\n2,20\nx,30\n4,40\n5,50\n")
	s.write(t, "none.csv", "id,total\n")
	for name, extra := range crawledDocuments {
		policy := ""
		if strings.HasPrefix(extra, "on_invalid") {
			policy, extra = ", "+extra, ""
		}
		s.write(t, name+".yaml", fmt.Sprintf(`name: %s
chunk: {rows: 2}
params: {from: {type: string, default: in.csv}, to: {type: string, default: any}}
sources: {in: {csv: {path: "${param:from}", allow_empty: true}, key: [id], schema: {fields: {id: int, total: int}}%s}}
steps: [{name: dear, filter: row.total > 10}]
sinks: {out: {csv: {path: "out/${param:to}.csv"}}}
%s
`, name, policy, extra))
	}
	document, files := graphs.Random(graphSeed)
	s.write(t, "graph/graph.yaml", inOut(document))
	for name, content := range files {
		s.write(t, "graph/"+name, content)
	}
	fixtures.Write(t, filepath.Join(web, "in.csv"), movingRows)
	fixtures.AddBadRows(t, filepath.Join(web, "in.csv"))
	s.write(t, "moving.yaml", strings.Replace(fmt.Sprintf(fixtures.Resumed, s.web.URL), fmt.Sprint("rows: ", fixtures.ResumedChunk), fmt.Sprint("rows: ", movingChunk), 1))
}

// sinkPath is the path of a sink of a random document, which has nothing after it.
var sinkPath = regexp.MustCompile(`(jsonl: \{path: )(\w+\.jsonl\})`)

// inOut lets the sinks of a random document write where documents on a server do.
func inOut(document string) string { return sinkPath.ReplaceAllString(document, "${1}out/$2") }

// oldRuns are those whose payloads were purged, of which a row was forgotten, and that were archived.
func (s *site) oldRuns(t *testing.T) {
	t.Helper()
	for _, id := range []string{"purged", "forgotten", "archived"} {
		s.run(t, id, pipeline.CompletedWithFailures, "run", "plain.yaml", "--run-id", id, "--param", "to="+id)
		switch id {
		case "purged":
			s.Waymark(t, "purge", "--keep-source", "1ms", "--keep-derived", "0d", "--why", "a test")
		case "forgotten":
			s.Waymark(t, "forget", "id=4", "--why", "a test")
		default:
			require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "away"), 0o700))
			require.Eventually(t, func() bool { // the head of the log that covers it is signed soon
				_, err := s.Try(t.Context(), "archive", "--run", id, "--to", "away", "--why", "a test")
				return err == nil
			}, patience, 100*time.Millisecond)
		}
	}
}

// endedRuns are complete, each in another way.
func (s *site) endedRuns(t *testing.T) {
	t.Helper()
	s.run(t, "plain", pipeline.CompletedWithFailures, "run", "plain.yaml", "--run-id", "plain", "--param", "to=plain")
	s.run(t, "again", pipeline.CompletedWithFailures, "errors", "plain", "--retry", "--run-id", "again", "--why", "a test")
	s.run(t, "empty", pipeline.Empty, "run", "plain.yaml", "--run-id", "empty", "--param", "from=none.csv", "--param", "to=empty")
	s.run(t, "nasty", pipeline.CompletedWithFailures, "run", "nasty.yaml", "--run-id", "nasty")
	s.run(t, "graph", pipeline.CompletedWithFailures, "run", "graph/graph.yaml", "--run-id", "graph")
	s.run(t, "deployed", pipeline.CompletedWithFailures, "run", "--pipeline", "deployed", "--run-id", "deployed")
	s.Waymark(t, "schedule", "run", "daily", "--for", "2026-11-02", "--why", "a test")
	s.Arrive(t)
	s.kinds[s.ArrivedRun(t)] = pipeline.Completed
	s.run(t, "waived", pipeline.Blocked, "run", "governed.yaml", "--run-id", "waived", "--param", "to=waived")
	s.Waymark(t, "waive", "waived", "none refused", "--why", "a test")
	s.run(t, "waived", pipeline.CompletedWithFailures, "resume", "waived", "--why", "a test")
}

// stoppedRuns have ended without being complete, or have not begun.
func (s *site) stoppedRuns(t *testing.T) {
	t.Helper()
	s.run(t, "blocked", pipeline.Blocked, "run", "governed.yaml", "--run-id", "blocked", "--param", "to=blocked")
	s.run(t, "failed", pipeline.Failed, "run", "strict.yaml", "--run-id", "failed", "--param", "to=failed")
	s.run(t, "cancelled", pipeline.Failed, "run", "strict.yaml", "--run-id", "cancelled", "--param", "to=cancelled")
	s.run(t, "cancelled", pipeline.Cancelled, "cancel", "cancelled", "--final", "--why", "a test")
	s.run(t, "parent", pipeline.Failed, "run", "strict.yaml", "--run-id", "parent", "--param", "to=parent")
	s.write(t, "strict.yaml", strings.Replace(crawledText(t, s, "strict"), ", on_invalid: fail", "", 1))
	s.run(t, "parent", pipeline.Cancelled, "resume", "parent", "--fork", "--why", "a test")
	var parent struct{ Children []struct{ Run string } }
	require.NoError(t, json.Unmarshal([]byte(s.Waymark(t, "status", "parent", "--json")), &parent))
	require.Len(t, parent.Children, 1)
	s.kinds[parent.Children[0].Run] = s.statusOf(t, parent.Children[0].Run)
	s.Waymark(t, "limit", "set", "pool:closed", "0", "--why", "a test")
	s.Waymark(t, "run", "queued.yaml", "--run-id", "queued", "--detach")
}

func crawledText(t *testing.T, s *site, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Folder, name+".yaml"))
	require.NoError(t, err)
	return string(text)
}

// lateRefusals is of a run whose target refuses rows when they are written.
func (s *site) lateRefusals(t *testing.T, dsn string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(t.Context())) }()
	_, err = connection.Exec(t.Context(), "create table late (id bigint unique, total bigint check (total <> 40))")
	require.NoError(t, err)
	s.write(t, "late.yaml", `name: late
chunk: {rows: 2}
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, total: int}}}}
sinks: {out: {postgres: {dsn: "${secret:DW}", table: late}}}
`)
	s.run(t, "late", pipeline.CompletedWithFailures, "run", "late.yaml", "--run-id", "late")
}
