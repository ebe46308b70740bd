package tests

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"waymark/internal/sqlitefile"
	"waymark/internal/temporal/embedded"
	"waymark/landscape"
	"waymark/tests/fixtures"
	"waymark/tests/held"
	"waymark/tests/sample"
	"waymark/workflows"
)

// resumedRows are ten chunks.
const resumedRows = 10 * fixtures.ResumedChunk

// disturbed is a run by the real binary that can be disturbed, and the output of the same run undisturbed.
type disturbed struct {
	t              *testing.T
	binary, folder string
	web            *held.Web // of the input
	want           map[string]string
}

func newDisturbed(t *testing.T) *disturbed {
	t.Helper()
	d := &disturbed{t: t, binary: buildWaymark(t), folder: t.TempDir()}
	d.web = held.Serve(d.folder)
	t.Cleanup(d.web.Close)
	fixtures.Write(t, filepath.Join(d.folder, "in.csv"), resumedRows)
	fixtures.AddBadRows(t, filepath.Join(d.folder, "in.csv"))
	require.NoError(t, os.WriteFile(filepath.Join(d.folder, "pipeline.yaml"), fmt.Appendf(nil, fixtures.Resumed, d.web.URL), 0o600))
	d.ends(3, "run", "pipeline.yaml", "--run-id", "undisturbed")
	d.want = d.take()
	require.Len(t, d.want, 4)
	return d
}

// take reads the output and removes it.
func (d *disturbed) take() map[string]string {
	d.t.Helper()
	out := filepath.Join(d.folder, "out")
	entries, err := os.ReadDir(out)
	require.NoError(d.t, err)
	taken := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(out, entry.Name()))
		require.NoError(d.t, err)
		taken[entry.Name()] = string(content)
	}
	require.NoError(d.t, os.RemoveAll(out))
	return taken
}

// ends runs the binary, which must end with the code, and returns what it wrote.
func (d *disturbed) ends(code int, args ...string) string {
	d.t.Helper()
	output, err := d.waymark(args...)
	require.Equal(d.t, code, exitCode(err), "%v\n%s", args, output)
	return string(output)
}

func (d *disturbed) waymark(args ...string) ([]byte, error) {
	return waymark(d.binary, d.folder, append(args, "--allow-network", held.Networks)...)
}

func exitCode(err error) int {
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return exit.ExitCode()
	}
	return 0
}

