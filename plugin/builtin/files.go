// Package builtin holds the sources and sinks that need only small dependencies: CSV and JSON Lines files.
package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Root is the folders in which a document's files may be: its own folder, to which relative paths refer, and the folders
// that the operator allows. Every access goes through os.Root, so that no name, link or race leads out of them. It is
// safe for concurrent use.
type Root struct {
	folders []folder // the document's own comes first
}

type folder struct {
	path    string // absolute and clean
	root    *os.Root
	refused string // why no file may be in it, if so; then root is nil
}

// RefusedError says why a path is not one that a document may use. No retry cures it.
type RefusedError struct {
	Path   string
	Reason string // one sentence with the cure, where there is one
}

// Error returns the path, quoted, and the reason.
func (e *RefusedError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

// NewRoot opens dir, the folder of the document, and the folders of allow. All must exist. Close releases them.
func NewRoot(dir string, allow ...string) (*Root, error) {
	r := &Root{}
	for _, path := range append([]string{dir}, allow...) {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		handle, err := os.OpenRoot(absolute)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.folders = append(r.folders, folder{path: absolute, root: handle})
	}
	return r, nil
}

// NewRootElsewhere opens the folders of allow for a document whose own folder, dir, is not one of this machine, or not one that its
// operator gives to documents: paths that lie there are refused for the reason. Close releases the folders.
func NewRootElsewhere(dir, reason string, allow ...string) (*Root, error) {
	r := &Root{folders: []folder{{path: filepath.Clean(dir), refused: reason}}}
	if len(allow) == 0 {
		return r, nil
	}
	allowed, err := NewRoot(allow[0], allow[1:]...)
	if err != nil {
		return nil, err
	}
	r.folders = append(r.folders, allowed.folders...)
	return r, nil
}

// Close releases the folders. Files that are open stay open.
func (r *Root) Close() error {
	var errs []error
	for _, f := range r.folders {
		if f.root != nil {
			errs = append(errs, f.root.Close())
		}
	}
	return errors.Join(errs...)
}

// Resolve returns the folder that path lies in and its name there, which is clean and local. A relative path lies in the
// document's folder; an absolute one must lie in a folder of the Root. The error is a *RefusedError. Whether anything
// exists under the name is not looked at. The folder belongs to the Root: do not close it.
func (r *Root) Resolve(path string) (*os.Root, string, error) {
	f, name, err := r.locate(path)
	return f.root, name, err
}

// Abs returns path as a user would open it from anywhere. The error is a *RefusedError.
func (r *Root) Abs(path string) (string, error) {
	f, name, err := r.locate(path)
	return filepath.Join(f.path, name), err
}

func (r *Root) locate(path string) (folder, string, error) {
	switch {
	case path == "":
		return folder{}, "", &RefusedError{path, "is empty"}
	case strings.ContainsRune(path, 0):
		return folder{}, "", &RefusedError{path, "holds a NUL byte"}
	case hasParent(path):
		return folder{}, "", &RefusedError{path, `holds ".."; write the absolute path of a file in an allowed folder`}
	case !filepath.IsAbs(path):
		if own := r.folders[0]; own.refused != "" {
			return folder{}, "", &RefusedError{path, own.refused}
		}
		return r.folders[0], filepath.Clean(path), nil
	}
	for _, f := range r.folders {
		if name, err := filepath.Rel(f.path, path); err == nil && filepath.IsLocal(name) && f.refused == "" {
			return f, name, nil
		}
	}
	return folder{}, "", &RefusedError{path, "is outside the document's folder: allow the folder it is in with --allow-path FOLDER, or move it to the document"}
}

func hasParent(path string) bool {
	for element := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if element == ".." {
			return true
		}
	}
	return false
}

// Open opens a regular file for reading and returns it with what fstat says about it. It never blocks, and follows no
// symbolic link below the folder. The error is a *RefusedError if the path is not one that the document may read or names
// anything but a regular file, and wraps fs.ErrNotExist if there is nothing.
func (r *Root) Open(path string) (*os.File, fs.FileInfo, error) {
	before, err := r.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	root, name, err := r.Resolve(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &RefusedError{path, "was replaced while it was opened"}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// Stat describes the regular file under path without opening it. Its errors are those of Open.
func (r *Root) Stat(path string) (fs.FileInfo, error) {
	root, name, err := r.Resolve(path)
	if err != nil {
		return nil, err
	}
	for i, c := range name {
		if c == filepath.Separator {
			if err := refuseLink(root, name[:i]); err != nil {
				return nil, err
			}
		}
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &RefusedError{path, "not a regular file (" + fileType(info.Mode()) + ")"}
	}
	return info, nil
}

// refuseLink fails if name is a symbolic link.
func refuseLink(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &RefusedError{name, "is a symbolic link; name the folder that it leads to"}
	}
	return err
}

func fileType(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeDir:
		return "a folder"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}
