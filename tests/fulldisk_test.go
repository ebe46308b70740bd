package tests

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/tests/fixtures"
	"waymark/tests/sample"
	"waymark/tests/smalldisk"
)

const fullDocument = `name: full
chunk: {rows: 2000}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, amount: int, note: string}}
steps:
  - {name: band, set: {band: "row.amount > 500 ? 'high' : 'low'"}}
  - {name: triage, gate: row.band == 'high', routes: {"true": high, "false": continue}}
sinks:
  high: {csv: {path: out/high.csv}}
  low: {jsonl: {path: out/low.jsonl}, from: triage}
`

const fullRows = 20_000

// smallBytes is the size of a disk that gets full.
const smallBytes = 64 << 20

// fullDisk is what lies on a disk that has so much space left when the run begins.
type fullDisk struct {
	free  int64
	mount string   // where, in the folder of the run
	flags []string // for every command
	says  string   // what the run tells about it
	kill  bool     // the run is killed while it is full, and resumed
	more  bool     // what another one shows as well: tried where everything is
	day   bool     // is tried by day
}

// What a run that waits for space says, and one whose Temporal server cannot write.
const (
	waitsForSpace = "waiting: "
	isFull        = "waiting: the disk with .waymark is full"
)

// TestFullDisk lets disks get full in the middle of runs. A run waits and says so, and continues when there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	binary := buildWaymark(t)
	undisturbed := newFullRun(t, binary)
	undisturbed.waymark("run", "pipeline.yaml", "--quiet")
	want := undisturbed.outputs()
	outside := []string{"--landscape", "sqlite:landscape.db", "--payloads", "file:payloads"}
	for name, disk := range map[string]fullDisk{
		"payloads":               {free: 350 << 10, mount: "small", flags: []string{"--payloads", "file:small/payloads"}, says: waitsForSpace, more: true},
		"landscape":              {free: 3 << 20, mount: "small", flags: []string{"--landscape", "sqlite:small/landscape.db"}, says: waitsForSpace},
		"outputs":                {free: 400 << 10, mount: "out", says: waitsForSpace, more: true},
		"everything":             {free: 4 << 20, mount: ".waymark", says: waitsForSpace, more: true},
		"everything, and killed": {free: 4 << 20, mount: ".waymark", says: waitsForSpace, kill: true, day: true},
		"landscape, and killed":  {free: 3 << 20, mount: "small", flags: []string{"--landscape", "sqlite:small/landscape.db"}, says: waitsForSpace, kill: true, more: true},
		"Temporal":               {free: 1500 << 10, mount: ".waymark", flags: outside, says: isFull, more: true},
		"Temporal, and killed":   {free: 1500 << 10, mount: ".waymark", flags: outside, says: isFull, kill: true},
	} {
		t.Run(name, func(t *testing.T) {
			if disk.more && !*everywhere {
				t.Skip("-everywhere tries it")
			}
			if !disk.day && !*everywhere {
				sample.Rarely(t)
			}
			t.Parallel()
			r := newFullRun(t, binary)
			r.flags = disk.flags
			ballast := r.mountSmall(disk)
			r.start("run", "pipeline.yaml", "--run-id", "full")
			r.awaitWords(disk.says)
			require.False(t, r.over(), "the run ended: %s", r.said())
			if disk.kill {
				r.kill()
			}
			require.NoError(t, os.Remove(ballast))
			if disk.kill {
				r.start("resume", "full")
			}
			r.awaitEnd()
			require.Equal(t, want, r.outputs())
			r.waymark("verify", "full")
			if name == "outputs" { // what it waited for can be recorded meanwhile, or the process goes on
				require.Contains(t, r.waymark("events", "full"), "waiting for space")
			}
		})
	}
}

// fullRun is a run of the document in a folder of its own.
type fullRun struct {
	t       *testing.T
	binary  string
	folder  string
	flags   []string
	command *exec.Cmd
	ended   chan error
}

func newFullRun(t *testing.T, binary string) *fullRun {
	t.Helper()
	r := &fullRun{t: t, binary: binary, folder: t.TempDir()}
	fixtures.Write(t, filepath.Join(r.folder, "in.csv"), fullRows)
	require.NoError(t, os.WriteFile(filepath.Join(r.folder, "pipeline.yaml"), []byte(fullDocument), 0o600))
	return r
}

// mountSmall mounts a small disk and fills it up to the space that is left, with a file whose path it returns.
func (r *fullRun) mountSmall(disk fullDisk) (ballast string) {
	r.t.Helper()
	at := filepath.Join(r.folder, disk.mount)
	smalldisk.MountAt(r.t, at, smallBytes)
	ballast = filepath.Join(at, "ballast")
	require.NoError(r.t, os.WriteFile(ballast, make([]byte, smallBytes-disk.free), 0o600))
	return ballast
}

// waymark runs a command to its end.
func (r *fullRun) waymark(args ...string) string {
	r.t.Helper()
	out, err := waymark(r.binary, r.folder, append(args, r.flags...)...)
	require.NoError(r.t, err, "%s: %s", args, out)
	return string(out)
}

// start starts a command. What it says is in a file.
func (r *fullRun) start(args ...string) {
	r.t.Helper()
	output, err := os.Create(filepath.Join(r.folder, "said"))
	require.NoError(r.t, err)
	command := exec.Command(r.binary, append(args, r.flags...)...)
	command.Dir, command.Stdout, command.Stderr = r.folder, output, output
	require.NoError(r.t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(command.Wait(), output.Close()) }()
	r.command, r.ended = command, ended
	r.t.Cleanup(func() { _ = command.Process.Kill() })
}

func (r *fullRun) said() string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, "said"))
	require.NoError(r.t, err)
	return string(text)
}

// fullTimeout is how long anything may take on a machine that does other things as well.
const fullTimeout = 2 * time.Minute

func (r *fullRun) awaitWords(words string) {
	r.t.Helper()
	for end := time.Now().Add(fullTimeout); !strings.Contains(r.said(), words); time.Sleep(20 * time.Millisecond) {
		require.False(r.t, r.over(), "it ended without %q: %s", words, r.said())
		require.True(r.t, time.Now().Before(end), "it never said %q: %s", words, r.said())
	}
}

// over reports whether the command ended, and leaves that to be seen again.
func (r *fullRun) over() bool {
	select {
	case err := <-r.ended:
		r.ended <- err
		return true
	default:
		return false
	}
}

func (r *fullRun) awaitEnd() {
	r.t.Helper()
	select {
	case err := <-r.ended:
		require.NoError(r.t, err, "%s", r.said())
	case <-time.After(fullTimeout):
		require.Fail(r.t, "it does not go on", "%s", r.said())
	}
}

// kill kills the command at once, while there is no space.
func (r *fullRun) kill() {
	r.t.Helper()
	require.NoError(r.t, r.command.Process.Kill())
	require.ErrorContains(r.t, <-r.ended, "killed")
}

// outputs returns everything in the folder of the outputs but what fills the disk.
func (r *fullRun) outputs() map[string]string {
	r.t.Helper()
	entries, err := os.ReadDir(filepath.Join(r.folder, "out"))
	require.NoError(r.t, err)
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.folder, "out", entry.Name()))
		require.NoError(r.t, err)
		files[entry.Name()] = fmt.Sprintf("%d lines, %d bytes, %x", bytes.Count(content, []byte("\n")), len(content), sha256.Sum256(content))
	}
	require.Len(r.t, files, 2)
	return files
}
