package fsstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"waymark/internal/disk"
)

// open opens a file for reading. It never waits for the other end of a pipe.
func open(d disk.Disk, name string) (disk.File, error) {
	return d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// create makes a new file and locks it until it is closed.
func create(d disk.Disk, name string) (disk.File, error) {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, objectMode)
	if err != nil {
		return nil, err
	}
	if err := f.TryLock(); err != nil {
		return nil, errors.Join(err, f.Close(), ignoreNotExist(d.Remove(name)))
	}
	return f, nil
}

// removeUnlocked removes a file and returns true, unless a living process has it locked.
func removeUnlocked(d disk.Disk, name string) (removed bool, err error) {
	f, err := open(d, name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := f.TryLock(); err != nil {
		return false, disk.Ignore(err, disk.ErrLocked)
	}
	err = d.Remove(name)
	return err == nil, err
}

func ignoreNotExist(err error) error { return disk.Ignore(err, fs.ErrNotExist) }
