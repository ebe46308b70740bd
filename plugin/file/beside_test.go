package file

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

func TestAWordGoesBeforeTheExtensionOfAnOutput(t *testing.T) {
	for name, want := range map[string]string{
		"out/strikes.csv":     "out/strikes.retry-1.csv",
		"strikes.jsonl":       "strikes.retry-1.jsonl",
		"out/strikes":         "out/strikes.retry-1",
		"out/strikes/":        "out/strikes.retry-1",
		"out/v1.2":            "out/v1.2.retry-1",
		"out.d/strikes":       "out.d/strikes.retry-1",
		"out/strikes.2024.gz": "out/strikes.2024.retry-1.gz",
		"/data/strikes.csv":   "/data/strikes.retry-1.csv",
	} {
		require.Equal(t, want, besidePath(name, "retry-1"), name)
	}
}

func TestOutputsLieBesideThoseOfTheDocument(t *testing.T) {
	folder := t.TempDir()
	root, err := NewRoot(folder)
	require.NoError(t, err)
	defer func() { require.NoError(t, root.Close()) }()
	target := pipeline.FileTarget{Path: "out/a.x"}
	for word, want := range map[string]string{"": "out/a.x", "retry-2": "out/a.retry-2.x"} {
		at, err := Access{Root: root, Beside: word}.Destination("s", ".x", target)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, want), at.Location())
		require.Equal(t, "out/a.x", target.Path, "the document's own entry is as it was")
	}
}
