package client

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// TestStaged: the staging of files and folders is found next to their places with its size, of runs that are not complete.
func TestStaged(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, bytes int) {
		t.Helper()
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, make([]byte, bytes), 0o600))
	}
	write(".one.csv.r1.partial", 12)
	write(".many.r1.partial/.header", 3)
	write(".many.r1.partial/part-00000.csv", 40)
	write(".one.csv.r2.partial", 99)
	plan := `{"nodes":[{"name":"in","kind":"source"},{"name":"one","location":"` + folder + `/one.csv"},
		{"name":"many","location":"` + folder + `/many"},{"name":"none","location":"` + folder + `/none.csv"}]}`
	for status, want := range map[pipeline.RunStatus][]Staged{
		pipeline.Failed: {{"one", folder + "/.one.csv.r1.partial", 12}, {"many", folder + "/.many.r1.partial", 43}}, pipeline.Completed: nil,
	} {
		found, err := StagedOf(landscape.Run{RunHead: landscape.RunHead{ID: "r1", Status: status}, Plan: plan})
		require.NoError(t, err)
		require.Equal(t, want, found, status)
	}
	_, err := StagedOf(landscape.Run{RunHead: landscape.RunHead{ID: "r1", Status: pipeline.Failed}, Plan: "{"})
	require.ErrorContains(t, err, "the plan on record")
}
