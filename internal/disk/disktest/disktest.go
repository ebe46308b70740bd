// Package disktest has a disk that loses its power.
package disktest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"waymark/internal/disk"
)

// Disk is a disk in memory that can lose its power. What was not synced is then there, or not, or in part: bytes by
// pages of 4 KiB, with zeros where one is missing; names each for itself, so that a removal may survive and the creation
// before it not. Only the names of one rename or exchange within a folder belong together, and the changes of one name come in order.
type Disk struct {
	top *inode
	// After, if not nil, is called after each call that changed something. An error ends the call with it.
	After func(call string) error
	// Looked, if not nil, is called after each look at a name.
	Looked func()
	// Dead says that the process was killed: it changes nothing any more, and its locks are free.
	Dead bool
	// Plain says that two names cannot be exchanged.
	Plain bool
}

// inode is a file or a folder.
type inode struct {
	folder  bool
	data    []byte
	synced  []byte
	writes  []extent // since then
	names   map[string]*inode
	durable map[string]*inode
	renames []renaming // since then
	writer  *file      // that has the lock
}

// extent is a write, or a truncation where data is nil.
type extent struct {
	offset int64
	data   []byte
}

// renaming is a change of names in one folder that happens at once; nil takes a name away.
type renaming map[string]*inode

// New returns a disk with nothing on it.
func New() *Disk { return &Disk{top: newFolder()} }

func newFolder() *inode {
	return &inode{folder: true, names: map[string]*inode{}, durable: map[string]*inode{}}
}

// ErrDied ends a process: nothing that it does after it has any effect.
var ErrDied = errors.New("killed")

// Process returns the disk as another process sees it.
func (d *Disk) Process(after func(call string) error) *Disk {
	return &Disk{top: d.top, After: after, Plain: d.Plain}
}

// change does what the call is for, unless the process is dead.
func (d *Disk) change(call string, do func()) error {
	if d.Dead {
		return ErrDied
	}
	do()
	if d.After == nil {
		return nil
	}
	return d.After(call)
}

// find returns the folder that the name is in, the last element of the name, and what is there, if anything.
func (d *Disk) find(name string) (folder *inode, last string, found *inode, err error) {
	if path.Clean(name) == "." {
		return nil, ".", d.top, nil
	}
	folder = d.top
	elements := strings.Split(path.Clean(name), "/")
	for _, element := range elements[:len(elements)-1] {
		if folder = folder.names[element]; folder == nil {
			return nil, "", nil, &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
		}
		if !folder.folder {
			return nil, "", nil, &fs.PathError{Op: "find", Path: name, Err: syscall.ENOTDIR}
		}
	}
	last = elements[len(elements)-1]
	return folder, last, folder.names[last], nil
}

func (d *Disk) must(name string) (folder *inode, last string, found *inode, err error) {
	folder, last, found, err = d.find(name)
	if err == nil && found == nil {
		err = &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
	}
	return folder, last, found, err
}

func (n *inode) rename(change renaming) {
	for name, to := range change {
		if to == nil {
			delete(n.names, name)
		} else {
			n.names[name] = to
		}
	}
	n.renames = append(n.renames, change)
}

// Name is that of no folder on this machine.
func (d *Disk) Name() string { return "/disk" }

// Lstat describes what has the name.
func (d *Disk) Lstat(name string) (fs.FileInfo, error) {
	_, last, found, err := d.must(name)
	if d.Looked != nil {
		d.Looked()
	}
	if err != nil {
		return nil, err
	}
	return info{last, found}, nil
}

// SameFile reports whether both describe one file.
func (d *Disk) SameFile(a, b fs.FileInfo) bool { return a.Sys() == b.Sys() }

