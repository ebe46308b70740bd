// Package file holds what the sources and sinks of files have in common: where files may be, texts and how they are divided into records,
// schemas, and outputs that appear complete or not at all.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Root is the folders in which a document's files may be: its own folder, to which relative paths refer, and the folders
// that the operator allows. Every access goes through os.Root, so that no name, link or race leads out of them. It is
// safe for concurrent use.
type Root struct {
	folders  []folder // the document's own comes first
	follows  bool     // see FollowLinks
	reserved []string // absolute and clean; see Reserve
}

type folder struct {
	path    string // absolute and clean
	real    string // the same without symbolic links on the way
	root    *os.Root
	refused string // why no file may be in it, if so; then root is nil
}

// DeniedError says why a path is not one that a document may use. No retry cures it.
type DeniedError struct {
	Path   string
	Reason string // one sentence with the cure, where there is one
}

// Error returns the path, quoted, and the reason.
func (e *DeniedError) Error() string { return fmt.Sprintf("path %q: %s", e.Path, e.Reason) }

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
		real, err := filepath.EvalSymlinks(absolute)
		if err != nil {
			return nil, errors.Join(err, handle.Close(), r.Close())
		}
		r.folders = append(r.folders, folder{path: absolute, real: real, root: handle})
	}
	return r, nil
}

// FollowLinks lets the files that are read be symbolic links, or lie behind some, as long as these lead to one of the folders.
// It suits who runs documents of their own: a person who may write a link in a folder chooses which of the files in all of them is
// read. It must come before any other use of the Root.
func (r *Root) FollowLinks() { r.follows = true }

// NewRootElsewhere opens the folders of allow for a document whose own folder, dir, is not one of this machine, or not one that its
// operator gives to documents: paths that lie there are rejected for the reason. Close releases the folders.
func NewRootElsewhere(dir, reason string, allow ...string) (*Root, error) {
	r := &Root{folders: []folder{{path: filepath.Clean(dir), real: filepath.Clean(dir), refused: reason}}}
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
// document's folder; an absolute one must lie in a folder of the Root. The error is a *DeniedError. Whether anything
// exists under the name is not looked at. The folder belongs to the Root: do not close it.
func (r *Root) Resolve(path string) (*os.Root, string, error) {
	f, name, err := r.locate(path)
	if err == nil {
		err = r.checkReserved(f, name)
	}
	return f.root, name, err
}

// ResolveFolder is Resolve for a path of which all that lies below is replaced.
func (r *Root) ResolveFolder(path string) (*os.Root, string, error) {
	f, name, err := r.locate(path)
	if err == nil {
		err = r.checkAround(f, name)
	}
	if err != nil {
		return nil, "", err
	}
	return r.Resolve(path)
}

// Abs returns path as a user would open it from anywhere. The error is a *DeniedError.
func (r *Root) Abs(path string) (string, error) {
	f, name, err := r.locate(path)
	return filepath.Join(f.path, name), err
}

// real is Abs without symbolic links on the way to the folder in which path lies.
func (r *Root) real(path string) (string, error) {
	f, name, err := r.locate(path)
	return filepath.Join(f.real, name), err
}

func (r *Root) locate(path string) (folder, string, error) {
	switch {
	case path == "":
		return folder{}, "", &DeniedError{path, "is empty"}
	case strings.ContainsRune(path, 0):
		return folder{}, "", &DeniedError{path, "holds a NUL byte"}
	case slices.Contains(standardStreams, filepath.Clean(path)):
		return folder{}, "", &DeniedError{path, `standard input and output are written as path: "-"`}
	case hasParent(path):
		return folder{}, "", &DeniedError{path, `holds ".."; write the absolute path of a file in an allowed folder`}
	case !filepath.IsAbs(path):
		if own := r.folders[0]; own.refused != "" {
			return folder{}, "", &DeniedError{path, own.refused}
		}
		return r.folders[0], filepath.Clean(path), nil
	}
	for _, f := range r.folders {
		if name, err := filepath.Rel(f.path, path); err == nil && filepath.IsLocal(name) && f.refused == "" {
			return f, name, nil
		}
	}
	if r.folders[0].refused != "" {
		return folder{}, "", &DeniedError{path, "is in no folder that documents may use: allow the one that it is in with --allow-path FOLDER"}
	}
	return folder{}, "", &DeniedError{path, "is outside the document's folder: allow the folder it is in with --allow-path FOLDER, or move it to the document"}
}

// standardStreams are paths by which people mean standard input or output.
var standardStreams = []string{
	"/dev/stdin", "/dev/stdout", "/dev/fd/0", "/dev/fd/1", "/proc/self/fd/0", "/proc/self/fd/1",
}

// target returns where what is to be read under path lies: as Resolve does or, if links are followed, where they lead. link is
// the absolute path of what they lead to, "" if there are none. The error is a *DeniedError.
func (r *Root) target(path string) (root *os.Root, name, link string, err error) {
	f, name, err := r.locate(path)
	if err == nil {
		err = r.checkReserved(f, name)
	}
	if err != nil || !r.follows {
		return f.root, name, "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.path, name))
	if err != nil || real == filepath.Join(f.real, name) {
		return f.root, name, "", nil //nolint:nilerr // what is wrong with it shows when it is looked at
	}
	for _, g := range r.folders {
		if name, err := filepath.Rel(g.real, real); g.root != nil && err == nil && filepath.IsLocal(name) {
			return g.root, name, real, r.checkReserved(g, name)
		}
	}
	return nil, "", "", &DeniedError{path, fmt.Sprintf("is a symbolic link that leads to %q, outside the folders that the document may use: allow the one that is in with --allow-path FOLDER", real)}
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
// symbolic link below the folder, unless FollowLinks was called. The error is a *DeniedError if the path is not one that the document may read or names
// anything but a regular file, and wraps fs.ErrNotExist if there is nothing.
func (r *Root) Open(path string) (*os.File, fs.FileInfo, error) {
	before, err := r.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	root, name, _, err := r.target(path)
	if err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &DeniedError{path, "was replaced while it was opened"}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// Stat describes the regular file under path without opening it. Its errors are those of Open.
func (r *Root) Stat(path string) (fs.FileInfo, error) {
	root, name, _, err := r.target(path)
	if err != nil {
		return nil, err
	}
	if err := checkLinks(root, filepath.Dir(name)); err != nil {
		return nil, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &DeniedError{path, "not a regular file (a folder): name a file in it, or in a source a pattern such as folder/*.parquet"}
	}
	if !info.Mode().IsRegular() {
		return nil, &DeniedError{path, "not a regular file (" + fileType(info.Mode()) + ")"}
	}
	return info, nil
}

// checkLinks fails if the folder, or one on the way to it, is a symbolic link.
func checkLinks(root *os.Root, folder string) error {
	for i, c := range folder {
		if c == filepath.Separator {
			if err := checkLink(root, folder[:i]); err != nil {
				return err
			}
		}
	}
	return checkLink(root, folder)
}

// checkLink fails if name is a symbolic link.
func checkLink(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &DeniedError{name, "is a symbolic link; name the folder that it leads to"}
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
