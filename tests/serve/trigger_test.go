package serve_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/tests/sample"
	"waymark/tests/serving"
)

// dropped is a document whose runs begin as files arrive in a folder.
const dropped = `
name: orders
params: {part: {type: string, default: all}}
sources: {orders: {csv: {path: "FOLDER/in/*.csv"}, schema: {fields: {id: int}}}}
sinks: {out: {jsonl: {path: "FOLDER/out/${param:part}.jsonl"}}}
triggers: {drop: {source: orders, every: 100ms, quiet: 300ms, run_id: part, TRIGGER}}
`

// watching is a server with triggers, at which something arrives.
type watching struct{ *serving.Server }

// watch begins to serve a folder.
func watch(t *testing.T, folder string, flags ...string) *watching {
	t.Helper()
	return &watching{serving.Start(t, folder, flags...)}
}

// drop serves a folder with a deployed trigger.
func drop(t *testing.T, trigger string) *watching {
	t.Helper()
	s := watch(t, t.TempDir())
	require.NoError(t, os.Mkdir(filepath.Join(s.Folder, "in"), 0o700))
	document := strings.NewReplacer("FOLDER", s.Folder, "TRIGGER", trigger).Replace(dropped)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "orders.yaml"), []byte(document), 0o600))
	s.Waymark(t, "deploy", "orders.yaml", "--allow-path", s.Folder)
	return s
}

// put lets a file arrive.
func (s *watching) put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(s.Folder, "in", name)
	require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

// arrivals returns what is on record of a file, the first revision first.
func (s *watching) arrivals(t *testing.T, name string) (found []landscape.Arrival) {
	t.Helper()
	file := filepath.Join(s.Folder, "in", name)
	found, err := landscape.Select[landscape.Arrival](t.Context(), s.Landscape(t), "default/orders/drop", file)
	require.NoError(t, err)
	return found
}

// becomes waits until the last revision of a file, which has this number, is in a state.
func (s *watching) becomes(t *testing.T, name string, revision int, state landscape.ArrivalState) landscape.Arrival {
	t.Helper()
	var last landscape.Arrival
	require.Eventually(t, func() bool {
		found := s.arrivals(t, name)
		if len(found) != revision+1 {
			return false
		}
		last = found[revision]
		return last.State == state
	}, patience, 50*time.Millisecond, "%s/%d %s: %+v", name, revision, state, &last)
	return last
}

// triggered is what `triggers --json` prints.
type triggered struct {
	ID      string `json:"trigger"`
	Source  string `json:"source"`
	Paused  bool   `json:"paused"`
	Why     string `json:"why"`
	Waiting int64  `json:"waiting"`
	Oldest  string `json:"oldest"`
	Taken   int64  `json:"taken"`
	Runs    int64  `json:"runs"`
	Looked  string `json:"looked"`
	Error   string `json:"error"`
	After   struct {
		Pipeline string `json:"pipeline"`
		Sink     string `json:"sink"`
	} `json:"after"`
}

func (s *watching) trigger(t *testing.T) triggered {
	t.Helper()
	return serving.Listed[triggered](t, s.Server, "triggers")[0]
}

// TestEachFileGetsARun as it arrives, and as it changes; its run reads this file and no other, and explain says which it was.
func TestEachFileGetsARun(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := drop(t, "at_once: 2")
	s.put(t, "a.csv", "id\n1\n2\n")
	s.put(t, "b.csv", "id\n3\n")
	a, b := s.becomes(t, "a.csv", 0, landscape.ArrivalDone), s.becomes(t, "b.csv", 0, landscape.ArrivalDone)
	require.NotEqual(t, a.Run, b.Run)
	s.holds(t, "out", a.Run, "{\"id\":1}\n{\"id\":2}\n")
	s.holds(t, "out", b.Run, "{\"id\":3}\n")
	require.Regexp(t, `in/b\.csv`, s.Waymark(t, "explain", b.Run, "--row", "1"))
	require.Regexp(t, `by +trigger default/orders/drop`, s.Waymark(t, "status", a.Run))
	require.Contains(t, s.Waymark(t, "starts", "--json"), `"trigger":"arrival"`)

	s.put(t, "a.csv", "id\n4\n")
	again := s.becomes(t, "a.csv", 1, landscape.ArrivalDone)
	s.holds(t, "out", again.Run, "{\"id\":4}\n")
	require.Equal(t, landscape.ArrivalDone, s.arrivals(t, "a.csv")[0].State)
	s.Waymark(t, "verify", again.Run)

	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "in", "gone.csv"), []byte("id\n9\n"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(s.Folder, "in", "gone.csv")))
	trigger := s.trigger(t)
	require.Equal(t, []any{"default/orders/drop", "orders", int64(0), int64(0), ""}, []any{trigger.ID, trigger.Source, trigger.Waiting, trigger.Taken, trigger.Error})
	require.NotEmpty(t, trigger.Looked)
}

