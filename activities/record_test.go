package activities_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// records returns everything on record, by table, but for what tells one execution from another: times, attempts, workers,
// the events of effects, and the seal, which binds these as well.
func (r *rig) records() map[string][]map[string]any {
	r.t.Helper()
	all := map[string][]map[string]any{}
	for _, table := range landscape.Tables() {
		if table.Name == "effect_events" || table.Name == "run_seals" {
			continue
		}
		err := r.driver.Read(r.t.Context(), table.Zero(), landscape.Query{}, func(record landscape.Record) bool {
			all[table.Name] = append(all[table.Name], lasting(table, record))
			return true
		})
		require.NoError(r.t, err)
	}
	for _, head := range []landscape.Record{landscape.OutboxHead{}, landscape.LogHead{}} { // which are there from the beginning
		if of := all[head.Table()]; of[0]["size"] == int64(0) {
			delete(all, head.Table())
		}
	}
	return all
}

// lasting returns the columns that are the same for every execution.
func lasting(table *landscape.Table, record landscape.Record) map[string]any {
	values, kept := table.AppendValues(nil, record), map[string]any{}
	for i, column := range table.Columns {
		salted := table.Name == "chunk_seals" && column.Name == "root" // by a key that each run makes
		if !column.First && column.Name != "fence" && !salted && !strings.HasSuffix(column.Name, "_us") {
			kept[column.Name] = values[i]
		}
	}
	return kept
}

// outputs returns the files that the sinks left, by name: published ones, and whatever else lies there.
func (r *rig) outputs() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	root := filepath.Join(r.folder, "out")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root+"/")] = string(content)
		return err
	})
	require.NoError(r.t, err)
	return files
}

// requireWhole requires that the run's record is in balance, and what its seal binds.
func (r *rig) requireWhole() {
	r.t.Helper()
	findings, err := r.log.Sweep(r.t.Context(), runID, true)
	require.NoError(r.t, err)
	require.Empty(r.t, findings)
	landscapetest.RequireSealed(r.t, r.log, runID)
}

// requireFinal requires an error that Temporal must not retry, of this type, and returns its message.
func requireFinal(t *testing.T, err error, kind string) string {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type(), "%v", err)
	require.True(t, application.NonRetryable())
	return application.Message()
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
