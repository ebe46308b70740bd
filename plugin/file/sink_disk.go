package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"waymark/internal/failpoint"
)

// disk is what sinks do to the file system below one folder. Its methods are those of os.Root and what there is none for.
// Tests put one in its place that loses its power.
type disk interface {
	Name() string
	Lstat(name string) (fs.FileInfo, error)
	SameFile(a, b fs.FileInfo) bool
	OpenFile(name string, flag int, perm fs.FileMode) (file, error)
	Mkdir(name string, perm fs.FileMode) error
	Link(from, to string) error
	Rename(from, to string) error
	// Exchange gives each of two names in one folder what the other one had, at once. The error is errors.ErrUnsupported
	// where the file system cannot do that.
	Exchange(a, b string) error
	Remove(name string) error
	RemoveAll(name string) error
}

// file is an open file or folder.
type file interface {
	io.ReadCloser
	io.ReaderAt
	io.WriterAt
	Name() string
	Readdirnames(n int) ([]string, error)
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// rootDisk is the disk behind an os.Root.
type rootDisk struct{ *os.Root }

func (d rootDisk) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

func (d rootDisk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := d.Root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d rootDisk) Exchange(a, b string) error {
	folder, err := d.Open(path.Dir(a))
	if err != nil {
		return err
	}
	return errors.Join(exchange(folder, path.Base(a), path.Base(b)), folder.Close())
}

// irregular says that a name belongs to something else than a regular file.
type irregular struct {
	name string
	info fs.FileInfo
}

// Error says what is there.
func (e *irregular) Error() string {
	return fmt.Sprintf("%s is %s, and no regular file", e.name, kindName(e.info))
}

// openRegular opens a regular file that is not a symbolic link; the error is an *irregular if there is something else. It never waits
// for the other end of a pipe.
func openRegular(d disk, name string, flag int) (file, error) {
	if info, err := d.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &irregular{name, info}
	}
	f, err := d.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &irregular{name, info}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readRegular(d disk, name string) ([]byte, error) {
	f, err := openRegular(d, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// moments names the failpoints of a write.
type moments struct{ writing, written, synced string }

// What is written to a staging.
var (
	aHeader   = moments{"sink.header.writing", "sink.header.written", "sink.header.synced"}
	aPart     = moments{"sink.part.writing", "sink.part.written", "sink.part.synced"}
	aManifest = moments{"sink.manifest.writing", "sink.manifest.written", "sink.manifest.synced"}
)

// write writes the pieces one after the other from the offset on, makes them durable, and closes the file in any case.
// whole says that the file ends after them.
func write(f file, m moments, whole bool, offset int64, pieces ...[]byte) error {
	err := writeAt(f, m, offset, pieces)
	if err == nil && whole {
		for _, piece := range pieces {
			offset += int64(len(piece))
		}
		err = f.Truncate(offset)
	}
	if err == nil {
		err = failpoint.Hit(m.written)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = failpoint.Hit(m.synced)
	}
	return errors.Join(err, f.Close())
}

func writeAt(f file, m moments, offset int64, pieces [][]byte) error {
	for _, piece := range pieces {
		n, err := f.WriteAt(piece[:failpoint.Short(m.writing, len(piece))], offset)
		if err == nil && n < len(piece) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return err
		}
		offset += int64(n)
	}
	return nil
}

// syncFolder makes the names in the folder durable.
func syncFolder(d disk, name string) error {
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// exists reports whether there is anything of this name.
func exists(d disk, name string) bool {
	_, err := d.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}
