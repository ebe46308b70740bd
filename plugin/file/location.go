package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
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

// location is where a sink's output becomes visible: a name below one of the root's folders.
type location struct {
	disk      disk.Disk // of the root's folder
	name      string    // in it, clean, with slashes
	overwrite bool
}

// newLocation checks the target's path without looking at the disk. The error is a *DeniedError.
func newLocation(root *Root, target pipeline.FileTarget) (location, error) {
	handle, name, err := root.ResolveFolder(target.Path)
	if err != nil {
		return location{}, err
	}
	for element := range strings.SplitSeq(name, "/") {
		if fault := nameFault(element); fault != "" {
			return location{}, &DeniedError{target.Path, fmt.Sprintf("the name %q %s", element, fault)}
		}
	}
	at := location{disk: disk.Of(handle), name: name, overwrite: target.Overwrite}
	if root.confined != nil {
		at.disk = steadyDisk{at.disk, root, handle}
	}
	return at, nil
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
func (p location) String() string { return path.Join(p.disk.Name(), p.name) }

// hidden returns the name, next to the place's own, of something that belongs to one run.
func (p location) hidden(run, suffix string) string {
	return hiddenName(p.name, run, suffix)
}

func hiddenName(name, run, suffix string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+"."+run+"."+suffix)
}

// makeFolder makes sure that the folder of the place exists, durably. It rejects a way that leads through a symbolic link.
func (p location) makeFolder() error {
	parent := "."
	for element := range strings.SplitSeq(path.Dir(p.name), "/") {
		folder := path.Join(parent, element)
		if err := p.disk.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := p.disk.SyncDir(parent); err != nil {
			return err
		}
		info, err := p.disk.Lstat(folder)
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
func (p location) admit(kind fs.FileMode) error {
	info, err := p.disk.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return p.fault(codeTargetRefused, "lies below a file; sinks write below real folders only")
	case err != nil:
		return err
	case info.Mode()&fs.ModeDevice != 0:
		return p.fault(codeTargetRefused, "is %s, which this sink does not replace; choose another path", kindName(info))
	case info.Mode().Type() != kind:
		return p.fault(codeTargetRefused, "is %s, which this sink does not replace; remove it or choose another path", kindName(info))
	case !p.overwrite:
		return p.occupied()
	}
	return nil
}

// isStill returns errBusy if the name belongs to something else than what was sealed.
func (p location) isStill(name string, sealed fs.FileInfo) error {
	found, err := p.disk.Lstat(name)
	if err != nil {
		return err
	}
	if !p.disk.SameFile(sealed, found) {
		return fmt.Errorf("%s: %w", p, errBusy)
	}
	return nil
}

// moved is what a move ends with.
func moved(err error) error {
	if err != nil {
		return err
	}
	return failpoint.Hit("sink.moved")
}

// settle is moved where something is removed afterwards: the new name is durable before an old one goes.
func (p location) settle(err error) error {
	if err := moved(err); err != nil {
		return err
	}
	return p.disk.SyncDir(path.Dir(p.name))
}

func (p location) occupied() error {
	return p.fault(codeTargetExists, "exists already; move it away, choose another path, or set overwrite: true")
}

func (p location) fault(code, format string, args ...any) error {
	return &plugin.TargetError{Code: code, Target: p.String(), Message: fmt.Sprintf(format, args...)}
}

// changed says that what the run wrote is no longer what it wrote. Whether that one continues, its advice says.
func (p location) changed(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	return p.fault(codeTargetChanged, "%s; put the output back as it was, or write it again with a new run", what)
}

// classify turns an error of the file system that no retry cures into a *plugin.TargetError. A full disk or an
// input/output error stays as it is: a later try may work.
func (p location) classify(err error) error {
	if other, ok := errors.AsType[*irregular](err); ok {
		return p.fault(codeTargetRefused, "%v", other)
	}
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return p.fault(codeTargetRefused, "%v", denied)
	}
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
