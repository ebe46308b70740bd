package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/tests/fixtures"
	"waymark/tests/sample"
)

const killedDocument = `name: killed
chunk: {rows: 1000}
sources:
  in:
    csv: {path: in.csv}
    schema: {fields: {id: int, amount: int, note: string}}
steps:
  - {name: band, set: {band: "row.amount > 500 ? 'high' : 'low'"}}
  - {name: triage, gate: row.band == 'high', routes: {"true": high, "false": continue}}
sinks:
  high: {csv: {path: out/high.csv, overwrite: true}}
  low: {jsonl: {path: out/low.jsonl, overwrite: true}, from: triage}
`

// kills is how many runs are killed at random moments; the crash laboratory has all of them.
const kills = 4

// killedRows is how many rows they have.
const killedRows = 15_000

// TestKilledRunsLeaveNothingTorn kills the real binary in the middle of runs and looks at what is left.
func TestKilledRunsLeaveNothingTorn(t *testing.T) {
	sample.Rarely(t)
	t.Parallel()
	binary := buildWaymark(t)
	folder := t.TempDir()
	fixtures.Write(t, filepath.Join(folder, "in.csv"), killedRows)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "pipeline.yaml"), []byte(killedDocument), 0o600))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	midway := 0
	for range kills {
		if killOne(t, binary, folder, random.Int64N(wholeBytes), "pipeline.yaml", "--run-id", fmt.Sprintf("killed-%d", time.Now().UnixNano())) {
			midway++
		}
		requireNothingTorn(t, folder)
	}
	require.Positive(t, midway, "no run was killed between its beginning and its end")
	requireStatus(t, binary, folder)
	out, err := waymark(binary, folder, "run", "pipeline.yaml", "--json")
	require.NoError(t, err, "%s", out)
	require.FileExists(t, filepath.Join(folder, "out/high.csv"))
	require.FileExists(t, filepath.Join(folder, "out/low.jsonl"))
	out, err = waymark(binary, folder, "verify", "last")
	require.NoError(t, err, "%s", out)
}

// killOne starts a run and kills it when its sinks have staged that many bytes more than the runs before left there. It
// reports whether the run was still going.
func killOne(t *testing.T, binary, folder string, staged int64, run ...string) bool {
	t.Helper()
	command := exec.Command(binary, append([]string{"run", "--quiet"}, run...)...)
	command.Dir = folder
	require.NoError(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	goal := stagedBytes(t, folder) + staged
	for stagedBytes(t, folder) < goal {
		select {
		case <-ended:
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
	require.NoError(t, command.Process.Kill())
	exit, failed := errors.AsType[*exec.ExitError](<-ended)
	return failed && exit.ExitCode() == -1
}

// stagedBytes is how much the runs so far have written to hidden staging files.
func stagedBytes(t *testing.T, folder string) int64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "out", ".*"))
	require.NoError(t, err)
	var total int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			total += info.Size()
		}
	}
	return total
}

// requireNothingTorn requires that outputs are absent or whole and that no payload is poisoned.
func requireNothingTorn(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"high.csv", "low.jsonl"} {
		content, err := os.ReadFile(filepath.Join(folder, "out", name))
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		require.Equal(t, byte('\n'), content[len(content)-1], "%s is torn", name)
		require.Equal(t, wholeLines[name], bytes.Count(content, []byte("\n")), "%s is not whole", name)
	}
	if _, err := os.Stat(filepath.Join(folder, ".waymark/payloads/objects")); err != nil {
		return // killed before there was a payload store
	}
	objects, err := fsstore.Open(filepath.Join(folder, ".waymark/payloads"))
	require.NoError(t, err)
	defer func() { require.NoError(t, objects.Close()) }()
	report, err := payload.New(objects, payload.Options{}).Scrub(context.Background(), func(problem payload.Problem) {
		t.Errorf("payload %s: %v", problem.Digest, problem.Err)
	})
	require.NoError(t, err)
	require.Zero(t, report.Corrupt)
}

// wholeLines are the lines of the whole outputs: of 1,000 amounts in turn, 499 are over 500; the CSV file has a header.
var wholeLines = map[string]int{"high.csv": killedRows/1000*499 + 1, "low.jsonl": killedRows / 1000 * 501}

// wholeBytes is a little less than the whole outputs hold.
const wholeBytes = 700_000

// requireStatus requires that every killed run is recorded and can be asked about.
func requireStatus(t *testing.T, binary, folder string) {
	t.Helper()
	out, err := waymark(binary, folder, "runs", "--json")
	require.NoError(t, err, "%s", out)
	lines := json.NewDecoder(bytes.NewReader(out))
	asked := 0
	for ; lines.More(); asked++ {
		var run struct {
			Run string `json:"run"`
		}
		require.NoError(t, lines.Decode(&run))
		out, err := waymark(binary, folder, "status", run.Run)
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), run.Run)
	}
	require.Positive(t, asked)
}

func waymark(binary, folder string, args ...string) ([]byte, error) {
	command := exec.Command(binary, args...)
	command.Dir = folder
	return command.CombinedOutput()
}