// start starts or resumes a run that gets so many rows of its source and no more, until something releases them. It returns when the
// chunks that they fill have been written, and a channel with its end.
func (d *disturbed) start(rows int, args ...string) (*exec.Cmd, <-chan error) {
	d.t.Helper()
	d.web.Hold(rows)
	command := exec.Command(d.binary, append(args, "--allow-network", held.Networks)...)
	command.Dir = d.folder
	require.NoError(d.t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for deadline := time.Now().Add(2 * time.Minute); d.written("one") < rows/fixtures.ResumedChunk; {
		require.True(d.t, time.Now().Before(deadline), "it does not come so far")
		select {
		case err := <-ended:
			require.Fail(d.t, "it ended too early", "%v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return command, ended
}

// startAndKill starts or resumes a run and kills its process when so many rows of it are written.
func (d *disturbed) startAndKill(rows int, args ...string) {
	d.t.Helper()
	command, ended := d.start(rows, args...)
	require.NoError(d.t, command.Process.Kill())
	require.Equal(d.t, -1, exitCode(<-ended), "it ended by itself")
	d.web.Release()
}

// written returns how many chunks the sink high of the run has confirmed. It reads the record and does not wait for a process to tell:
// each takes ten times as long, and it is asked again and again.
func (d *disturbed) written(run string) (chunks int) {
	d.t.Helper()
	uri, err := sqlitefile.URI(filepath.Join(d.folder, ".waymark", "landscape.db"), url.Values{"mode": {"ro"}})
	require.NoError(d.t, err)
	db, err := sql.Open("sqlite", uri)
	require.NoError(d.t, err)
	defer func() { require.NoError(d.t, db.Close()) }()
	const query = `select count(*) from effects where run_id = ? and sink = 'high' and kind = ? and state = ?`
	if err := db.QueryRowContext(d.t.Context(), query, run, landscape.WriteEffect, landscape.Finalized).Scan(&chunks); err != nil {
		return 0 // there is no record yet, or none with these tables
	}
	return chunks
}

type runStatus struct {
	Status string `json:"status"`
	Epoch  int64  `json:"epoch"`
}

// status returns how the run is; nothing if it is not recorded yet.
func (d *disturbed) status(run string) (status runStatus) {
	d.t.Helper()
	if output, err := d.waymark("status", run, "--json"); err == nil {
		require.NoError(d.t, json.Unmarshal(output, &status), "%s", output)
	}
	return status
}

// requireUndisturbed requires that the run is complete, that everything on record about it can be verified, and that its
// output, which it takes away, is that of an undisturbed one.
func (d *disturbed) requireUndisturbed(run string) {
	d.t.Helper()
	require.Equal(d.t, "completed_with_failures", d.status(run).Status)
	d.ends(0, "verify", run)
	got := d.take()
	require.Len(d.t, got, len(d.want))
	for name, content := range d.want {
		require.True(d.t, content == got[name], "%s is not what an undisturbed run writes", name)
	}
}

// TestResumedRunsAreAsIfUndisturbed stops a run in the middle by what operators fear, and resumes it.
func TestResumedRunsAreAsIfUndisturbed(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	d := newDisturbed(t)
	for name, disturb := range map[string]func(){
		"killed twice": func() {
			d.startAndKill(resumedRows/10, "run", "pipeline.yaml", "--run-id", "one")
			d.startAndKill(resumedRows/2, "resume", "one")
		},
		"the workflow is gone":    func() { d.startAndKill(resumedRows/5, "run", "pipeline.yaml", "--run-id", "one"); d.removeTemporal() },
		"the workflow is ended":   d.terminate,
		"no whole chunk was left": func() { d.startAndKill(resumedRows, "run", "pipeline.yaml", "--run-id", "one") },
	} {
		t.Run(name, func(t *testing.T) {
			d := &disturbed{t, d.binary, d.folder, d.web, d.want}
			require.NoError(t, os.RemoveAll(filepath.Join(d.folder, ".waymark")))
			disturb()
			d.ends(3, "resume", "one", "--why", name)
			d.requireUndisturbed("one")
		})
	}
}

// removeTemporal removes everything that Temporal knows.
func (d *disturbed) removeTemporal() {
	files, err := filepath.Glob(filepath.Join(d.folder, ".waymark", "temporal.db*"))
	require.NoError(d.t, err)
	require.NotEmpty(d.t, files)
	for _, file := range files {
		require.NoError(d.t, os.Remove(file))
	}
}

// terminate terminates the workflow of a run that is going. Its process says so and ends.
func (d *disturbed) terminate() {
	_, ended := d.start(resumedRows/5, "run", "pipeline.yaml", "--run-id", "one")
	process, held, err := embedded.Holder(filepath.Join(d.folder, ".waymark", "temporal.db"))
	require.NoError(d.t, err)
	require.True(d.t, held)
	c, err := embedded.Dial(context.Background(), process.Address, client.Options{})
	require.NoError(d.t, err)
	defer c.Close()
	require.NoError(d.t, c.TerminateWorkflow(context.Background(), workflows.WorkflowID("one"), "", "a test"))
	require.Equal(d.t, 130, exitCode(<-ended))
	d.web.Release()
	require.Equal(d.t, "interrupted", d.status("one").Status)
}

// concurrentResumes is how many processes resume a run at once.
const concurrentResumes = 8

// TestOneOfManyResumesProceeds resumes a run by many processes at once.
func TestOneOfManyResumesProceeds(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	d := newDisturbed(t)
	d.startAndKill(resumedRows/10, "run", "pipeline.yaml", "--run-id", "one")
	var all sync.WaitGroup
	codes, said := make([]int, concurrentResumes), make([]string, concurrentResumes)
	for i := range concurrentResumes {
		all.Go(func() {
			output, err := d.waymark("resume", "one", "--quiet")
			codes[i], said[i] = exitCode(err), string(output)
		})
	}
	all.Wait()
	proceeded := 0
	for i, code := range codes {
		switch code {
		case 3:
			proceeded++
		case 1:
			require.Regexp(t, `^waymark: process \d+ works for run one already`, said[i])
		default:
			require.Zero(t, code, said[i])
			require.Contains(t, said[i], "run one is completed_with_failures already: nothing changed")
		}
	}
	require.Equal(t, 1, proceeded, "%v", codes)
	require.EqualValues(t, 1, d.status("one").Epoch)
	d.requireUndisturbed("one")
}

// TestRecordOfBeforeIsRefused: a record that was put back from an older copy contradicts the workflow's history, and nothing
// is done on its word.
func TestRecordOfBeforeIsRefused(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	d := newDisturbed(t)
	d.startAndKill(resumedRows/10, "run", "pipeline.yaml", "--run-id", "one")
	d.ends(0, "cancel", "one", "--why", "a copy is made") // and the record is one file again
	record := filepath.Join(d.folder, ".waymark", "landscape.db")
	older, err := os.ReadFile(record)
	require.NoError(t, err)
	d.startAndKill(resumedRows/2, "resume", "one")
	for _, beside := range []string{"-wal", "-shm"} {
		require.NoError(t, os.RemoveAll(record+beside))
	}
	require.NoError(t, os.WriteFile(record, older, 0o600))
	before := d.ends(0, "status", "one", "--json")
	require.Contains(t, d.ends(1, "resume", "one"), "STATE_DIVERGED: run one")
	require.Equal(t, before, d.ends(0, "status", "one", "--json"))
	require.Contains(t, d.ends(3, "resume", "one", "--fork"), "resumed: completed_with_failures")
	require.Equal(t, "cancelled", d.status("one").Status)
	require.Contains(t, d.ends(0, "status", "last"), "from run one")
	d.requireUndisturbed("last")
}
