package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape"
)

// Arriving is a document with a trigger of each kind. FOLDER stands for the folder of the server.
const Arriving = `
name: arriving
params: {part: {type: string, default: all}}
sources:
  files: {csv: {path: "FOLDER/arriving/*.csv"}, schema: {fields: {id: int}}}
  posts: {webhook: {}, schema: {fields: {id: int}}}
sinks: {out: {jsonl: {path: "FOLDER/out/arriving/${param:part}.jsonl"}}}
triggers:
  drop: {source: files, every: 100ms, quiet: 100ms, run_id: part}
  calls: {source: posts, every: 100ms, http: {verify: none}, run_id: part}
`

// HostileFile is the name of a file that would do something, or would be shown otherwise than it is, if somebody let it.
const HostileFile = "<b onclick=window.broken=1>x\u202e&\".csv"

// Arrive deploys triggers, and lets files arrive: one is done, one with a hostile name waits, and a delivery waits, while the triggers are paused.
func (s *Server) Arrive(t *testing.T) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(s.Folder, "arriving"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "arriving.yaml"), []byte(strings.ReplaceAll(Arriving, "FOLDER", s.Folder)), 0o600))
	s.Waymark(t, "deploy", "arriving.yaml", "--allow-path", s.Folder)
	s.Drop(t, "a.csv")
	s.Reaches(t, "drop", landscape.ArrivalDone, 1)
	s.Waymark(t, "triggers", "pause", "drop", "--why", "<b>to see</b>")
	s.Waymark(t, "triggers", "pause", "calls", "--why", "to see")
	s.Drop(t, HostileFile)
	s.Reaches(t, "drop", landscape.ArrivalReady, 1)
}

// Drop lets a file arrive at the trigger drop of arriving.
func (s *Server) Drop(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(s.Folder, "arriving", name)
	require.NoError(t, os.WriteFile(file+".new", []byte("id\n1\n"), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

// Reaches waits until as many arrivals at a trigger of arriving are in a state, and returns them.
func (s *Server) Reaches(t *testing.T, trigger string, state landscape.ArrivalState, count int) (list []client.Arrival) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		list, err = s.Home(t).Arrivals(t.Context(), "arriving/"+trigger, state, "", 0)
		return err == nil && len(list) == count
	}, Patience, 20*time.Millisecond, "%d of %s are %s", count, trigger, state)
	return list
}

// ArrivedRun is the run that the first file began.
func (s *Server) ArrivedRun(t *testing.T) string {
	t.Helper()
	done, err := s.Home(t).Arrivals(t.Context(), "arriving/drop", landscape.ArrivalDone, "", 0)
	require.NoError(t, err)
	return done[len(done)-1].Run
}