// holds requires what the run has written into a folder.
func (s *watching) holds(t *testing.T, folder, run, want string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Folder, folder, run+".jsonl"))
	require.NoError(t, err)
	require.Equal(t, want, string(text))
}

// TestPausedTriggersKeepWhatArrives: it is on record, waits, and gets its runs when the trigger is resumed.
func TestPausedTriggersKeepWhatArrives(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := drop(t, "changed: ignore, batch: {files: 10, wait: 300ms}")
	require.Contains(t, s.Waymark(t, "triggers", "pause", "drop", "--why", "to see"), "trigger default/orders/drop is paused; resume it")
	require.Contains(t, s.Waymark(t, "triggers", "pause", "orders/drop", "--why", "to see"), "already: nothing changed")
	s.put(t, "b.csv", "id\n1\n")
	s.put(t, "a.csv", "id\n2\n")
	s.becomes(t, "a.csv", 0, landscape.ArrivalReady)
	s.becomes(t, "b.csv", 0, landscape.ArrivalReady)
	s.put(t, "b.csv", "id\n1\n1\n")
	s.becomes(t, "b.csv", 1, landscape.ArrivalReady)
	require.Equal(t, landscape.ArrivalGone, s.arrivals(t, "b.csv")[0].State, "no run has read it")
	s.put(t, "c.csv", "id\n7\n")
	s.becomes(t, "c.csv", 0, landscape.ArrivalReady)
	require.NoError(t, os.Remove(filepath.Join(s.Folder, "in", "c.csv")))
	require.Equal(t, "it was removed before a run took it", s.becomes(t, "c.csv", 0, landscape.ArrivalGone).Reason)
	trigger := s.trigger(t)
	require.Equal(t, []any{int64(2), true, "to see"}, []any{trigger.Waiting, trigger.Paused, trigger.Why})
	require.NotEmpty(t, trigger.Oldest)
	require.Contains(t, s.Waymark(t, "triggers"), "to see")

	require.Contains(t, s.Waymark(t, "triggers", "resume", "drop"), "trigger default/orders/drop is resumed; 2 files wait")
	a, b := s.becomes(t, "a.csv", 0, landscape.ArrivalDone), s.becomes(t, "b.csv", 1, landscape.ArrivalDone)
	require.Equal(t, a.Run, b.Run, "one batch")
	s.holds(t, "out", a.Run, "{\"id\":2}\n{\"id\":1}\n{\"id\":1}\n")
	s.put(t, "a.csv", "id\n3\n")
	require.Contains(t, s.becomes(t, "a.csv", 1, landscape.ArrivalIgnored).Reason, "changed: ignore")
	_, err := s.Try(t.Context(), "triggers", "pause", "dorp", "--why", "x")
	require.Error(t, err)
}

// TestAFailedRunKeepsItsFiles until somebody resumes it, or gives it up: then another run reads them. What follows goes on meanwhile.
func TestAFailedRunKeepsItsFiles(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := drop(t, "changed: again")
	s.put(t, "bad.csv", "nobody\n1\n")
	bad := s.becomes(t, "bad.csv", 0, landscape.ArrivalTaken)
	s.put(t, "good.csv", "id\n1\n")
	s.becomes(t, "good.csv", 0, landscape.ArrivalDone)
	require.Equal(t, "failed", s.status(t, bad.Run))
	trigger := s.trigger(t)
	require.Equal(t, []any{int64(0), int64(1), int64(1)}, []any{trigger.Waiting, trigger.Taken, trigger.Runs})
	out, err := s.Try(t.Context(), "resume", bad.Run, "--fork", "--allow-path", s.Folder)
	require.Error(t, err)
	require.Regexp(t, `cancel [^ ]+ --final --why TEXT`, out)

	s.Waymark(t, "triggers", "pause", "drop", "--why", "to mend the file")
	s.put(t, "bad.csv", "id\n4\n")
	s.becomes(t, "bad.csv", 1, landscape.ArrivalReady)
	out, err = s.Try(t.Context(), "resume", bad.Run, "--allow-path", s.Folder)
	require.Error(t, err, "it reads what arrived, and nothing else")
	require.Regexp(t, `in/bad\.csv: SOURCE_CHANGED: is not the file that arrived; .* waymark cancel `+bad.Run+` --final --why TEXT`, out)
	s.Waymark(t, "cancel", bad.Run, "--final", "--why", "no header", "--allow-path", s.Folder)
	require.Eventually(t, func() bool { return s.arrivals(t, "bad.csv")[0].State == landscape.ArrivalGone }, patience, 50*time.Millisecond)
	require.Equal(t, "run "+bad.Run+" was cancelled permanently, and the file has changed since", s.arrivals(t, "bad.csv")[0].Reason)
	s.Waymark(t, "triggers", "resume", "drop")
	s.holds(t, "out", s.becomes(t, "bad.csv", 1, landscape.ArrivalDone).Run, "{\"id\":4}\n")
}

