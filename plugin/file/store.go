package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"waymark/plugin"
)

// A Store is where the files of a source are: on disk, in a bucket, behind an address. It is safe for concurrent use. Its errors
// are *plugin.SourceErrors where no retry cures them.
type Store interface {
	// List describes what the pattern matches, in bytewise order of the paths; nothing if nothing does. It opens nothing.
	List(ctx context.Context, pattern string) ([]plugin.FileInfo, error)
	// Open opens what List described. What is not there any more, or is something else by now, is SOURCE_CHANGED.
	Open(ctx context.Context, info plugin.FileInfo) (File, error)
	// Fixed reports whether info names bytes that nobody can change, so that they need not be listed again.
	Fixed(info plugin.FileInfo) bool
	// OnHost reports whether only workers that see the same files can reach the store.
	OnHost() bool
}

// Looker is what a Store may be as well: one in which files arrive.
type Looker interface {
	// Look is List for files that arrive: what comes or goes meanwhile is left out, and what it returns tells a file from another one in its place as
	// well as can be, at little cost. left has an error about each thing that is there and can be no file of a run.
	Look(ctx context.Context, pattern string) (files []plugin.FileInfo, left []error, err error)
}

// Look looks at what arrives in a Store. The error says so if nothing can.
func Look(ctx context.Context, s Store, pattern string) (files []plugin.FileInfo, left []error, err error) {
	looker, can := s.(Looker)
	if !can {
		return nil, nil, fmt.Errorf("%s: no files arrive there", pattern)
	}
	return looker.Look(ctx, pattern)
}

// A File is one opened file of a Store. It is not safe for concurrent use, except for what ReaderAt returns.
type File interface {
	// Stream returns the file's own bytes from the offset on. A file has one Stream at a time: the one before is of no more use.
	Stream(ctx context.Context, offset int64) (Stream, error)
	// ReaderAt reads pieces of the file, for formats that have their index at the end. What is read is of the file that was
	// opened, or the read fails. It is safe for concurrent use, as long as ctx lives and the file is open.
	ReaderAt(ctx context.Context) io.ReaderAt
	// Pinned reports whether a Stream from the middle is sure to be of the file that was opened. Of one that is not pinned
	// nobody can tell without reading what comes before.
	Pinned() bool
	// Unchanged fails with SOURCE_CHANGED if what was read so far may not be that of the file that was opened.
	Unchanged(ctx context.Context) error
	// Close releases the file and its Stream.
	Close() error
}

// A Stream is read front to back. Read is io.Reader's, with a context for this call alone.
type Stream interface {
	Read(ctx context.Context, p []byte) (int, error)
}

// Changed is the fault of a file that is no longer what it was when the run began.
func Changed(path string) *plugin.SourceError {
	return &plugin.SourceError{
		Code: CodeSourceChanged, File: path,
		Message: "is not the file that the run began with; put it back, or start over with waymark resume --fork, and leave the files alone while they are read",
	}
}

// bound is a Stream as an io.Reader. The context is that of the present reader.
type bound struct {
	ctx    context.Context
	stream Stream
}

func (b *bound) Read(p []byte) (int, error) { return b.stream.Read(b.ctx, p) }

// rootStore is the files below a Root.
type rootStore struct{ *Root }

func (s rootStore) List(_ context.Context, pattern string) ([]plugin.FileInfo, error) {
	files, skipped, err := s.list(pattern)
	if err == nil && len(files) == 0 && len(skipped) > 0 {
		_, err = s.describe(skipped[0]) // why it was skipped
	}
	return files, err
}

// Skipped returns the symbolic links that the pattern matches and that are not read: they lead to nothing that may be.
func (s rootStore) Skipped(pattern string) ([]string, error) {
	_, skipped, err := s.list(pattern)
	return skipped, err
}

