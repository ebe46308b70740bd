package local_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/held"
)

// open opens a Home in a folder of its own, and closes it when the test ends.
func open(t *testing.T) *local.Home {
	t.Helper()
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(t.TempDir()), Actor: "tester", Networks: []string{held.Networks}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	return home
}

// document writes a pipeline of so many rows, ten in a chunk, and returns its file.
func document(t *testing.T, rows int) string {
	t.Helper()
	folder := t.TempDir()
	var data strings.Builder
	data.WriteString("id\n")
	for row := range rows {
		fmt.Fprintln(&data, row)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "in.csv"), []byte(data.String()), 0o600))
	file := filepath.Join(folder, "p.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: p\nchunk: {rows: 10}\n"+
		"sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int}}}}\nsinks: {out: {csv: {path: out.csv}}}\n"), 0o600))
	return file
}

// startHeld starts a run whose source holds back its rows until release is called, after which it holds nothing back.
func startHeld(t *testing.T, home *local.Home, file string) (execution *client.Execution, release func()) {
	t.Helper()
	web := held.Serve(filepath.Dir(file))
	t.Cleanup(web.Close)
	web.Hold(0)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "path: in.csv", "path: "+web.URL+"/in.csv", 1)), 0o600))
	execution, err = home.Start(t.Context(), client.StartRequest{File: file})
	require.NoError(t, err)
	return execution, web.Release
}

// startAndStop starts a run whose source holds back its rows, and stops it once it is on record. The source holds nothing back from
// those who resume it.
func startAndStop(t *testing.T, home *local.Home, file string) string {
	t.Helper()
	execution, release := startHeld(t, home, file)
	defer release()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for event, err := range execution.Follow(ctx) {
		if err != nil {
			break
		}
		if event.Kind == client.ProgressEvent {
			stop()
		}
	}
	require.NoError(t, execution.Close())
	return execution.Run
}

// TestResumeInOneHome: what a Home stopped it resumes, forks, and cancels, without another one.
func TestResumeInOneHome(t *testing.T) {
	t.Parallel()
	home := open(t)
	id := startAndStop(t, home, document(t, 30))
	run, err := home.Find(t.Context(), id)
	require.NoError(t, err)
	require.NotEqual(t, pipeline.Completed, run.Status)
	resumed, err := home.Resume(t.Context(), run, client.ResumeRequest{})
	require.NoError(t, err)
	status, err := resumed.Execution.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, status.Status)
	require.NoError(t, resumed.Execution.Close())

	killed, release := startHeld(t, home, document(t, 30))
	require.Eventually(t, func() bool {
		_, recorded, err := killed.Recorded(t.Context())
		return err == nil && recorded
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, killed.Close()) // nobody tells the run to stop
	release()
	run, err = home.Find(t.Context(), killed.Run)
	require.NoError(t, err)
	require.Equal(t, pipeline.Running, run.Status)
	fork, err := home.Fork(t.Context(), run, client.ForkRequest{})
	require.NoError(t, err)
	status, err = fork.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, pipeline.Completed, status.Status)
	require.NoError(t, fork.Close())

	id = startAndStop(t, home, document(t, 30))
	run, err = home.Find(t.Context(), id)
	require.NoError(t, err)
	_, err = home.Cancel(t.Context(), run, client.By{Why: "not wanted"}, true)
	require.NoError(t, err)
	run, err = home.Find(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, pipeline.Cancelled, run.Status)
}

// TestClosedHome starts nothing.
func TestClosedHome(t *testing.T) {
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(t.TempDir())})
	require.NoError(t, err)
	require.NoError(t, home.Close())
	_, err = home.Start(t.Context(), client.StartRequest{File: document(t, 1)})
	var closed *client.Error
	require.True(t, errors.As(err, &closed), "%v", err)
	require.Equal(t, client.HomeClosed, closed.Code)
}

// TestStartWithoutInput: a document that reads standard input wants one.
func TestStartWithoutInput(t *testing.T) {
	t.Parallel()
	file := document(t, 1)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), "path: in.csv", `path: "-"`, 1)), 0o600))
	_, err = open(t).Start(t.Context(), client.StartRequest{File: file})
	var invalid *client.Error
	require.True(t, errors.As(err, &invalid), "%v", err)
	require.Equal(t, client.Invalid, invalid.Kind)
}

// TestAStateFolderIsForItsOwner: what a state folder has is for its owner alone when it is opened, whoever could read
// it before, and so is what is written later; what else is there stays as it is.
func TestAStateFolderIsForItsOwner(t *testing.T) {
	const log = 4 // at least: heads, a checkpoint, hashes and entries
	for _, foreign := range []bool{false, true} {
		state := filepath.Join(t.TempDir(), "state")
		use := func() {
			home, err := local.Open(t.Context(), local.Options{State: local.Folder(state), Actor: "tester"})
			require.NoError(t, err)
			_, err = home.GrantAccess(t.Context(), client.AccessRequest{
				By: client.By{Why: "a test"}, Name: "ann", Roles: []landscape.Role{landscape.Viewer},
			})
			require.NoError(t, err)
			require.NoError(t, home.Close())
		}
		open := func() (open []string, all int) {
			require.NoError(t, filepath.WalkDir(state, func(path string, entry fs.DirEntry, err error) error {
				require.NoError(t, err)
				info, err := entry.Info()
				require.NoError(t, err)
				if info.Mode().Perm()&0o077 != 0 {
					open = append(open, strings.TrimPrefix(path, state))
				}
				all++
				return nil
			}))
			return open, all
		}
		use()
		made, all := open()
		require.Empty(t, made, "of what is made")
		require.Greater(t, all, log)
		if foreign {
			require.NoError(t, os.WriteFile(filepath.Join(state, "document.yaml"), nil, 0o600))
		}
		require.NoError(t, filepath.WalkDir(state, func(path string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			if strings.Contains(path, "key") {
				return nil
			}
			return os.Chmod(path, 0o755) //nolint:gosec // as somebody made it
		}))
		use()
		left, _ := open()
		if foreign {
			require.Equal(t, []string{"", "/document.yaml"}, left, "a folder with what is of others may be theirs, too")
		} else {
			require.Empty(t, left)
		}
	}
}

// TestWhatIsNoLandscapeStaysAsItIs: a database of something else in the place of the record is refused, and others may
// read it as before.
func TestWhatIsNoLandscapeStaysAsItIs(t *testing.T) {
	state := local.Folder(t.TempDir())
	path := state.File("landscape.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `create table mine (n)`)
	require.NoError(t, errors.Join(err, db.Close()))
	require.NoError(t, os.Chmod(path, 0o644)) //nolint:gosec // as somebody made it
	_, err = local.Open(t.Context(), local.Options{State: state})
	require.ErrorContains(t, err, "not a Waymark landscape: give the path of another file")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o644), info.Mode())
}
