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
	"pipeline":        {"pipeline/calendar", "pipeline/row"},
	"pipeline/amount": {"pipeline/row"},
	"pipeline/expr":   {"pipeline", "pipeline/row"},
	"pipeline/schema": {"pipeline/row"},
	"plugin":          {"pipeline", "pipeline/row"},
	"plugin/file": {
		"plugin", "pipeline", "pipeline/row", "internal/disk", "internal/failpoint", "internal/text",
	},
	"plugin/file/filetest": {"plugin", "pipeline", "pipeline/expr", "pipeline/row"},
	"plugin/csv":           {"plugin/file", "plugin", "pipeline", "pipeline/row", "internal/text"},
	"plugin/jsonl":         {"plugin/file", "plugin", "pipeline", "pipeline/row"},
	"plugin/lookup":        {"plugin/csv", "plugin/file", "plugin/jsonl", "plugin", "pipeline", "pipeline/row"},
	"plugin/postgres/fit":  {"pipeline/row"},
	"plugin/postgres": {
		"plugin/postgres/fit",
		"internal/failpoint", "internal/silent", "plugin/jsonl", "plugin/webhook", "plugin", "pipeline", "pipeline/row",
		"plugin/egress",
	},
	"plugin/parquet": {
		"internal/defect", "internal/text",
		"plugin/parquet/page", "plugin/file", "plugin/jsonl", "plugin", "pipeline", "pipeline/row",
	},
	"plugin/object":     {"internal/defect", "plugin/file", "plugin", "pipeline", "plugin/egress"},
	"plugin/webhook":    {"plugin", "plugin/file", "plugin/jsonl", "pipeline"},
	"plugin/plugintest": {"plugin", "pipeline", "pipeline/row"},
	"engine/plan":       {"pipeline/expr", "plugin", "pipeline", "pipeline/row", "pipeline/schema"},
	"engine/barrier":    {"engine/plan", "internal/text", "pipeline/expr", "plugin", "pipeline", "pipeline/row"},
	"engine": {
		"engine/barrier", "engine/plan", "internal/processors", "pipeline/amount", "pipeline/expr", "plugin",
		"pipeline", "pipeline/row",
		"pipeline/schema",
	},
	"engine/firsts":          {},
	"payload/fsstore":        {"payload", "internal/disk", "internal/failpoint"},
	"internal/disk/disktest": {"internal/disk"},
	"payload/memstore":       {"payload"},
	"payload/s3store":        {"internal/defect", "payload"},
	"payload/cache":          {"payload"},
	"payload/payloadtest":    {"payload"},
	"internal/settings":      {"pipeline"},
	"worker/storage": {
		"audit/archive", "internal/failpoint", "landscape", "landscape/inhand", "landscape/pgstore", "payload",
		"payload/cache", "payload/fsstore", "payload/s3store",
	},
	"worker/telemetry": {
		"internal/defect", "activities/resumepoint", "activities", "audit/evidence", "landscape", "pipeline", "worker/spans",
	},
	"worker/secrets":          {"engine/plan", "plugin/postgres"},
	"worker/delivery":         {"internal/defect", "audit/interop", "landscape", "plugin/egress"},
	"internal/version":        {"internal/failpoint"},
	"internal/defect":         {"internal/failpoint"},
	"internal/processors":     {"internal/defect"},
	"internal/temporal/codec": {"internal/defect"},
	"internal/temporal/webui": {"internal/defect"},
	"worker/daemon": {
		"internal/connections", "internal/defect",
		"audit/retain", "engine/plan", "plugin/file",
		"worker", "activities", "audit", "audit/evidence", "workflows", "internal/temporal/belonging",
		"internal/temporal/cluster", "internal/temporal/codec", "landscape", "payload", "workflows/recovery", "workflows/slots",
		"workflows/triggers", "internal/settings", "worker/delivery", "worker/runlog", "worker/secrets", "worker/spans", "worker/storage",
		"worker/telemetry",
	},
	"worker/spans":  {"internal/defect"},
	"worker/runlog": {"activities", "internal/defect", "landscape"},
	"cmd/waymark-worker": {
		"internal/defect", "worker/daemon", "internal/program", "internal/settings", "internal/version",
	},
	"landscape": {
		"landscape/admit", "landscape/messages", "plugin", "pipeline", "pipeline/amount", "pipeline/calendar",
		"landscape/seal",
	},
	"landscape/history": {"internal/strictjson", "landscape", "pipeline/row"},
	"audit/evidence": {
		"audit/evidence/cosign", "audit/evidence/keys", "landscape/persons", "audit/evidence/trust",
		"internal/failpoint", "internal/strictjson", "landscape", "payload/s3store",
	},
	"audit/evidence/cosign":  {},
	"audit/evidence/keys":    {"audit/evidence/cosign", "internal/sshagent"},
	"landscape/spent":        {"landscape", "pipeline"},
	"landscape/persons":      {"internal/sshagent", "internal/strictjson", "landscape", "pipeline"},
	"audit/evidence/trust":   {"audit/evidence/cosign"},
	"audit/evidence/witness": {"audit/evidence/cosign", "audit/evidence/keys", "audit/evidence/trust"},
	"audit/compare":          {"internal/defect", "audit", "landscape", "pipeline", "pipeline/schema"},
	"audit/interop":          {"landscape", "pipeline", "pipeline/schema", "plugin", "plugin/parquet"},
	"audit/evidence/bundle": {
		"audit/evidence", "audit/evidence/keys", "landscape/persons", "internal/text", "audit/evidence/strictzip",
		"audit/evidence/trust", "internal/strictjson", "landscape", "landscape/history", "landscape/sweep",
		"payload", "pipeline", "pipeline/schema", "plugin",
	},
	"audit/archive": {
		"audit/evidence/bundle", "audit/evidence/keys", "audit/evidence/trust", "internal/failpoint", "landscape",
		"payload/s3store",
	},
	"audit/dossier": {
		"activities", "audit", "audit/evidence/rowproof", "internal/text", "landscape", "landscape/spent", "pipeline",
		"pipeline/schema", "plugin",
	},
	"audit/evidence/rowproof": {
		"audit/evidence", "audit/evidence/trust", "internal/strictjson", "landscape", "landscape/seal",
	},
	"audit/evidence/strictzip": {},
	"audit/retain": {
		"activities/recompute", "internal/failpoint", "internal/text", "landscape", "payload", "pipeline", "plugin",
	},
	"landscape/inhand":  {"internal/defect", "landscape"},
	"landscape/seal":    {"pipeline/row"},
	"landscape/sweep":   {"internal/defect", "internal/processors", "landscape"},
	"landscape/rowview": {"landscape", "pipeline"},
	"landscape/sqlitestore": {
		"internal/defect", "landscape", "landscape/migration", "landscape/rowview", "landscape/sweep", "pipeline",
		"plugin", "internal/failpoint", "internal/processors", "internal/sqlitefile",
	},
	"internal/temporal/cluster": {"internal/temporal/beat"},
	"internal/temporal/embedded": {
		"internal/defect", "internal/freeport", "internal/processors", "internal/sqlitefile", "internal/temporal/beat",
	},
	"landscape/migration": {},
	"landscape/pgstore": {
		"internal/defect", "internal/silent", "landscape", "landscape/migration", "landscape/rowview", "landscape/sweep",
	},
	"landscape/landscapetest": {
		"landscape", "landscape/admit", "landscape/rowview", "landscape/sweep", "pipeline", "pipeline/amount",
		"plugin", "landscape/seal",
	},
	"activities/bundle": {"payload"},
	"activities/recompute": {
		"landscape/persons", "engine/barrier", "engine", "engine/firsts", "landscape", "payload", "engine/plan",
		"plugin", "pipeline", "pipeline/expr", "pipeline/row",
		"pipeline/schema",
	},
	"activities/resumepoint": {"engine", "landscape", "engine/plan", "plugin"},
	"activities": {
		"internal/defect", "activities/bundle", "activities/recompute", "activities/resumepoint", "engine",
		"engine/barrier", "engine/firsts", "landscape", "landscape/admit", "payload", "engine/plan", "plugin",
		"pipeline", "pipeline/calendar", "pipeline/row", "internal/failpoint", "internal/processors",
		"internal/temporal/attributes", "landscape/inhand", "landscape/seal",
	},
	"workflows": {
		"activities/resumepoint", "activities", "internal/failpoint", "internal/temporal/attributes",
		"internal/temporal/belonging", "internal/text", "landscape", "plugin", "pipeline",
	},
	"workflows/recovery": {
		"activities/resumepoint", "workflows", "activities", "internal/temporal/cluster", "landscape", "plugin",
		"pipeline",
	},
	"workflows/slots": {
		"internal/defect",
		"activities", "activities/bundle", "internal/failpoint", "internal/temporal/cluster", "landscape", "payload",
		"pipeline", "pipeline/calendar", "workflows", "workflows/recovery",
	},
	"workflows/triggers": {
		"internal/defect",
		"activities", "activities/recompute", "engine/plan", "internal/failpoint", "internal/temporal/cluster",
		"landscape", "payload", "pipeline", "plugin", "plugin/webhook", "workflows", "workflows/slots",
	},
	"worker": {
		"audit/retain",
		"internal/defect",
		"worker/formats", "worker/secrets", "plugin/egress", "workflows", "workflows/slots", "activities",
		"activities/recompute", "engine/plan",
		"internal/processors",
		"plugin/file", "plugin/lookup", "plugin/object", "plugin/postgres", "pipeline",
	},
	"worker/formats": {
		"plugin/egress", "plugin", "plugin/csv", "plugin/file", "plugin/jsonl", "plugin/lookup", "plugin/parquet",
		"plugin/postgres",
		"plugin/webhook", "pipeline",
	},
	"audit": {
		"internal/defect", "internal/text",
		"landscape/persons", "landscape/seal", "activities/recompute", "activities/resumepoint", "engine",
		"engine/barrier", "engine/firsts", "internal/processors", "landscape", "landscape/sweep", "payload",
		"engine/plan", "pipeline/expr",
		"plugin", "pipeline", "pipeline/row",
	},
	"client": {
		"internal/defect",
		"activities", "activities/bundle", "activities/recompute", "audit", "audit/archive", "audit/compare",
		"audit/evidence", "landscape/persons", "engine/plan", "internal/failpoint", "internal/sqlitefile",
		"internal/temporal/belonging", "internal/temporal/cluster", "internal/temporal/codec", "landscape",
		"landscape/admit", "landscape/history", "landscape/spent", "payload", "pipeline", "pipeline/calendar", "plugin",
		"plugin/file", "plugin/webhook", "client/signature",
		"audit/retain", "worker", "workflows", "workflows/recovery", "workflows/slots", "workflows/triggers",
		"pipeline/schema",
	},
	"client/signature": {"pipeline"},
	"serve/api": {
		"internal/connections", "internal/defect", "internal/processors",
		"activities", "audit", "audit/compare", "audit/evidence/bundle", "client", "client/local", "client/remote",
		"client/signature", "internal/text", "landscape", "pipeline", "serve/oidc", "serve/ui", "workflows",
	},
	"serve/oidc": {"landscape"},
	"serve/ui": {
		"audit", "audit/compare", "client", "client/remote", "internal/text", "landscape", "pipeline", "serve/ui/draw",
	},
	"client/remote": {
		"internal/defect", "activities", "audit", "audit/compare", "client", "landscape", "landscape/history",
	},
	"client/local": {
		"audit/retain",
		"internal/connections", "internal/defect",
		"activities", "activities/recompute", "pipeline", "audit", "client", "audit/archive", "audit/dossier",
		"audit/evidence", "audit/evidence/bundle", "audit/evidence/keys", "landscape/persons",
		"audit/evidence/rowproof", "audit/evidence/trust", "audit/evidence/witness", "audit/interop",
		"internal/memory", "internal/sqlitefile", "internal/temporal/attributes", "internal/temporal/cluster",
		"internal/temporal/embedded", "internal/temporal/webui", "internal/text",
		"internal/version", "worker/daemon", "landscape", "landscape/inhand", "landscape/pgstore",
		"landscape/sqlitestore", "payload",
		"worker", "worker/delivery", "worker/runlog", "worker/spans", "worker/storage", "workflows",
	},
	"landscape/persons/personstest": {"landscape/persons", "landscape"},
	"audit/evidence/witness/witnesstest": {
		"audit/evidence/keys", "audit/evidence/trust", "audit/evidence/witness",
	},
	"cmd/waymark": {
		"audit/retain",
		"internal/defect",
		"activities", "serve/api", "serve/oidc", "audit", "audit/compare", "client", "client/local",
		"client/remote", "engine/plan", "audit/evidence", "audit/evidence/bundle", "landscape/persons",
		"audit/evidence/rowproof", "audit/evidence/trust", "audit/interop", "internal/memory", "internal/program",
		"internal/settings", "internal/text", "internal/version",
		"landscape", "landscape/history", "landscape/spent", "payload", "pipeline", "pipeline/calendar", "plugin",
		"worker",
		"worker/daemon", "worker/storage", "workflows",
	},
	"tests/crash/lab/cmd": {"internal/program", "tests/crash/lab"},
	"tests/crash/lab": {
		"landscape", "landscape/landscapetest", "landscape/sqlitestore", "payload", "payload/fsstore", "pipeline",
	},
	"tests/system": {
		"activities/recompute", "client", "client/local",
		"audit", "worker", "workflows", "activities", "landscape", "landscape/sqlitestore", "payload",
		"payload/fsstore", "internal/temporal/attributes", "internal/temporal/beat", "internal/temporal/embedded",
		"tests/blank", "tests/storages",
	},
	"tests/bench/readers": {
		"client", "landscape", "landscape/sqlitestore", "tests/services",
	},
	"tests/bench":        {"internal/temporal/embedded", "workflows"},
	"tests/bench/load":   {"tests/bench/served", "tests/quota"},
	"tests/bench/served": {"tests/services"},
	"tests/bench/starts": {"tests/bench/served"},
	"tests/graphs":       {"pipeline/expr", "pipeline", "pipeline/row"},
	"tests/started":      {"activities"},
	"tests/held":         {},
	"tests/issuer":       {"landscape"},
	"tests/fixtures":     {},
	"tests/manual":       {},
	"tests/programs":     {},
	"tests/quota":        {},
	"tests/sample":       {},
	"tests/mutants":      {"tests/programs"},
	"tests/night":        {"tests/programs"},
	"tests/blank":        {"landscape", "landscape/sqlitestore"},
	"tests/picture":      {"tests/programs"},
	"tests/browser":      {"tests/services"},
	"tests/inprocess": {
		"activities/recompute", "tests/started", "worker", "workflows", "activities", "engine/plan", "plugin",
		"landscape", "payload", "tests/storages",
	},
	"tests/serving": {
		"client", "client/local", "internal/temporal/embedded", "landscape",
		"landscape/sqlitestore", "pipeline", "workflows", "tests/fixtures", "tests/held", "tests/issuer",
		"tests/manual", "tests/programs", "tests/services", "tests/system",
	},

	"tests/services":         {"internal/freeport"},
	"tests/services/buckets": {"tests/services"},
	"tests/services/pg":      {"tests/services"},
	"tests/storages": {
		"landscape", "landscape/landscapetest", "landscape/pgstore", "landscape/sqlitestore",
		"payload", "payload/cache", "payload/fsstore", "payload/memstore", "payload/s3store", "worker/storage",
		"tests/blank", "tests/services/buckets", "tests/services/pg",
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
		}
		return nil
	})
	require.NoError(t, err)
	for path := range allowed {
		require.True(t, found[path], "the table lists %s, which is not there", path)
	}
}

