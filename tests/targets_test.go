package tests

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/fixtures"
	"waymark/tests/held"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/serving"
	"waymark/workflows"
)

// TestARunWaitsForItsTarget begins runs of other pipelines while one writes: those that would write to its target wait, however they name it.
func TestARunWaitsForItsTarget(t *testing.T) {
	d := open(t)
	holder := d.holder(t, many)
	target := filepath.Join(d.Folder, "out", "out.csv")
	same := strings.NewReplacer("name: many", "name: other", "out/out.csv", target, "params:", "concurrency: {runs: 1, when_full: skip}\nparams:").Replace(many)
	b := d.ask(t, "b", same)
	start := d.becomes(t, "b", landscape.StartWaiting)
	real, err := filepath.EvalSymlinks(filepath.Dir(target))
	require.NoError(t, err)
	require.Equal(t, filepath.Join(real, "out.csv")+" is being written by run r", start.Reason)
	require.Contains(t, start.Terms, `{"gate":"target:`+filepath.Join(real, "out.csv")+`","places":1}`)
	elsewhere := d.ask(t, "c", strings.Replace(many, "out/out.csv", "out/elsewhere.csv", 1))
	require.Equal(t, pipeline.Completed, result(t, elsewhere).Status, "it writes elsewhere")

	begun := time.Now()
	d.order(t, workflows.ContinueUpdate)
	require.Equal(t, pipeline.Completed, result(t, holder).Status)
	require.Equal(t, pipeline.Completed, result(t, b).Status)
	require.Less(t, time.Since(begun), patience, "it was told, and did not ask by itself")
	require.LessOrEqual(t, d.run(t, "r").Finished, d.run(t, "b").Started)
	d.complete(t, "b")
}

// TestAKilledRunKeepsItsTarget kills the server, half-way, of a run for whose target another one waits: the next server continues both, one after the other.
func TestAKilledRunKeepsItsTarget(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	const rows = 100_000
	folder := sharing(t, rows)
	s := serving.Start(t, folder)
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(filepath.Join(folder, ".waymark")), Existing: true})
	require.NoError(t, err)
	defer home.Close()
	s.Waymark(t, "run", "--pipeline", "a", "--run-id", "a", "--detach")
	require.Eventually(t, func() bool {
		status, err := home.Counts(t.Context(), "a")
		return err == nil && status.Rows > rows/10
	}, patience, 5*time.Millisecond)
	s.Waymark(t, "pause", "a", "--why", "to ask for the other")
	s.Waymark(t, "run", "--pipeline", "b", "--run-id", "b", "--detach")
	require.Eventually(t, func() bool {
		return strings.Contains(s.Waymark(t, "queue"), "/out/shared.csv is being written by run a")
	}, patience, 50*time.Millisecond)
	require.NoError(t, s.Give(t, workflows.WorkflowID("a"), workflows.ContinueUpdate, workflows.Command{Actor: "ann", Why: "to see"}))
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	run, err := home.Find(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, pipeline.Running, run.Status)

	s = serving.Start(t, folder)
	require.Eventually(t, func() bool {
		run, err := home.Find(t.Context(), "b")
		return err == nil && run.Status == pipeline.Completed
	}, patience, 50*time.Millisecond)
	a, err := home.Find(t.Context(), "a")
	require.NoError(t, err)
	b, err := home.Find(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, a.Status)
	require.LessOrEqual(t, a.Finished, b.Started)
	requireShared(t, s, 2)
	s.Waymark(t, "verify", "b")
}

// TestADeadRunLetsGoOfItsTarget kills a process that executes a run of its own: the next run of the folder does not wait for it. While that runs, the dead
// one is not resumed; after that it is, and its output is the later one.
func TestADeadRunLetsGoOfItsTarget(t *testing.T) {
	t.Parallel()
	binary, err := programs.Waymark()
	require.NoError(t, err)
	const rows = 6_000
	s := &serving.Server{Folder: sharing(t, rows)}
	web := held.Serve(s.Folder)
	defer web.Close()
	document := filepath.Join(s.Folder, "a.yaml")
	content, err := os.ReadFile(document)
	require.NoError(t, err)
	content = bytes.Replace(content, []byte("path: a.csv"), []byte("path: "+web.URL+"/a.csv"), 1)
	require.NoError(t, os.WriteFile(document, content, 0o600))
	network := []string{"--allow-network", held.Networks}
	web.Hold(rows - 1) // so it does not end before it is killed
	killed := killOne(t, binary, s.Folder, 1, append([]string{"a.yaml", "--run-id", "a"}, network...)...)
	require.True(t, killed, "it is killed half-way")
	web.Release()
	s.Waymark(t, "run", "b.yaml", "--run-id", "b")
	requireShared(t, s, 2)
	s.Waymark(t, append([]string{"resume", "a"}, network...)...)
	requireShared(t, s, rows)
}