func (s rootStore) list(pattern string) (files []plugin.FileInfo, skipped []string, err error) {
	paths, skipped, err := s.Glob(pattern)
	if err != nil {
		return nil, nil, Fault(pattern, err)
	}
	for _, path := range paths {
		info, err := s.describe(path)
		if err != nil && path != pattern && s.isLink(path) {
			skipped = append(skipped, path)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		files = append(files, info)
	}
	slices.Sort(skipped)
	return files, skipped, nil
}

// Look leaves out what is gone by the time that it is looked at. Files are told apart by their inodes, too.
func (s rootStore) Look(_ context.Context, pattern string) (files []plugin.FileInfo, left []error, err error) {
	paths, skipped, err := s.Glob(pattern)
	if err == nil && len(paths) == 0 {
		err = s.isThere(folderOf(pattern))
	}
	if err != nil {
		return nil, nil, Fault(pattern, err)
	}
	for _, path := range append(paths, skipped...) {
		info, err := s.arrived(path)
		switch {
		case err == nil:
			files = append(files, info)
		case !errors.Is(err, fs.ErrNotExist) || s.isLink(path):
			left = append(left, Fault(path, err))
		}
	}
	return files, left, nil
}

// folderOf is the folder of a path; of a pattern the one below which all that it matches is.
func folderOf(pattern string) string {
	folder := filepath.Dir(pattern)
	for IsPattern(folder) {
		folder = filepath.Dir(folder)
	}
	return folder
}

// isThere fails if a folder is not there: nothing arrives in a share that is not mounted.
func (s rootStore) isThere(folder string) error {
	root, name, _, err := s.target(folder)
	if err == nil {
		_, err = root.Stat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &DeniedError{folder, "there is no such folder: make it, or mount what has it"}
	}
	return err
}

// arrived describes a file that may have arrived.
func (s rootStore) arrived(path string) (info plugin.FileInfo, err error) {
	stat, err := s.Stat(path)
	if err != nil {
		return info, err
	}
	_, _, link, err := s.target(path)
	if err != nil {
		return info, err
	}
	info = fileInfo(path, link, stat)
	info.Version = inodeOf(stat)
	return info, nil
}

// byInode is what the Version of a file that arrived begins with. Stored; never rename.
const byInode = "inode:"

func inodeOf(stat fs.FileInfo) string {
	if sys, ok := stat.Sys().(*syscall.Stat_t); ok {
		return byInode + strconv.FormatUint(sys.Ino, 10)
	}
	return ""
}

// is reports whether a file is the one that info describes.
func is(info plugin.FileInfo, link string, stat fs.FileInfo) bool {
	found := fileInfo(info.Path, link, stat)
	if strings.HasPrefix(info.Version, byInode) {
		found.Version = inodeOf(stat)
	}
	return found == info
}

// isLink reports whether the path is a symbolic link itself.
func (s rootStore) isLink(path string) bool {
	root, name, err := s.Resolve(path)
	if err != nil {
		return false
	}
	info, err := root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// describe returns what tells a file from others. Its errors are those of List.
func (s rootStore) describe(path string) (plugin.FileInfo, error) {
	stat, err := s.Stat(path)
	if err != nil {
		return plugin.FileInfo{}, Fault(path, err)
	}
	_, _, link, err := s.target(path)
	if err != nil {
		return plugin.FileInfo{}, Fault(path, err)
	}
	return fileInfo(path, link, stat), nil
}

func (s rootStore) Open(_ context.Context, info plugin.FileInfo) (File, error) {
	file, stat, err := s.Root.Open(info.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Changed(info.Path)
	}
	if err != nil {
		return nil, Fault(info.Path, err)
	}
	_, _, link, err := s.target(info.Path)
	if err != nil || !is(info, link, stat) {
		return nil, errors.Join(Changed(info.Path), file.Close())
	}
	return &rootFile{root: s.Root, File: file, info: info}, nil
}

func (rootStore) Fixed(plugin.FileInfo) bool { return false }

func (rootStore) OnHost() bool { return true }

func fileInfo(path, link string, stat fs.FileInfo) plugin.FileInfo {
	return plugin.FileInfo{Path: path, Target: link, Bytes: stat.Size(), ModifiedMicros: stat.ModTime().UnixMicro()}
}

// Fault turns an error of the Root into a SourceError where no retry cures it.
func Fault(path string, err error) error {
	fault := &plugin.SourceError{File: path}
	var refused *DeniedError
	switch {
	case errors.As(err, &refused):
		fault.Code, fault.Message = codePathRefused, refused.Reason
	case errors.Is(err, syscall.ENOTDIR):
		fault.Code, fault.Message = CodeNotFound, "no such file: what should be a folder on the way to it is a file"
	case errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(path):
		fault.Code, fault.Message = CodeNotFound, "no such file"
	case errors.Is(err, fs.ErrNotExist):
		fault.Code, fault.Message = CodeNotFound, "no such file; paths are relative to the document's folder"
	case errors.Is(err, fs.ErrPermission):
		fault.Code, fault.Message = codeNoPermission, "the file may not be read: "+err.Error()
	default:
		return err
	}
	return fault
}

// rootFile is an open file below a Root.
type rootFile struct {
	*os.File
	root *Root
	info plugin.FileInfo
}

func (f *rootFile) Stream(_ context.Context, offset int64) (Stream, error) {
	_, err := f.Seek(offset, io.SeekStart)
	return rootStream{f.File}, err
}

func (f *rootFile) ReaderAt(context.Context) io.ReaderAt { return f.File }

func (*rootFile) Pinned() bool { return true }

// Unchanged looks at the open file and at what is under its path.
func (f *rootFile) Unchanged(context.Context) error {
	open, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := f.root.Stat(f.info.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Fault(f.info.Path, err)
	}
	if err != nil || !os.SameFile(open, named) || !is(f.info, f.info.Target, open) {
		return Changed(f.info.Path)
	}
	return nil
}

type rootStream struct{ *os.File }

func (s rootStream) Read(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.File.Read(p)
}

// storeError is an error of a store as a source returns it: a fault as it is, anything else with what it is about.
func (s *Source) storeError(path string, err error) error {
	if fault, ok := errors.AsType[*plugin.SourceError](err); ok {
		return fault
	}
	return fmt.Errorf("source %s: %s: %w", s.name, path, err)
}
