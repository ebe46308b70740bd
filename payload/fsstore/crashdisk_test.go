package fsstore

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crashDisk is a disk in memory that can lose its power. What was not synced is then there, or not, or in part, by pages
// of 4 KiB and by names, and a name that was removed may be there again.
type crashDisk struct {
	fs     *vfs.MemFS
	locked map[string]bool
	// after, if not nil, is called after each call that changed something. An error ends the call with it.
	after func(call string) error
	dead  bool // the process was killed: it changes nothing any more
}

func newCrashDisk() *crashDisk {
	return &crashDisk{fs: vfs.NewCrashableMem(), locked: map[string]bool{}}
}

// crash returns what may be there when the power comes back. percent is how likely what was not synced is to have
// survived.
func (d *crashDisk) crash(percent int, seed uint64) *crashDisk {
	survivor := d.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})
	return &crashDisk{fs: survivor, locked: map[string]bool{}}
}

// process returns the disk as another process sees it.
func (d *crashDisk) process(after func(call string) error) *crashDisk {
	return &crashDisk{fs: d.fs, locked: d.locked, after: after}
}

// change does what the call is for, unless the process is dead.
func (d *crashDisk) change(call string, do func() error) error {
	if d.dead {
		return errDied
	}
	if err := do(); err != nil || d.after == nil {
		return err
	}
	return d.after(call)
}

func (d *crashDisk) Lstat(name string) (fs.FileInfo, error) { return d.fs.Stat(name) }

func (d *crashDisk) Open(name string) (objectFile, error) {
	f, err := d.fs.Open(name)
	if err != nil {
		return nil, err
	}
	return &crashFile{File: f}, nil
}

func (d *crashDisk) Names(dir string) ([]string, error) { return d.fs.List(dir) }

func (d *crashDisk) Mkdir(name string) error {
	if _, err := d.fs.Stat(name); err == nil {
		return fs.ErrExist
	}
	return d.change("mkdir", func() error { return d.fs.MkdirAll(name, dirMode) })
}

func (d *crashDisk) Create(name string) (tempFile, error) {
	if _, err := d.fs.Stat(name); err == nil {
		return nil, fs.ErrExist
	}
	f := &crashFile{disk: d, name: name}
	err := d.change("create", func() (err error) {
		d.locked[name] = true
		f.File, err = d.fs.Create(name, vfs.WriteCategoryUnspecified)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename refuses what rename(2) refuses of what the store asks for: a file in the place of a folder.
func (d *crashDisk) Rename(from, to string) error {
	if info, err := d.fs.Stat(to); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	return d.change("rename", func() error { return d.fs.Rename(from, to) })
}

func (d *crashDisk) Link(from, to string) error {
	if info, err := d.fs.Stat(from); err == nil && info.IsDir() {
		return syscall.EPERM
	}
	return d.change("link", func() error { return d.fs.Link(from, to) })
}

func (d *crashDisk) Remove(name string) error {
	return d.change("remove", func() error { return d.fs.Remove(name) })
}

func (d *crashDisk) RemoveAll(name string) error {
	return d.change("removeall", func() error { return d.fs.RemoveAll(name) })
}

func (d *crashDisk) RemoveUnlocked(name string) (bool, error) {
	if d.locked[name] {
		return false, nil
	}
	err := d.Remove(name)
	return err == nil, err
}

func (d *crashDisk) SyncDir(name string) error {
	dir, err := d.fs.OpenDir(name)
	if err != nil {
		return err
	}
	return d.change("syncdir", func() error { return errors.Join(dir.Sync(), dir.Close()) })
}

func (d *crashDisk) Close() error { return nil }

type crashFile struct {
	vfs.File
	disk *crashDisk
	name string // locked until Close; "" of a file being read
}

func (f *crashFile) Stat() (fs.FileInfo, error) { return f.File.Stat() }

func (f *crashFile) Write(p []byte) (n int, err error) {
	err = f.disk.change("write", func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *crashFile) Sync() error { return f.disk.change("sync", f.File.Sync) }

func (f *crashFile) Close() error {
	if f.disk != nil {
		delete(f.disk.locked, f.name)
	}
	return f.File.Close()
}