// OpenFile opens a file, or makes one.
func (d *Disk) OpenFile(name string, flag int, _ fs.FileMode) (disk.File, error) {
	folder, last, found, err := d.find(name)
	if err != nil {
		return nil, err
	}
	if found != nil && flag&os.O_EXCL != 0 {
		return nil, fs.ErrExist
	}
	if found == nil {
		if flag&os.O_CREATE == 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		found = &inode{}
		if err := d.change("create", func() { folder.rename(renaming{last: found}) }); err != nil {
			return nil, err
		}
	}
	return &file{disk: d, name: name, node: found}, nil
}

// Mkdir makes a folder.
func (d *Disk) Mkdir(name string, _ fs.FileMode) error {
	folder, last, found, err := d.find(name)
	if err != nil {
		return err
	}
	if found != nil {
		return fs.ErrExist
	}
	return d.change("mkdir", func() { folder.rename(renaming{last: newFolder()}) })
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	_, _, node, err := d.must(from)
	if err != nil {
		return err
	}
	folder, last, found, err := d.find(to)
	if err != nil {
		return err
	}
	if found != nil {
		return fs.ErrExist
	}
	if node.folder {
		return syscall.EPERM
	}
	return d.change("link", func() { folder.rename(renaming{last: node}) })
}

// Rename refuses what rename(2) refuses.
func (d *Disk) Rename(from, to string) error {
	folder, last, node, err := d.must(from)
	if err != nil {
		return err
	}
	other, target, found, err := d.find(to)
	if err != nil {
		return err
	}
	switch {
	case found == nil:
	case node.folder && !found.folder:
		return syscall.ENOTDIR
	case !node.folder && found.folder:
		return syscall.EISDIR
	case found.folder && len(found.names) > 0:
		return syscall.ENOTEMPTY
	}
	return d.change("rename", func() {
		if folder == other {
			folder.rename(renaming{last: nil, target: node})
			return
		}
		other.rename(renaming{target: node})
		folder.rename(renaming{last: nil})
	})
}

// Exchange gives each of two names in one folder what the other one had.
func (d *Disk) Exchange(a, b string) error {
	if d.Plain {
		return errors.ErrUnsupported
	}
	folder, first, one, err := d.must(a)
	if err != nil {
		return err
	}
	_, second, two, err := d.must(b)
	if err != nil {
		return err
	}
	return d.change("exchange", func() { folder.rename(renaming{first: two, second: one}) })
}

// Remove removes a file, or a folder in which there is nothing.
func (d *Disk) Remove(name string) error {
	folder, last, found, err := d.must(name)
	if err != nil {
		return err
	}
	if len(found.names) > 0 {
		return syscall.ENOTEMPTY
	}
	return d.change("remove", func() { folder.rename(renaming{last: nil}) })
}

// RemoveAll removes one name after the other, and what another process does between them happens.
func (d *Disk) RemoveAll(name string) error {
	_, _, found, err := d.find(name)
	if err != nil || found == nil {
		return disk.Ignore(err, fs.ErrNotExist)
	}
	for _, inside := range slices.Sorted(maps.Keys(found.names)) {
		if err := d.change("remove inside", func() { found.rename(renaming{inside: nil}) }); err != nil {
			return err
		}
	}
	return disk.Ignore(d.Remove(name), fs.ErrNotExist)
}

// Crash returns what may be there when the power comes back. percent is how likely each thing that was not synced is to
// have survived.
func (d *Disk) Crash(percent int, seed uint64) *Disk {
	c := crashing{rng: rand.New(rand.NewPCG(seed, 0)), percent: percent, copies: map[*inode]*inode{}}
	return &Disk{top: c.copy(d.top), Plain: d.Plain}
}

type crashing struct {
	rng     *rand.Rand
	percent int
	copies  map[*inode]*inode
}

func (c *crashing) survives() bool { return c.rng.IntN(100) < c.percent }

func (c *crashing) copy(n *inode) *inode {
	if done := c.copies[n]; done != nil {
		return done
	}
	if !n.folder {
		data := c.bytes(n)
		c.copies[n] = &inode{data: data, synced: slices.Clone(data)}
		return c.copies[n]
	}
	out := newFolder()
	c.copies[n] = out
	for _, name := range slices.Sorted(maps.Keys(n.durable)) {
		out.names[name] = n.durable[name]
	}
	c.names(n, out)
	for _, name := range slices.Sorted(maps.Keys(out.names)) {
		out.names[name] = c.copy(out.names[name])
	}
	out.durable = maps.Clone(out.names)
	return out
}

