package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// disk is the store's file system. Tests put one in its place that fails, forgets, or loses its power.
type disk interface {
	// Lstat does not follow symbolic links.
	Lstat(name string) (fs.FileInfo, error)
	// Open opens a file for reading. It never waits for the other end of a pipe.
	Open(name string) (objectFile, error)
	// Names lists a folder in any order.
	Names(dir string) ([]string, error)

	Mkdir(name string) error
	// Create makes a new file and locks it until it is closed.
	Create(name string) (tempFile, error)
	Rename(from, to string) error
	// Link gives the file at from a second name; it does not follow symbolic links.
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// RemoveUnlocked removes a file and returns true, unless a living process has it locked.
	RemoveUnlocked(name string) (bool, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
	Close() error
}

// objectFile is a file being read.
type objectFile interface {
	Read(p []byte) (int, error)
	Stat() (fs.FileInfo, error)
	Close() error
}

// tempFile is a file being written.
type tempFile interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// rootDisk is the disk behind an os.Root.
type rootDisk struct{ root *os.Root }

func (d rootDisk) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d rootDisk) Mkdir(name string) error                { return d.root.Mkdir(name, dirMode) }
func (d rootDisk) Rename(from, to string) error           { return d.root.Rename(from, to) }
func (d rootDisk) Link(from, to string) error             { return d.root.Link(from, to) }
func (d rootDisk) Remove(name string) error               { return d.root.Remove(name) }
func (d rootDisk) RemoveAll(name string) error            { return d.root.RemoveAll(name) }
func (d rootDisk) Close() error                           { return d.root.Close() }

func (d rootDisk) Open(name string) (objectFile, error) { return d.open(name) }

func (d rootDisk) open(name string) (*os.File, error) {
	return d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func (d rootDisk) Names(dir string) ([]string, error) {
	f, err := d.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func (d rootDisk) RemoveUnlocked(name string) (bool, error) {
	f, err := d.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return false, ignore(err, errLocked)
	}
	err = d.root.Remove(name)
	return err == nil, err
}

func (d rootDisk) Create(name string) (tempFile, error) {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, objectMode)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		return nil, errors.Join(err, f.Close(), ignore(d.root.Remove(name), fs.ErrNotExist))
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
