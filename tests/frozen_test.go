package tests

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/internal/temporal/beat"
	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/fixtures"
	"waymark/tests/programs"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/system"
	"waymark/worker"
	"waymark/workflows"
)

// frozenDocument makes chunks that take a while: a freeze meets some of them in the steps.
const frozenDocument = `name: frozen
chunk: {rows: 500}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, amount: int, note: string}}
steps:
  - name: slow
    set:
      a: "row.note.split('').map(x, x + row.note).join('-')"
      b: "row.note.split('').map(x, x + x + row.note).join('+')"
      c: "row.note.split('').map(x, row.note + x).join('/')"
sinks:
  out: {jsonl: {path: out.jsonl, overwrite: true}}
`

const (
	frozenRows  = 20_000
	frozenChunk = 500 // as the document says
)

// silences are how long Temporal, or the network before it, is away: a moment, and longer than Temporal waits for the
// heartbeats of an activity.
var silences = []time.Duration{3 * time.Second, 20 * time.Second, time.Minute}

// Temporal is silent: what the worker computes meanwhile counts, and nothing is computed a second time.
func TestTemporalIsFrozen(t *testing.T) {
	sample.Rarely(t)
	computeOnceThrough(t, func(line *services.Proxy, next func()) {
		for _, silence := range silences {
			next()
			over := line.Silence()
			time.Sleep(silence)
			over()
		}
	})
}

// The network is away for a second now and then, and the connections with it.
func TestNetworkLosesASecond(t *testing.T) {
	sample.Rarely(t)
	computeOnceThrough(t, func(line *services.Proxy, next func()) {
		for range 8 {
			next()
			over := line.Silence()
			line.Break()
			time.Sleep(time.Second)
			over()
		}
	})
}

// computeOnceThrough requires that a run computes each chunk once, and completes, whatever happens to the line between
// its worker and Temporal. next waits until more chunks are computed.
func computeOnceThrough(t *testing.T, happen func(line *services.Proxy, next func())) {
	t.Helper()
	computed := &computing{times: map[int64]int{}}
	s := system.StartWith(t, system.Options{Members: []worker.Member{}, Storage: computed.storage})
	fixtures.Write(t, filepath.Join(s.Folder, "in.csv"), frozenRows)
	line := services.Cut(t, s.Address)
	c, err := sdk.DialContext(t.Context(), beat.Tolerant(sdk.Options{
		HostPort: line.Address(), Namespace: s.Namespace, Logger: slog.New(slog.DiscardHandler),
	}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w := worker.New(c, workflows.TaskQueue, activities.New(s.Log, s.Payloads, s.Planner, "test"))
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	run := s.Begin(t, "frozen", frozenDocument)
	happen(line, func() {
		before := computed.chunks()
		require.Eventually(t, func() bool { return computed.chunks() > before+1 }, patience, time.Millisecond)
	})
	result, err := system.End(t, run)
	require.NoError(t, err)
	require.EqualValues(t, frozenRows, result.Rows)
	require.Len(t, computed.times, frozenRows/frozenChunk)
	for chunk, times := range computed.times {
		require.Equal(t, 1, times, "chunk %d", chunk)
	}
	s.Verify(t, "frozen")
}

// A laptop is closed in the middle of a run, and opened later: the run continues where it was.
func TestProcessIsSuspended(t *testing.T) {
	sample.Rarely(t)
	binary, err := programs.BuildArmed("waymark/cmd/waymark") // it notes what it does
	require.NoError(t, err)
	folder := t.TempDir()
	fixtures.Write(t, filepath.Join(folder, "in.csv"), frozenRows)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pipeline.yaml"), []byte(frozenDocument), 0o600))
	noted := filepath.Join(folder, "moments")
	command := exec.CommandContext(t.Context(), binary, "run", "pipeline.yaml")
	command.Dir, command.Env = folder, append(os.Environ(), failpoint.LogVariable+"="+noted)
	require.NoError(t, command.Start())
	database := filepath.Join(folder, ".waymark", "landscape.db")
	require.Eventually(t, func() bool { return passed(t, database) > 1 }, patience, 10*time.Millisecond)
	require.NoError(t, command.Process.Signal(syscall.SIGSTOP))
	time.Sleep(time.Minute)
	require.NoError(t, command.Process.Signal(syscall.SIGCONT))
	require.NoError(t, command.Wait())
	content, err := os.ReadFile(filepath.Join(folder, "out.jsonl"))
	require.NoError(t, err)
	require.Equal(t, frozenRows, bytes.Count(content, []byte("\n")))
	moments, err := os.ReadFile(noted)
	require.NoError(t, err)
	for _, once := range []string{"activity.Pass.begin", "activity.Write.begin"} {
		require.Equal(t, frozenRows/frozenChunk, strings.Count(string(moments), once), once)
	}
	require.Equal(t, frozenRows/frozenChunk, passed(t, database))
}

// passed returns how many chunks went through the steps, as far as a record says that may not be there yet.
func passed(t testing.TB, database string) (chunks int) {
	t.Helper()
	if _, err := os.Stat(database); err != nil {
		return 0
	}
	db, err := sql.Open("sqlite", "file:"+database+"?mode=ro")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_ = db.QueryRowContext(t.Context(), "select count(*) from passages").Scan(&chunks) // there may be no such table yet
	return chunks
}

// computing counts how often each chunk was computed, and so was to be recorded.
type computing struct {
	landscape.Driver
	mu    sync.Mutex
	times map[int64]int
}

func (c *computing) storage(t testing.TB, s *system.System) (landscape.Driver, payload.Backend) {
	t.Helper()
	driver, objects := system.OnDisk(t, s)
	c.Driver = driver
	return c, objects
}

func (c *computing) Commit(ctx context.Context, tx landscape.Tx) error {
	for _, record := range tx.Insert {
		if passage, ok := record.(landscape.PassageRecord); ok {
			c.mu.Lock()
			c.times[passage.Chunk]++
			c.mu.Unlock()
		}
	}
	return c.Driver.Commit(ctx, tx)
}

func (c *computing) chunks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.times)
}
