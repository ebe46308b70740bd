package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"waymark/pipeline"
	"waymark/plugin"
)

// The codes of a *plugin.TargetError. Stored; never rename.
const (
	codeTargetExists  = "TARGET_EXISTS"  // something is there and the document does not say overwrite
	codeTargetChanged = "TARGET_CHANGED" // what this run wrote is no longer what it wrote
	codeTargetRefused = "TARGET_REFUSED" // the place is not one that a sink writes to
)

// maxNameBytes leaves room for a run id and a suffix within the 255 bytes that file systems allow.
const maxNameBytes = 200

// place is where a sink's output becomes visible: a name below one of the root's folders.
type place struct {
	root      *os.Root
	name      string // in root, clean, with slashes
	overwrite bool
}

// newPlace checks the target's path without looking at the disk. The error is a *RefusedError.
func newPlace(root *Root, target pipeline.FileTarget) (place, error) {
	handle, name, err := root.Resolve(target.Path)
	if err != nil {
		return place{}, err
	}
	for element := range strings.SplitSeq(name, "/") {
		if fault := nameFault(element); fault != "" {
			return place{}, &RefusedError{target.Path, fmt.Sprintf("the name %q %s", element, fault)}
		}
	}
	return place{root: handle, name: name, overwrite: target.Overwrite}, nil
}

// nameFault says why a sink makes no file or folder of this name, or returns "". A leading dot is refused because hidden
// names are those of staging files and of the state folder.
func nameFault(name string) string {
	switch {
	case name == "" || name[0] == '.':
		return "is empty or hidden; choose one that does not begin with a dot"
	case name[0] == '-':
		return "looks like an option to commands; choose one that does not begin with a hyphen"
	case len(name) > maxNameBytes:
		return fmt.Sprintf("is longer than %d bytes; choose a shorter one", maxNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, oddInName):
		return "holds a backslash or a character that cannot be printed; choose a plain one"
	}
	return ""
}

func oddInName(r rune) bool { return r == '\\' || !unicode.IsPrint(r) }

// String returns the path as a user would open it.
func (p place) String() string { return path.Join(p.root.Name(), p.name) }

// hidden returns the name, next to the place's own, of something that belongs to one run.
func (p place) hidden(run, suffix string) string {
	return path.Join(path.Dir(p.name), "."+path.Base(p.name)+"."+run+"."+suffix)
}

// makeFolder makes sure that the folder of the place exists, durably. It refuses a way that leads through a symbolic link.
func (p place) makeFolder() error {
	parent := "."
	for element := range strings.SplitSeq(path.Dir(p.name), "/") {
		folder := path.Join(parent, element)
		if err := p.root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncFolder(p.root, parent); err != nil {
			return err
		}
		info, err := p.root.Lstat(folder)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return p.fault(codeTargetRefused, "%s is %s; sinks write below real folders only", folder, kindName(info))
		}
		parent = folder
	}
	return nil
}

// admit says whether an output of this type (0 for a file, fs.ModeDir for a folder) may take the place.
func (p place) admit(kind fs.FileMode) error {
	info, err := p.root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != kind:
		return p.fault(codeTargetRefused, "is %s, which this sink does not replace; remove it or choose another path", kindName(info))
	case !p.overwrite:
		return p.occupied()
	}
	return nil
}

func (p place) occupied() error {
	return p.fault(codeTargetExists, "exists already; move it away, choose another path, or set overwrite: true")
}

func (p place) fault(code, format string, args ...any) error {
	return &plugin.TargetError{Code: code, Target: p.String(), Message: fmt.Sprintf(format, args...)}
}

// classify turns an error of the file system that no retry cures into a *plugin.TargetError. A full disk or an
// input/output error stays as it is: a later try may work.
func (p place) classify(err error) error {
	for _, final := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG} {
		if errors.Is(err, final) {
			return p.fault(codeTargetRefused, "%v", err)
		}
	}
	return err
}

func kindName(info fs.FileInfo) string {
	if info.Mode().IsRegular() {
		return "a file"
	}
	return fileType(info.Mode())
}

// openRegular opens a regular file that is not a symbolic link. It never waits for the other end of a pipe.
func openRegular(root *os.Root, name string, flag int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
	}
	f, err := root.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readRegular(root *os.Root, name string) ([]byte, error) {
	f, err := openRegular(root, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// syncFolder makes the names in the folder durable.
func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// exists reports whether there is anything of this name.
func exists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}