// floors are the folders at the top, from the lowest. A package imports only its own folder and lower floors. docs, examples and tests
// stand beside them.
var floors = [][]string{
	{"pipeline"}, {"internal"}, {"payload", "plugin"}, {"landscape", "engine"}, {"activities"}, {"workflows", "audit"}, {"worker"}, {"client"}, {"serve"}, {"cmd"},
}

// TestNoArrowRunsUp holds the table against the floors. Two folders of one floor do not import each other.
func TestNoArrowRunsUp(t *testing.T) {
	floorOf := map[string]int{}
	for floor, folders := range floors {
		for _, folder := range folders {
			floorOf[folder] = floor
		}
	}
	for path, imports := range allowed {
		top, _, _ := strings.Cut(path, "/")
		floor, inside := floorOf[top]
		if !inside {
			require.Equal(t, "tests", top, "%s is on no floor", path)
			continue
		}
		for _, imported := range imports {
			below, _, _ := strings.Cut(imported, "/")
			other, inside := floorOf[below]
			require.Truef(t, inside && (other < floor || below == top), "%s imports %s: an arrow runs up", path, imported)
		}
	}
}

// TestOnlyCommandsLinkTheServer keeps Temporal's server out of everything that a lean worker, or a client of a cluster, would link.
func TestOnlyCommandsLinkTheServer(t *testing.T) {
	for path, imports := range allowed {
		if strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "tests/") || path == "client/local" {
			continue
		}
		require.NotContains(t, imports, "internal/temporal/embedded", "%s", path)
	}
}

// TestAuditDoesNotLinkTemporal keeps the runtime of whoever made a record out of what checks it.
func TestAuditDoesNotLinkTemporal(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "waymark/audit").Output()
	require.NoError(t, err)
	require.NotContains(t, string(out), "go.temporal.io/")
}
