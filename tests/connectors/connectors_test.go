// Package connectors_test runs whole pipelines whose sources, sinks or record are not files and SQLite on this host:
// Parquet files, buckets, web servers, tables of Postgres, and every storage that a record may be on. Beside them it
// does to a record what its owner could do to it, and requires that somebody notices (attacks).
package connectors_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities/recompute"
	"waymark/tests/services"
	"waymark/tests/system"
	"waymark/worker"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// example is the folder of the documents that are run.
const example = "../../examples/bird-strikes"

// strikes returns the header and one of so many rows of the example's data, and how many rows these are.
func strikes(t *testing.T, of int) (data string, rows int64) {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(example, "data/birdstrikes.csv"))
	require.NoError(t, err)
	var some strings.Builder
	for nr, line := range strings.Split(strings.TrimSpace(string(whole)), "\n") {
		if nr%of == 0 {
			some.WriteString(line + "\n")
			rows++
		}
	}
	return some.String(), rows - 1
}

// start starts a System whose operator allows documents to reach this host.
func start(t *testing.T) *system.System {
	t.Helper()
	planner := worker.Planner{FingerprintKey: []byte("a key for tests")}
	require.NoError(t, planner.AllowNetworks.Set("127.0.0.0/8,::1"))
	return system.StartWith(t, system.Options{
		Planner: func(recompute.Planner) recompute.Planner { return planner }, Members: []worker.Member{{Files: "here"}}, Files: "here",
	})
}

// requireNowhere requires that no file below the folder holds one of the secrets: the record, the payloads, Temporal's histories.
func requireNowhere(t *testing.T, folder string, secrets ...string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		for nr, secret := range secrets {
			require.False(t, bytes.Contains(content, []byte(secret)), "%s holds secret %d", path, nr)
		}
		return err
	}))
	require.Greater(t, files, 5)
}
