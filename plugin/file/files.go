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
	reserved reserved // see Reserve
	confined *Confinement
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

// ResolveFolder is Resolve for a path that is written, and of which all that lies below is replaced.
func (r *Root) ResolveFolder(path string) (*os.Root, string, error) {
	f, name, err := r.locate(path)
	if outside := (*outsideError)(nil); errors.As(err, &outside) && r.confined != nil {
		err = r.mayNotWrite(path, filepath.Clean(path))
	}
	if err == nil {
		err = r.checkAround(f, name)
	}
	if err == nil {
		err = r.checkReserved(f, name)
	}
	if err == nil {
		err = r.checkWrite(f, name, path)
	}
	if err != nil {
		return f.root, name, err
	}
	if info, err := f.root.Lstat(name); err == nil && r.reserved.has(info) { // by another name, a hard link
		return f.root, name, &DeniedError{path, ownReason}
	}
	return f.root, name, nil
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
	if r.owns(filepath.Clean(path)) || r.owns(Followed(filepath.Clean(path))) {
		return folder{}, "", &DeniedError{path, ownReason}
	}
	reason := "is outside the document's folder: allow the folder it is in with --allow-path FOLDER, " +
		"or move it to the document"
	if r.folders[0].refused != "" {
		reason = "is in no folder that documents may use: allow the one that it is in with --allow-path FOLDER"
	}
	return folder{}, "", &outsideError{DeniedError{path, reason}}
}

// outsideError is a *DeniedError about a path that lies in none of the folders.
type outsideError struct{ DeniedError }

// Unwrap returns what it is.
func (e *outsideError) Unwrap() error { return &e.DeniedError }

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
	if r.owns(real) {
		return nil, "", "", &DeniedError{path, ownReason}
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

// Open opens a regular file for reading and returns it with what fstat says about it. It never blocks, and
// follows no symbolic link below the folder, unless FollowLinks was called. The error is a *DeniedError if the
// path is not one that the document may read or names anything but a regular file, and wraps fs.ErrNotExist if
// there is nothing.
func (r *Root) Open(path string) (*os.File, fs.FileInfo, error) {
	folder, name, err := r.reach(path)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	before, err := r.look(folder, name, path)
	if err != nil {
		return nil, nil, err
	}
	file, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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
	folder, name, err := r.reach(path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return r.look(folder, name, path)
}

// reach opens the folder that what is to be read under path lies in, and returns its name there. The caller
// closes the folder.
func (r *Root) reach(path string) (*os.Root, string, error) {
	root, name, _, err := r.target(path)
	if err != nil {
		return nil, "", err
	}
	folder, err := r.enter(root, filepath.Dir(name))
	return folder, filepath.Base(name), err
}

// look describes the regular file with this name in a folder that reach opened.
func (r *Root) look(folder *os.Root, name, path string) (fs.FileInfo, error) {
	info, err := folder.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &DeniedError{path, "not a regular file (a folder): name a file in it, or in a source a pattern such as folder/*.parquet"}
	case !info.Mode().IsRegular():
		return nil, &DeniedError{path, "not a regular file (" + fileType(info.Mode()) + ")"}
	case r.reserved.has(info):
		return nil, &DeniedError{path, ownReason}
	}
	return info, nil
}

// enter opens a folder below root step by step. No step is a symbolic link, or reserved by another name, also
// if somebody exchanges folders meanwhile: a step counts only if what was opened is what was looked at. The
// caller closes the folder.
func (r *Root) enter(root *os.Root, name string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	way := ""
	for element := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		if err != nil || element == "." {
			continue
		}
		way = filepath.Join(way, element)
		var next *os.Root
		next, err = r.step(at, element, way)
		err = errors.Join(err, at.Close())
		at = next
	}
	return at, err
}

// step opens a folder in another one. way is its name in messages.
func (r *Root) step(at *os.Root, element, way string) (*os.Root, error) {
	info, err := at.Lstat(element)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, &DeniedError{way, "is a symbolic link; name the folder that it leads to"}
	case r.reserved.has(info):
		return nil, &DeniedError{way, ownReason}
	case !info.IsDir(): // OpenRoot's error would wrap nothing
		return nil, &fs.PathError{Op: "open", Path: way, Err: syscall.ENOTDIR}
	}
	next, err := at.OpenRoot(element)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = &DeniedError{way, "was replaced while it was opened"}
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
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
