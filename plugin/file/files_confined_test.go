package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// served is a folder as a server has it: documents, secrets and data are in it. Its parts are lines of files,
// which have their names in them.
func served(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{
		"orders.yaml", "other/pipeline.yaml", "other/in.csv", "in.csv", "secrets/HOOK", "secrets/orders/KEY",
		"waymark.settings.yaml", ".git/config", "backup.sh", "data/a.csv",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(name+"\n"), 0o600))
	}
	return folder
}

func confined(t *testing.T, folder string, write ...string) *Root {
	t.Helper()
	root, err := NewRoot(folder, write...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	require.NoError(t, root.Reserve(filepath.Join(folder, "secrets"), filepath.Join(folder, "waymark.settings.yaml"),
		filepath.Join(folder, "later.key")))
	require.NoError(t, root.Confine(Confinement{
		Served: folder, Beside: []string{filepath.Join(folder, "out")}, Write: write,
	}))
	return root
}

func TestDocumentsOfOthersDoNotReadWhatIsTheServersOwn(t *testing.T) {
	folder := served(t)
	require.NoError(t, os.Link(filepath.Join(folder, "secrets/HOOK"), filepath.Join(folder, "data/linked.csv")))
	require.NoError(t, os.Link(filepath.Join(folder, "secrets/orders/KEY"), filepath.Join(folder, "data/deep.csv")))
	require.NoError(t, os.Link(filepath.Join(folder, "orders.yaml"), filepath.Join(folder, "data/orders.csv")))
	require.NoError(t, os.Symlink("../secrets", filepath.Join(folder, "data/link")))
	root := confined(t, folder)
	for _, path := range []string{
		"secrets/HOOK", "secrets/orders/KEY", "secrets", "SECRETS/HOOK", "./secrets//HOOK",
		filepath.Join(folder, "secrets/HOOK"), "data/linked.csv", "data/deep.csv",
		"data/link/HOOK", "waymark.settings.yaml", "Waymark.Settings.YAML", "later.key", "orders.yaml", "ORDERS.YAML",
		"new.yaml", "data/orders.csv", "other/pipeline.yaml", "other/Pipeline.yaml", "new/pipeline.yaml",
		".git/config", "data/.hidden", "data/../secrets/HOOK",
	} {
		_, _, err := root.Open(path)
		require.ErrorAs(t, err, new(*DeniedError), path)
		require.NotContains(t, err.Error(), "HOOK\n")
	}
	for _, path := range []string{"in.csv", "other/in.csv", "data/a.csv", "backup.sh"} {
		file, _, err := root.Open(path)
		require.NoError(t, err, path)
		require.NoError(t, file.Close())
	}
	for pattern, want := range map[string]string{
		"*": "backup.sh in.csv other data", "*/*": "data/a.csv data/link other/in.csv", "s*/*": "", "*/H*": "",
		"*/*/K*": "", "[.]git/*": "", "*.y*": "", "*/pipeline.*": "", "sec*": "",
	} {
		found, _, err := root.Glob(pattern)
		require.NoError(t, err, pattern)
		require.ElementsMatch(t, strings.Fields(want), found, pattern)
	}
	for _, pattern := range []string{"secrets/*", "*.yaml", "*/pipeline.yaml", ".g*/config"} {
		_, _, err := root.Glob(pattern)
		require.ErrorAs(t, err, new(*DeniedError), pattern)
	}
	for _, path := range []string{
		"secrets/HOOK", "waymark.settings.yaml", ".git/config", "data/link/HOOK", "data/linked.csv",
	} {
		require.True(t, root.Owns(filepath.Join(folder, path)), path)
	}
	require.False(t, root.Owns(filepath.Join(folder, "data/a.csv")))
}

func TestDocumentsOfOthersWriteWhereTheyMay(t *testing.T) {
	folder, allowed, elsewhere := served(t), t.TempDir(), t.TempDir()
	root := confined(t, folder, allowed)
	for path, says := range map[string]string{
		"clean.csv": "write to out/clean.csv, " +
			"or to a folder that its operator allows with --allow-write",
		"data/clean.csv": "write to out/data/clean.csv, " +
			"or its operator allows a folder with --allow-write " + folder + "/data",
		"out":                 "--allow-write",
		"OUT/clean.csv":       "--allow-write " + folder + "/OUT",
		"other/out/clean.csv": "--allow-write " + folder + "/other/out",
		"backup.sh":           "to a folder that its operator allows with --allow-write",
		filepath.Join(elsewhere, "a.csv"): "write to " + folder + "/out/a.csv, " +
			"or its operator allows a folder with --allow-write " + elsewhere,
		"/etc/cron.d/a":                     "--allow-write /etc/cron.d",
		allowed:                             "--allow-write",
		"out/../clean.csv":                  `holds ".."`,
		"waymark.settings.yaml":             ownReason,
		"secrets/MINE":                      ownReason,
		"secrets":                           ownReason,
		"orders.yaml":                       ownReason,
		"new.yaml":                          ownReason,
		"out/pipeline.yaml":                 ownReason,
		"other":                             ownReason,
		".":                                 ownReason,
		"out/.git/hooks/post-checkout":      "begins with a dot",
		filepath.Join(folder, "new.yaml"):   ownReason,
		filepath.Join(folder, ".waymark/x"): "begins with a dot",
	} {
		for _, parts := range []bool{false, true} {
			_, err := newLocation(root, pipeline.FileTarget{Path: path, Parts: parts})
			require.ErrorAs(t, err, new(*DeniedError), path)
			require.ErrorContains(t, err, says, path)
		}
		_, err := newLink(root, path)
		require.ErrorContains(t, err, says, path)
	}
	for _, path := range []string{
		"out/clean.csv", "out/a/b/clean.csv", filepath.Join(folder, "out/clean.csv"),
		filepath.Join(allowed, "clean.csv"),
	} {
		_, err := newLocation(root, pipeline.FileTarget{Path: path})
		require.NoError(t, err, path)
	}
}

// TestFoldersThatAreExchanged lets somebody put a link, or what is reserved, in the place of a folder after a
// path was looked at.
func TestFoldersThatAreExchanged(t *testing.T) {
	folder := served(t)
	root := confined(t, folder)
	at, err := newLocation(root, pipeline.FileTarget{Path: "out/new/mine.csv"})
	require.NoError(t, err)
	require.NoError(t, at.makeFolder())
	file, err := openRegular(at.disk, "out/new/mine.csv", os.O_WRONLY|os.O_CREATE)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	for name, put := range map[string]func(place string) error{
		"a link":           func(place string) error { return os.Symlink("../secrets", place) },
		"a renamed folder": func(place string) error { return os.Rename(filepath.Join(folder, "secrets"), place) },
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(filepath.Join(folder, "out/new")))
			require.NoError(t, put(filepath.Join(folder, "out/new")))
			_, _, err := root.Open("out/new/HOOK")
			require.ErrorAs(t, err, new(*DeniedError))
			_, err = openRegular(at.disk, "out/new/HOOK", os.O_WRONLY)
			require.ErrorAs(t, err, new(*DeniedError))
			for _, change := range []error{
				at.disk.Rename("out/new/HOOK", "out/new/b"), at.disk.Remove("out/new/HOOK"),
				at.disk.RemoveAll("out/new/HOOK"), at.disk.Mkdir("out/new/b", 0o700),
				at.disk.Link("out/new/HOOK", "out/new/b"), at.disk.SyncDir("out/new"),
				at.disk.Exchange("out/new/HOOK", "out/new/b"),
			} {
				require.ErrorAs(t, change, new(*DeniedError))
			}
			_, err = at.disk.Names("out/new")
			require.ErrorAs(t, err, new(*DeniedError))
			latest, err := newLink(root, "out/new/latest")
			require.NoError(t, err)
			_, err = latest.Leads(t.Context())
			require.ErrorContains(t, err, codeTargetRefused)
			content, err := fs.ReadFile(os.DirFS(folder), "out/new/HOOK")
			if name == "a renamed folder" {
				require.NoError(t, err)
				require.Equal(t, "secrets/HOOK\n", string(content))
				require.NoError(t, os.Rename(filepath.Join(folder, "out/new"), filepath.Join(folder, "secrets")))
			}
		})
	}
}