// TestAFileOfARunThatIsGivenUp is read by another run.
func TestAFileOfARunThatIsGivenUp(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := drop(t, "at_once: 1")
	s.put(t, "bad.csv", "nobody\n1\n")
	first := s.becomes(t, "bad.csv", 0, landscape.ArrivalTaken)
	require.Eventually(t, func() bool { return s.status(t, first.Run) == "failed" }, patience, 50*time.Millisecond)
	s.Waymark(t, "cancel", first.Run, "--final", "--why", "to see", "--allow-path", s.Folder)
	require.Eventually(t, func() bool {
		now := s.arrivals(t, "bad.csv")[0]
		return now.State == landscape.ArrivalTaken && now.Run != first.Run
	}, patience, 50*time.Millisecond)
	require.Len(t, s.arrivals(t, "bad.csv"), 1)
}

// TestATriggerSaysWhyNobodyCanLook until somebody can.
func TestATriggerSaysWhyNobodyCanLook(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s, elsewhere := watch(t, t.TempDir()), t.TempDir()
	document := strings.NewReplacer("FOLDER", elsewhere, ", TRIGGER", "").Replace(dropped)
	require.NoError(t, os.WriteFile(filepath.Join(s.Folder, "orders.yaml"), []byte(document), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(elsewhere, "in"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "in", "a.csv"), []byte("id\n1\n"), 0o600))
	s.Waymark(t, "deploy", "orders.yaml", "--allow-path", elsewhere, "--anyway", "it is allowed later")
	require.Eventually(t, func() bool {
		return strings.Contains(s.trigger(t).Error, "allow the one that it is in with --allow-path")
	}, patience, 100*time.Millisecond)
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	s = watch(t, s.Folder, "--allow-path", elsewhere)
	require.Eventually(t, func() bool {
		outputs, err := filepath.Glob(filepath.Join(elsewhere, "out", "*.jsonl"))
		return err == nil && len(outputs) == 1
	}, patience, 100*time.Millisecond)
	require.Empty(t, s.trigger(t).Error)
}

// TestWhatCannotArriveStopsNothing: other files arrive, and the trigger says what is in the way. A folder that is not there is no empty one.
func TestWhatCannotArriveStopsNothing(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	s := drop(t, "at_once: 2")
	in := filepath.Join(s.Folder, "in")
	says := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return s.trigger(t).Error == want }, patience, 50*time.Millisecond, want)
	}
	require.NoError(t, os.Mkdir(filepath.Join(in, "sub.csv"), 0o700))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(in, "link.csv")))
	require.NoError(t, os.WriteFile(filepath.Join(in, "\xff.csv"), nil, 0o600))
	s.put(t, "a.csv", "id\n1\n")
	s.becomes(t, "a.csv", 0, landscape.ArrivalDone)
	says(filepath.Join(in, "link.csv") + ": PATH_REFUSED: not a regular file (a symbolic link), and 2 more; other files arrive: move it away, or let the path of the source not match it")

	require.NoError(t, os.Rename(in, in+".away"))
	says(in + "/*.csv: PATH_REFUSED: there is no such folder: make it, or mount what has it")
	require.NoError(t, os.Mkdir(in, 0o700))
	says("")
	s.put(t, "b.csv", "id\n2\n")
	s.becomes(t, "b.csv", 0, landscape.ArrivalDone)
}

func (s *watching) status(t *testing.T, run string) string {
	t.Helper()
	var status struct {
		Status string `json:"status"`
	}
	out, _ := s.Try(t.Context(), "status", run, "--json") // of a failed run it has an exit code
	require.NoError(t, json.Unmarshal([]byte(out), &status), out)
	return status.Status
}
