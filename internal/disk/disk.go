// Package disk is the file system below one folder, as what must survive a loss of power uses it. Package disktest has one that loses
// its power.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// A Disk is what is below one folder. Names are relative to it, with slashes. Its methods are those of os.Root and what there is none
// for: they never lead out of the folder. It is safe for concurrent use.
type Disk interface {
	// Name returns the path of the folder.
	Name() string
	// Lstat does not follow symbolic links.
	Lstat(name string) (fs.FileInfo, error)
	SameFile(a, b fs.FileInfo) bool
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Names lists a folder in any order.
	Names(dir string) ([]string, error)

	Mkdir(name string, perm fs.FileMode) error
	// Link gives the file at from a second name; it does not follow symbolic links.
	Link(from, to string) error
	Rename(from, to string) error
	// Exchange gives each of two names in one folder what the other one had, at once. The error is errors.ErrUnsupported
	// where the file system cannot do that.
	Exchange(a, b string) error
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
	Close() error
}

// A File is an open file. Nothing is known of its bytes after a Sync that failed.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Name() string
	Stat() (fs.FileInfo, error)
	Sync() error
	Truncate(size int64) error
	// TryLock takes the file's lock without waiting, or fails with ErrLocked. Closing the file, or the end of the process, gives it back.
	TryLock() error
}

// ErrLocked says that a living process holds the lock.
var ErrLocked = errors.New("locked by its writer")

// Of returns the disk behind an os.Root, which it closes.
func Of(root *os.Root) Disk { return rootDisk{root} }

type rootDisk struct{ *os.Root }

func (d rootDisk) SameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) }

func (d rootDisk) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.Root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return rootFile{f}, nil
}

func (d rootDisk) Names(dir string) ([]string, error) {
	f, err := d.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

func (d rootDisk) Exchange(a, b string) error {
	folder, err := d.Open(path.Dir(a))
	if err != nil {
		return err
	}
	return errors.Join(exchange(folder, path.Base(a), path.Base(b)), folder.Close())
}

func (d rootDisk) SyncDir(name string) error {
	f, err := d.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type rootFile struct{ *os.File }

func (f rootFile) TryLock() error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), ErrLocked)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Exists reports whether there is anything of this name.
func Exists(d Disk, name string) bool {
	_, err := d.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// Ignore returns err, or nil if it is the one to ignore.
func Ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}