// names lets some of the changes survive. A change does not if an earlier one of a name of its own did not.
func (c *crashing) names(n, out *inode) {
	lost := map[string]bool{}
	for _, change := range n.renames {
		survives := c.survives()
		for name := range change {
			survives = survives && !lost[name]
		}
		for name, to := range change {
			switch {
			case !survives:
				lost[name] = true
			case to == nil:
				delete(out.names, name)
			default:
				out.names[name] = to
			}
		}
	}
}

const pageBytes = 4096

// bytes lets some of the pages that were written survive, and sometimes the size without the pages.
func (c *crashing) bytes(n *inode) []byte {
	data := slices.Clone(n.synced)
	for _, write := range n.writes {
		if write.data == nil {
			if c.survives() {
				data = resize(data, write.offset)
			}
			continue
		}
		for at := int64(0); at < int64(len(write.data)); {
			end := min((write.offset+at)/pageBytes*pageBytes+pageBytes-write.offset, int64(len(write.data)))
			if c.survives() {
				data = resize(data, max(int64(len(data)), write.offset+end))
				copy(data[write.offset+at:], write.data[at:end])
			}
			at = end
		}
	}
	if len(n.data) > len(data) && c.percent > 0 && c.rng.IntN(4) == 0 {
		data = resize(data, int64(len(n.data)))
	}
	return data
}

func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

// Names lists a folder.
func (d *Disk) Names(dir string) ([]string, error) {
	_, _, found, err := d.must(dir)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(found.names)), nil
}

// SyncDir makes the names in a folder durable.
func (d *Disk) SyncDir(name string) error {
	_, _, found, err := d.must(name)
	if err != nil {
		return err
	}
	return d.change("syncdir", func() { found.durable, found.renames = maps.Clone(found.names), nil })
}

// Close does nothing.
func (d *Disk) Close() error { return nil }

// String lists the names, durable or not, and the sizes.
func (d *Disk) String() string {
	var out strings.Builder
	d.top.list(&out, "")
	return out.String()
}

func (n *inode) list(out *strings.Builder, at string) {
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		node := n.names[name]
		fmt.Fprintf(out, "%s (%d bytes)\n", path.Join(at, name), len(node.data))
		node.list(out, path.Join(at, name))
	}
}

type file struct {
	disk *Disk
	name string
	node *inode
	at   int64
}

func (f *file) Name() string { return f.name }

func (f *file) Close() error {
	if f.node.writer == f {
		f.node.writer = nil
	}
	return nil
}

func (f *file) Stat() (fs.FileInfo, error) { return info{path.Base(f.name), f.node}, nil }

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.at)
	f.at += int64(n)
	return n, err
}

func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	return len(p), f.disk.change("write", func() {
		end := offset + int64(len(p))
		f.node.data = resize(f.node.data, max(end, int64(len(f.node.data))))
		copy(f.node.data[offset:], p)
		f.node.writes = append(f.node.writes, extent{offset, append([]byte{}, p...)})
	})
}

func (f *file) Truncate(size int64) error {
	return f.disk.change("truncate", func() {
		f.node.data = resize(f.node.data, size)
		f.node.writes = append(f.node.writes, extent{offset: size})
	})
}

func (f *file) Sync() error {
	return f.disk.change("sync", func() { f.node.synced, f.node.writes = slices.Clone(f.node.data), nil })
}

func (f *file) TryLock() error {
	if other := f.node.writer; other != nil && !other.disk.Dead {
		return disk.ErrLocked
	}
	f.node.writer = f
	return nil
}

type info struct {
	name string
	node *inode
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.folder }
func (i info) Sys() any           { return i.node }

func (i info) Mode() fs.FileMode {
	if i.node.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
