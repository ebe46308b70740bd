// Package fsstore keeps payloads in a folder.
//
//	objects/ab/abcdef…        an object: a regular file, read-only, named by the SHA-256 of its content
//	objects/ab/tmp-…          an unfinished write; its writer holds a lock (flock) on it
//	quarantine/abcdef….0      what stood in an object's place and was wrong
//
// Every access goes through one os.Root. The package needs a Unix system: it syncs folders and locks files.
package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"waymark/internal/disk"
	"waymark/payload"
)

const (
	objectsDir    = "objects"
	quarantineDir = "quarantine"
	tempPrefix    = "tmp-"
	dirMode       = 0o700
	objectMode    = 0o400
)

// Store is a payload.Backend over a folder. Several Stores, in several processes, may share the folder.
type Store struct {
	dir  string
	disk disk.Disk
}

// Create is Open, but makes the folder first if it is missing. Its parent must exist.
func Create(dir string) (*Store, error) {
	err := os.Mkdir(dir, dirMode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create payload folder: %w", err)
	}
	if err == nil {
		if err := syncParent(dir); err != nil {
			return nil, fmt.Errorf("create payload folder: %w", err)
		}
	}
	return Open(dir)
}

func syncParent(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	parent, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return err
	}
	defer parent.Close()
	return disk.Of(parent).SyncDir(".")
}

// Open returns the Store in dir, which must exist. It refuses a symbolic link and a folder that others may write to:
// anyone who can replace the folder can replace the record. Close the Store after use.
func Open(dir string) (*Store, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open payload folder: %w", err)
	}
	s, err := newStore(dir, disk.Of(root))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open payload folder: %w", err), root.Close())
	}
	return s, nil
}

// newStore returns the Store on a disk that holds nothing but dir.
func newStore(dir string, d disk.Disk) (*Store, error) {
	s := &Store{dir: dir, disk: d}
	return s, s.prepare()
}

// openRoot opens dir after checking it, and checks that what it opened is what it checked.
func openRoot(dir string) (*os.Root, error) {
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(dir, before); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: replaced by another folder while it was opened", dir)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func checkFolder(name string, info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s: is a symbolic link; name the folder it points to", name)
	case !info.IsDir():
		return fmt.Errorf("%s: is not a folder", name)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s: others may write to it (mode %#o); run: chmod go-w %s", name, info.Mode().Perm(), name)
	}
	return nil
}

// prepare makes the two folders of the layout durably, and holds them to the rules of the root.
func (s *Store) prepare() error {
	for _, dir := range []string{objectsDir, quarantineDir} {
		if err := s.disk.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := s.disk.Lstat(dir)
		if err != nil {
			return err
		}
		if err := checkFolder(filepath.Join(s.dir, dir), info); err != nil {
			return err
		}
	}
	return s.disk.SyncDir(".")
}

// Close releases the folder. The Store must not be used afterwards.
func (s *Store) Close() error { return s.disk.Close() }

// Write publishes data under key: see publish for the system calls in order.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	return publish(s.disk, key, data)
}

// admit refuses bad keys and ended contexts before any path is built.
func admit(ctx context.Context, key string) error {
	if _, err := payload.ParseDigest(key); err != nil {
		return err
	}
	return ctx.Err()
}

func shardPath(key string) string { return objectsDir + "/" + key[:2] }

func objectPath(key string) string { return shardPath(key) + "/" + key }
