package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"waymark/internal/disk"
	"waymark/payload"
)

// Read returns the bytes of the object. What is not a regular file is never read, so that a FIFO cannot hold the reader
// up and a link cannot lead elsewhere.
func (s *Store) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > limit {
		return nil, fmt.Errorf("%w: %s is %d bytes long, the limit is %d", payload.ErrTooLarge, key, size, limit)
	}
	return readPart(f, 0, size)
}

// ReadRange returns a part of the object, which it finds as Read does.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) ([]byte, int64, error) {
	f, size, err := s.open(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	from, to := payload.Range(size, offset, length)
	data, err := readPart(f, from, to-from)
	return data, size, err
}

// open opens an object and returns its length. It judges the open file, not its name: the name may belong to another file since
// lstat.
func (s *Store) open(ctx context.Context, key string) (_ disk.File, size int64, err error) {
	if err := admit(ctx, key); err != nil {
		return nil, 0, err
	}
	if _, err := s.lstat(key); err != nil {
		return nil, 0, err
	}
	f, err := open(s.disk, objectPath(key))
	if err != nil {
		return nil, 0, notFound(key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notAnObject(key, info)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// readPart reads length bytes. A file that is cut while it is read gives fewer, which the caller's hash finds out.
func readPart(f disk.File, offset, length int64) ([]byte, error) {
	data := make([]byte, length)
	n, err := io.ReadFull(io.NewSectionReader(f, offset, length), data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return data[:n], err
}

// Stat describes the object after syncing the folders that hold its name: its writer may have died before it did.
// The version is made of what changes when the file is replaced or modified: its inode and its modification time.
func (s *Store) Stat(ctx context.Context, key string) (payload.Info, error) {
	if err := admit(ctx, key); err != nil {
		return payload.Info{}, err
	}
	info, err := s.lstat(key)
	if err != nil {
		return payload.Info{}, err
	}
	if err := syncNames(s.disk, key); err != nil {
		return payload.Info{}, notFound(key, err)
	}
	return payload.Info{Bytes: info.Size(), Version: version(info)}, nil
}

func version(info fs.FileInfo) string {
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return fmt.Sprintf("%d %d", inode, info.ModTime().UnixNano())
}

// lstat describes the file at the object's place. It must be a regular one.
func (s *Store) lstat(key string) (fs.FileInfo, error) {
	info, err := s.disk.Lstat(objectPath(key))
	if err != nil {
		return nil, notFound(key, err)
	}
	if !info.Mode().IsRegular() {
		return nil, notAnObject(key, info)
	}
	return info, nil
}

// notFound turns "no such file" into payload.ErrNotFound. Other errors pass.
func notFound(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", payload.ErrNotFound, key)
	}
	return err
}

func notAnObject(key string, info fs.FileInfo) error {
	return &payload.CorruptError{
		Digest: payload.Digest(key),
		Reason: fmt.Sprintf("it is not a regular file (mode %s)", info.Mode()),
	}
}
