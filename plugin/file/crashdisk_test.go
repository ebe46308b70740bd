package file

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
)

// crashDisk is a disk in memory that can lose its power. What was not synced is then there, or not, or in part: bytes by
// pages of 4 KiB, with zeros where one is missing; names each for itself, so that a removal may survive and the creation
// before it not. Only the names of one rename or exchange belong together, and the changes of one name come in order.
type crashDisk struct {
	top *inode
	// after, if not nil, is called after each call that changed something. An error ends the call with it.
	after func(call string) error
	// looked, if not nil, is called after each look at a name.
	looked func()
	dead   bool // the process was killed: it changes nothing any more
	// plain says that two names cannot be exchanged.
	plain bool
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
}

// extent is a write, or a truncation where data is nil.
type extent struct {
	offset int64
	data   []byte
}

// renaming is a change of names in one folder that happens at once; nil takes a name away.
type renaming map[string]*inode

func newFolder() *inode {
	return &inode{folder: true, names: map[string]*inode{}, durable: map[string]*inode{}}
}

// errDied ends a process: nothing that it does after it has any effect.
var errDied = errors.New("killed")

// process returns the disk as another process sees it.
func (d *crashDisk) process(after func(call string) error) *crashDisk {
	return &crashDisk{top: d.top, after: after, plain: d.plain}
}

// change does what the call is for, unless the process is dead.
func (d *crashDisk) change(call string, do func()) error {
	if d.dead {
		return errDied
	}
	do()
	if d.after == nil {
		return nil
	}
	return d.after(call)
}

// find returns the folder that the name is in, the last element of the name, and what is there, if anything.
func (d *crashDisk) find(name string) (folder *inode, last string, found *inode, err error) {
	if name == "." {
		return nil, ".", d.top, nil
	}
	folder = d.top
	elements := strings.Split(name, "/")
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

func (d *crashDisk) must(name string) (folder *inode, last string, found *inode, err error) {
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

func (d *crashDisk) Name() string { return "/disk" }

func (d *crashDisk) Lstat(name string) (fs.FileInfo, error) {
	_, last, found, err := d.must(name)
	if d.looked != nil {
		d.looked()
	}
	if err != nil {
		return nil, err
	}
	return crashInfo{last, found}, nil
}

func (d *crashDisk) SameFile(a, b fs.FileInfo) bool { return a.Sys() == b.Sys() }

func (d *crashDisk) OpenFile(name string, flag int, _ fs.FileMode) (file, error) {
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
	return &crashFile{disk: d, name: name, node: found}, nil
}

func (d *crashDisk) Mkdir(name string, _ fs.FileMode) error {
	folder, last, found, err := d.find(name)
	if err != nil {
		return err
	}
	if found != nil {
		return fs.ErrExist
	}
	return d.change("mkdir", func() { folder.rename(renaming{last: newFolder()}) })
}

func (d *crashDisk) Link(from, to string) error {
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
	return d.change("link", func() { folder.rename(renaming{last: node}) })
}

func (d *crashDisk) Rename(from, to string) error {
	folder, last, node, err := d.must(from)
	if err != nil {
		return err
	}
	other, target, found, err := d.find(to)
	if err != nil {
		return err
	}
	switch {
	case folder != other:
		return errors.New("sinks rename within one folder")
	case found == nil:
	case node.folder && !found.folder:
		return syscall.ENOTDIR
	case !node.folder && found.folder:
		return syscall.EISDIR
	case found.folder && len(found.names) > 0:
		return syscall.ENOTEMPTY
	}
	return d.change("rename", func() { folder.rename(renaming{last: nil, target: node}) })
}

func (d *crashDisk) Exchange(a, b string) error {
	if d.plain {
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

func (d *crashDisk) Remove(name string) error {
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
func (d *crashDisk) RemoveAll(name string) error {
	_, _, found, err := d.find(name)
	if err != nil || found == nil {
		return ignore(err, fs.ErrNotExist)
	}
	for _, inside := range slices.Sorted(maps.Keys(found.names)) {
		if err := d.change("remove inside", func() { found.rename(renaming{inside: nil}) }); err != nil {
			return err
		}
	}
	return ignore(d.Remove(name), fs.ErrNotExist)
}

// crash returns what may be there when the power comes back. percent is how likely each thing that was not synced is to
// have survived.
func (d *crashDisk) crash(percent int, seed uint64) *crashDisk {
	c := crashing{rng: rand.New(rand.NewPCG(seed, 0)), percent: percent, copies: map[*inode]*inode{}}
	return &crashDisk{top: c.copy(d.top), plain: d.plain}
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

// String lists the names, durable or not, and the sizes.
func (d *crashDisk) String() string {
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

type crashFile struct {
	disk *crashDisk
	name string
	node *inode
	at   int64
}

func (f *crashFile) Name() string { return f.name }

func (f *crashFile) Close() error { return nil }

func (f *crashFile) Stat() (fs.FileInfo, error) { return crashInfo{path.Base(f.name), f.node}, nil }

func (f *crashFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *crashFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *crashFile) Readdirnames(int) ([]string, error) {
	return slices.Sorted(maps.Keys(f.node.names)), nil
}

func (f *crashFile) WriteAt(p []byte, offset int64) (int, error) {
	return len(p), f.disk.change("write", func() {
		end := offset + int64(len(p))
		f.node.data = resize(f.node.data, max(end, int64(len(f.node.data))))
		copy(f.node.data[offset:], p)
		f.node.writes = append(f.node.writes, extent{offset, append([]byte{}, p...)})
	})
}

func (f *crashFile) Truncate(size int64) error {
	return f.disk.change("truncate", func() {
		f.node.data = resize(f.node.data, size)
		f.node.writes = append(f.node.writes, extent{offset: size})
	})
}

func (f *crashFile) Sync() error {
	return f.disk.change("sync", func() {
		f.node.synced, f.node.writes = slices.Clone(f.node.data), nil
		f.node.durable, f.node.renames = maps.Clone(f.node.names), nil
	})
}

type crashInfo struct {
	name string
	node *inode
}

func (i crashInfo) Name() string       { return i.name }
func (i crashInfo) Size() int64        { return int64(len(i.node.data)) }
func (i crashInfo) ModTime() time.Time { return time.Time{} }
func (i crashInfo) IsDir() bool        { return i.node.folder }
func (i crashInfo) Sys() any           { return i.node }

func (i crashInfo) Mode() fs.FileMode {
	if i.node.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
