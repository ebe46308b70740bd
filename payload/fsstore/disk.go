package fsstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// disk is the part of the file system that changes things. Tests put one in its place that fails or forgets.
type disk interface {
	Mkdir(name string) error
	// Create makes a new file and locks it until it is closed.
	Create(name string) (tempFile, error)
	Rename(from, to string) error
	// Link gives the file at from a second name; it does not follow symbolic links.
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// tempFile is a file being written.
type tempFile interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// rootDisk is the disk behind an os.Root.
type rootDisk struct{ root *os.Root }

func (d rootDisk) Mkdir(name string) error      { return d.root.Mkdir(name, dirMode) }
func (d rootDisk) Rename(from, to string) error { return d.root.Rename(from, to) }
func (d rootDisk) Link(from, to string) error   { return d.root.Link(from, to) }
func (d rootDisk) Remove(name string) error     { return d.root.Remove(name) }
func (d rootDisk) RemoveAll(name string) error  { return d.root.RemoveAll(name) }

func (d rootDisk) Create(name string) (tempFile, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, objectMode)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close(), ignoreNotExist(d.root.Remove(name)))
	}
	return f, nil
}

func (d rootDisk) SyncDir(name string) error {
	dir, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// errLocked says that a living process holds the lock.
var errLocked = errors.New("locked by its writer")

// lock takes the lock on f without waiting. Closing f, or the end of the process, gives it back.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", f.Name(), errLocked)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}
