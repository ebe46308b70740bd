package file

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestNoDocumentReachesTheRecord, by whatever name, to read or to write, though its folder holds the record.
func TestNoDocumentReachesTheRecord(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(folder, link))
	for _, name := range []string{"state", "state/payloads", "data"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	for _, name := range []string{"state/landscape.db", "state/payloads/object", "state/payloads.csv", "data/a.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("a\n1\n"), 0o600))
	}
	for _, dir := range []string{folder, link} {
		for _, reserved := range []string{folder, link} {
			root, err := NewRoot(dir)
			require.NoError(t, err)
			require.NoError(t, root.Reserve(filepath.Join(reserved, "state/landscape.db"), filepath.Join(reserved, "state/payloads"), filepath.Join(reserved, "gone/later")))
			var refused *DeniedError
			for _, path := range []string{"state/landscape.db", "state/payloads/object", "./state//payloads/object", filepath.Join(dir, "state/landscape.db"), "state/payloads"} {
				_, _, err := root.Open(path)
				require.ErrorAs(t, err, &refused, path)
				require.Contains(t, refused.Reason, "which no document reads or writes: choose another path")
			}
			files, err := rootStore{root}.List(t.Context(), "state/*/o*")
			require.NoError(t, err)
			require.Empty(t, files, "a pattern does not tell what is there")
			for _, path := range []string{"state/payloads/out", "state/landscape.db", "state", "gone/later/out", "gone"} {
				_, err := newLocation(root, pipeline.FileTarget{Path: path, Overwrite: true, Parts: true})
				require.ErrorAs(t, err, &refused, path)
			}
			require.NoError(t, os.RemoveAll(filepath.Join(folder, "data/link")))
			require.NoError(t, os.Symlink(filepath.Join(folder, "state"), filepath.Join(folder, "data/link")))
			root.FollowLinks()
			_, _, err = root.Open("data/link/landscape.db")
			require.ErrorContains(t, err, "which no document reads or writes", "by a link")
			file, _, err := root.Open("state/payloads.csv")
			require.NoError(t, err, "another name that begins alike")
			require.NoError(t, file.Close())
			_, err = newLocation(root, pipeline.FileTarget{Path: "data/out"})
			require.NoError(t, err)
			require.NoError(t, root.Close())
		}
	}
}
