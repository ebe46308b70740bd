// Package tests holds the tests of the whole: the import table, accounting of bad inputs, and killed runs.
package tests

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// allowed is the architecture: which packages of the module each package may import outside of tests. A package that is
// not listed may import none.
var allowed = map[string][]string{
	"pipeline":            {"row"},
	"expr":                {"row"},
	"plugin":              {"pipeline", "row"},
	"plugin/builtin":      {"plan", "expr", "plugin", "pipeline", "row", "failpoint"},
	"plugin/postgres":     {"plugin/builtin", "plugin", "pipeline", "row", "network"},
	"plugin/parquet":      {"plugin/parquet/page", "plugin/builtin", "plugin", "pipeline", "row"},
	"plugin/object":       {"plugin/builtin", "plugin", "pipeline", "network"},
	"plugin/plugintest":   {"plugin", "pipeline", "row"},
	"plan":                {"expr", "plugin", "pipeline", "row"},
	"barrier":             {"plan", "expr", "plugin", "pipeline", "row"},
	"engine":              {"barrier", "plan", "expr", "plugin", "pipeline", "row"},
	"firsts":              {},
	"payload/fsstore":     {"payload", "failpoint"},
	"payload/memstore":    {"payload"},
	"payload/s3store":     {"payload"},
	"payload/cache":       {"payload"},
	"payload/payloadtest": {"payload"},
	"settings":            {"pipeline"},
	"storage":             {"landscape", "landscape/pgstore", "payload", "payload/cache", "payload/fsstore", "payload/s3store"},
	"telemetry":           {"activities/resumepoint", "activities"},
	"version":             {"failpoint"},
	"worker/daemon": {
		"worker", "activities", "workflows", "cluster", "codec", "landscape", "payload", "recovery", "settings", "storage", "telemetry",
	},
	"cmd/waymark-worker":      {"worker/daemon", "program", "settings", "version"},
	"landscape":               {"plugin", "pipeline"},
	"landscape/sweep":         {"landscape"},
	"landscape/sqlitestore":   {"landscape", "landscape/sweep", "pipeline", "plugin", "failpoint", "sqlitefile"},
	"embedded":                {"sqlitefile"},
	"landscape/pgstore":       {"landscape", "landscape/sweep"},
	"landscape/memdriver":     {"landscape", "landscape/sweep", "pipeline", "plugin"},
	"landscape/landscapetest": {"landscape", "landscape/sweep", "pipeline", "plugin"},
	"activities/recompute":    {"barrier", "engine", "firsts", "landscape", "payload", "plan", "plugin", "pipeline", "row"},
	"activities/resumepoint":  {"engine", "landscape", "plan", "plugin"},
	"activities":              {"activities/recompute", "activities/resumepoint", "engine", "barrier", "firsts", "landscape", "payload", "plan", "plugin", "pipeline", "row", "failpoint"},
	"workflows":               {"activities/resumepoint", "activities", "plugin", "pipeline"},
	"recovery":                {"activities/resumepoint", "workflows", "activities", "cluster", "landscape", "plugin", "pipeline"},
	"worker":                  {"workflows", "activities", "plan", "plugin", "plugin/builtin", "plugin/object", "plugin/parquet", "plugin/postgres", "pipeline"},
	"audit":                   {"activities/recompute", "activities/resumepoint", "engine", "barrier", "firsts", "landscape", "landscape/sweep", "payload", "plan", "expr", "plugin", "pipeline", "row"},
	"client":                  {"activities", "landscape", "pipeline", "plan", "plugin", "workflows"},
	"cmd/waymark": {
		"client", "activities/recompute",
		"audit", "worker", "workflows", "activities", "plan", "pipeline", "plugin", "row", "landscape", "landscape/sqlitestore",
		"landscape/pgstore",
		"payload", "payload/fsstore", "program", "settings", "sqlitefile", "storage", "version", "worker/daemon", "embedded", "cluster", "codec", "recovery", "failpoint", "lab",
	},
	"lab": {"landscape", "landscape/sqlitestore", "payload", "payload/fsstore", "pipeline"},
	"tests/system": {
		"activities/recompute",
		"audit", "worker", "workflows", "activities", "landscape", "landscape/sqlitestore", "payload", "payload/fsstore", "embedded", "tests/storages",
	},
	"tests/cluster/temporal": {"embedded"},
	"tests/bench":            {"embedded", "workflows"},
	"tests/graphs":           {"expr", "pipeline", "row"},
	"tests/zombies/worker": {
		"worker", "workflows", "activities", "landscape", "landscape/sqlitestore", "payload", "payload/fsstore",
	},
	"tests/started":   {"activities"},
	"tests/held":      {},
	"tests/programs":  {},
	"tests/inprocess": {"activities/recompute", "tests/started", "worker", "workflows", "activities", "plan", "plugin", "landscape", "payload", "tests/storages"},
	"tests/storages": {
		"landscape", "landscape/pgstore", "landscape/sqlitestore",
		"payload", "payload/cache", "payload/fsstore", "payload/memstore", "payload/s3store", "storage", "tests/services",
	},
}

// TestImports holds every package against the table, and the table against the packages that there are.
func TestImports(t *testing.T) {
	found := map[string]bool{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" {
			return fs.SkipDir
		}
		pkg, err := build.ImportDir(filepath.Join("..", path), 0)
		if _, none := errors.AsType[*build.NoGoError](err); none {
			return nil
		}
		require.NoError(t, err)
		found[path] = true
		for _, imported := range pkg.Imports {
			if inside, ours := strings.CutPrefix(imported, "waymark/"); ours {
				require.Contains(t, allowed[path], inside, "%s must not import %s; see ARCHITECTURE.md", path, inside)
			}
			require.NotContains(t, imported, "cockroachdb", "%s: pebble's file system is for tests alone", path)
		}
		return nil
	})
	require.NoError(t, err)
	for path := range allowed {
		require.True(t, found[path], "the table lists %s, which is not there", path)
	}
}

// TestOnlyCommandsLinkTheServer keeps Temporal's server out of everything that a lean worker would link.
func TestOnlyCommandsLinkTheServer(t *testing.T) {
	for path, imports := range allowed {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "tests/") {
			continue
		}
		require.NotContains(t, imports, "embedded", "%s", path)
	}
}

// TestAuditDoesNotLinkTemporal keeps the runtime of whoever made a record out of what checks it.
func TestAuditDoesNotLinkTemporal(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "waymark/audit").Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "go.temporal.io/")
}
