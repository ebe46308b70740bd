package file

import (
	"io/fs"
	"path/filepath"
)

// staged is the suffix of what a run stages. Source: docs/sinks.md.
const staged = "partial"

// Staged returns what a run has staged for an output on this host, by the Location of its Place: the file or folder, and how many bytes are
// in it; there is false if it staged nothing. What cannot be looked at does not count.
func Staged(location, run string) (name string, bytes int64, there bool) {
	name = filepath.FromSlash(hiddenName(filepath.ToSlash(location), run, staged))
	_ = filepath.WalkDir(name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at does not count
		}
		there = true
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return name, bytes, there
}