// TestAProcessOfItsOwnBeginsWhenItMay lets a process with a Temporal of its own wait for the target of a run that a server executes: it begins soon
// after that run's end, although nobody there knows of it.
func TestAProcessOfItsOwnBeginsWhenItMay(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	const rows = 50_000
	folder := sharing(t, rows)
	s := serving.Start(t, folder)
	s.Waymark(t, "run", "--pipeline", "a", "--run-id", "a", "--detach")
	s.Waymark(t, "pause", "a", "--why", "to ask for the other")
	ended := make(chan error, 1)
	go func() {
		_, err := s.Try(t.Context(), "run", "b.yaml", "--run-id", "b", "--state", "own", "--landscape", "sqlite:.waymark/landscape.db", "--payloads", "file:.waymark/payloads")
		ended <- err
	}()
	require.Eventually(t, func() bool {
		return strings.Contains(s.Waymark(t, "queue"), "/out/shared.csv is being written by run a")
	}, patience, 50*time.Millisecond)
	require.NoError(t, s.Give(t, workflows.WorkflowID("a"), workflows.ContinueUpdate, workflows.Command{Actor: "ann", Why: "to see"}))
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(patience): // by itself it would ask after two
		require.Fail(t, "it was not told that it may begin")
	}
	requireShared(t, s, 2)
}

// TestNobodyWaitsForADeadServer kills the server of a run, and of one that waits for its target: a process of its own is refused, and names first the
// one and then the other, with what moves them. Nothing of them is lost.
func TestNobodyWaitsForADeadServer(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	const rows = 50_000
	s := serving.Start(t, sharing(t, rows))
	s.Waymark(t, "run", "--pipeline", "a", "--run-id", "a", "--detach")
	require.Eventually(t, func() bool { return strings.Contains(s.Waymark(t, "runs"), "running") }, patience, 20*time.Millisecond)
	s.Waymark(t, "pause", "a", "--why", "to ask for the other")
	s.Waymark(t, "run", "--pipeline", "b", "--run-id", "b", "--detach")
	require.Eventually(t, func() bool {
		return strings.Contains(s.Waymark(t, "queue"), "/out/shared.csv is being written by run a")
	}, patience, 50*time.Millisecond)
	followers := s.Followed(t, "a", "b")
	require.NoError(t, s.Command.Process.Kill())
	_ = s.Command.Wait()
	a, b := followers["a"](), followers["b"]()
	require.Contains(t, a, `"status":"interrupted"`)
	require.Contains(t, b, `"status":"waiting"`)
	for _, said := range []string{a, b} {
		require.Contains(t, said, `"code":"EXECUTOR_GONE"`)
		require.Contains(t, said, "exit status 130")
	}
	require.Contains(t, b, "the process that was to begin run b ended; nothing was read or written; waymark serve begins it, and waymark follow b follows it then; waymark cancel b")
	refused := func(id, why string) {
		ctx, stop := context.WithTimeout(t.Context(), patience) // it may not wait
		defer stop()
		out, err := s.Try(ctx, "run", "b.yaml", "--run-id", id)
		require.ErrorContains(t, err, "exit status 2", out)
		require.Contains(t, out, why)
		require.Equal(t, activities.TypeHolderGone, serving.Listed[struct{ Refusal string }](t, s, "starts")[0].Refusal)
	}
	refused("c", "is being written by run a; run b comes before it; the process of run a is gone: waymark serve continues it, as does waymark resume a")
	s.Waymark(t, "resume", "a")
	requireShared(t, s, rows)
	require.Contains(t, s.Waymark(t, "queue"), "there are places, but its process is gone: waymark serve begins it")
	refused("d", "run b comes before it; the process of run b is gone: waymark serve begins it, and waymark cancel b --why TEXT cancels it")

	s = serving.Start(t, s.Folder)
	require.Eventually(t, func() bool {
		return strings.Contains(s.Waymark(t, "runs", "--json"), `"run":"b","pipeline":"b","status":"completed"`)
	}, patience, 50*time.Millisecond)
	requireShared(t, s, 2)
}

// sharing is a folder with two pipelines of one target: a has so many rows, b two.
func sharing(t *testing.T, rows int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, rows := range map[string]int{"a": rows, "b": 2} {
		document := strings.NewReplacer("name: served", "name: "+name, "in.csv", name+".csv", "served.csv", "shared.csv").Replace(fixtures.Served)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".yaml"), []byte(document), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".csv"), []byte(fixtures.Numbered(0, rows)), 0o600))
	}
	return folder
}

// requireShared requires that the target of both pipelines has so many rows, and a header.
func requireShared(t *testing.T, s *serving.Server, rows int) {
	t.Helper()
	out, err := os.ReadFile(filepath.Join(s.Folder, "out", "shared.csv"))
	require.NoError(t, err)
	require.Equal(t, rows+1, bytes.Count(out, []byte("\n")))
}
