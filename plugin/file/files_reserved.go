package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ownReason is why no document reads or writes what is reserved. It does not say what is there.
const ownReason = "belongs to Waymark itself, as do its record, settings, secrets, keys and the documents that it " +
	"serves, which no document reads or writes: choose another path"

// reserved are files and folders that no document reads or writes.
type reserved struct {
	paths []string // absolute and clean; each also with all symbolic links followed
	// things are what is there: it has other names as well, where upper and lower case are the same, or a folder is
	// mounted twice. folders are those of them that are folders.
	things  []fs.FileInfo
	folders []string
}

// Reserve keeps documents away from files and folders, and all that is in these: from the record, and from what
// the process reads itself. They need not be there yet. Call it before the Root is used.
func (r *Root) Reserve(paths ...string) error {
	for _, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		r.reserved.paths = append(r.reserved.paths, absolute, Followed(absolute))
		info, err := os.Stat(absolute)
		if err != nil {
			continue // nothing is there yet
		}
		r.reserved.things = append(r.reserved.things, info)
		if info.IsDir() {
			r.reserved.folders = append(r.reserved.folders, absolute)
		}
	}
	return nil
}

// Followed returns an absolute path with all symbolic links followed, as far as there is anything.
func Followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return real
	}
	return filepath.Join(Followed(filepath.Dir(path)), filepath.Base(path))
}

// has reports whether a file or folder is reserved, whatever its name is. What has several names, hard links,
// is compared with the files of the folders that are reserved, too: two folders deep, for payloads are many.
func (r reserved) has(info fs.FileInfo) bool {
	if slices.ContainsFunc(r.things, func(thing fs.FileInfo) bool { return os.SameFile(thing, info) }) {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink < 2 {
		return false
	}
	in := func(folder string) bool { return holds(folder, info) }
	return slices.ContainsFunc(r.folders, func(folder string) bool {
		return in(folder) || slices.ContainsFunc(foldersIn(folder), in)
	})
}

func foldersIn(folder string) (below []string) {
	for _, entry := range entriesOf(folder) {
		if entry.IsDir() {
			below = append(below, filepath.Join(folder, entry.Name()))
		}
	}
	return below
}

// holds reports whether one of the names in a folder is that of the file.
func holds(folder string, info fs.FileInfo) bool {
	return slices.ContainsFunc(entriesOf(folder), func(entry fs.DirEntry) bool {
		found, err := entry.Info()
		return err == nil && os.SameFile(found, info)
	})
}

// Owns reports whether an absolute path, or where it leads, is nothing that documents read or write, though it
// may lie in one of the folders.
func (r *Root) Owns(path string) bool {
	real := Followed(path)
	for _, f := range r.folders {
		for in, path := range map[string]string{f.path: path, f.real: real} {
			name, err := filepath.Rel(in, path)
			if err == nil && filepath.IsLocal(name) && r.checkReserved(f, name) != nil {
				return true
			}
		}
	}
	info, err := os.Stat(real)
	return r.owns(filepath.Clean(path)) || r.owns(real) || err == nil && r.reserved.has(info)
}

// owns reports whether a clean absolute path is reserved.
func (r *Root) owns(path string) bool {
	in := func(reserved string) bool { return r.within(path, reserved) }
	return slices.ContainsFunc(r.reserved.paths, in) || r.confined.owns(path)
}

// isReserved reports whether a name in one of the folders is reserved.
func (r *Root) isReserved(root *os.Root, name string) bool {
	at := slices.IndexFunc(r.folders, func(f folder) bool { return f.root == root })
	return at >= 0 && r.checkReserved(r.folders[at], name) != nil
}

// checkReserved fails if name in the folder is reserved, or lies in what is. On the way to the folder there may
// be symbolic links; below it there are none, or name is where they led.
func (r *Root) checkReserved(f folder, name string) error {
	for _, path := range []string{filepath.Join(f.path, name), filepath.Join(f.real, name)} {
		if r.owns(path) {
			return &DeniedError{path, ownReason}
		}
	}
	return r.checkHidden(f, name)
}

// checkAround fails if what is reserved lies in name in the folder: an output that is a folder takes the place
// of all in it.
func (r *Root) checkAround(f folder, name string) error {
	for _, path := range []string{filepath.Join(f.path, name), filepath.Join(f.real, name)} {
		if slices.ContainsFunc(r.reserved.paths, func(reserved string) bool { return r.within(reserved, path) }) {
			return &DeniedError{path, ownReason}
		}
	}
	return nil
}

// within reports whether a clean path is folder, or lies in it. To documents of others upper and lower case are
// the same: they are, on some disks.
func (r *Root) within(path, folder string) bool {
	if r.confined != nil {
		path, folder = strings.ToLower(path), strings.ToLower(folder)
	}
	return within(path, folder)
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