// TestNobodyIsToldToAllowWhatIsTheServersOwn: what a server would refuse to begin with is no cure, wherever the path
// of a source or a sink leads.
func TestNobodyIsToldToAllowWhatIsTheServersOwn(t *testing.T) {
	folder, etc, state, free := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(etc, "waymark.settings.yaml"), []byte("a: b\n"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(etc, "secrets", "orders"), 0o700))
	require.NoError(t, os.Symlink(etc, filepath.Join(free, "link")))
	require.NoError(t, os.Symlink(filepath.Join(etc, "waymark.settings.yaml"), filepath.Join(folder, "link.csv")))
	root, err := NewRootElsewhere("/nowhere", "a deployed pipeline has no folder", folder)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.Reserve(filepath.Join(etc, "waymark.settings.yaml"), filepath.Join(etc, "secrets"),
		filepath.Join(state, ".waymark", "landscape.db")))
	require.NoError(t, root.Confine(Confinement{}))
	for path, says := range map[string]string{
		etc + "/waymark.settings.yaml":   ownReason,
		etc + "/secrets/orders/out.csv":  ownReason,
		free + "/link/secrets/KEY":       ownReason,
		state + "/.waymark/landscape.db": ownReason,
		etc + "/out.csv":                 "server: write to a folder that its operator allows with --allow-write",
		free + "/link/out.csv":           "server: write to a folder that its operator allows with --allow-write",
		filepath.Dir(etc) + "/out.csv":   "server: write to a folder that its operator allows with --allow-write",
		state + "/out.csv":               "its operator allows a folder with --allow-write " + state,
		free + "/out.csv":                "its operator allows a folder with --allow-write " + free,
	} {
		_, err := newLocation(root, pipeline.FileTarget{Path: path})
		require.ErrorContains(t, err, says, path)
	}
	root.FollowLinks()
	for path, says := range map[string]string{
		etc + "/waymark.settings.yaml": ownReason,
		etc + "/secrets/orders/*":      ownReason,
		free + "/link/secrets/KEY":     ownReason,
		folder + "/link.csv":           ownReason,
		etc + "/in.csv":                "allow the one that it is in with --allow-path FOLDER",
	} {
		_, err := newPlainSource(pipeline.Files{Path: path}, Access{Root: root})
		if err == nil {
			_, _, err = root.Open(path)
		}
		require.ErrorContains(t, err, says, path)
	}
}

// TestNoSinkReplacesAnotherNameOfWhatIsReserved: a hard link in a folder in which documents write.
func TestNoSinkReplacesAnotherNameOfWhatIsReserved(t *testing.T) {
	folder := served(t)
	root := confined(t, folder)
	require.NoError(t, os.Mkdir(filepath.Join(folder, "out"), 0o700))
	for name, own := range map[string]string{
		"out/a.csv": "waymark.settings.yaml", "out/b.csv": "secrets/orders/KEY", "out/c.csv": "orders.yaml",
	} {
		require.NoError(t, os.Link(filepath.Join(folder, own), filepath.Join(folder, name)))
		for _, parts := range []bool{false, true} {
			_, err := newLocation(root, pipeline.FileTarget{Path: name, Overwrite: true, Parts: parts})
			require.ErrorContains(t, err, ownReason, name)
		}
	}
}
