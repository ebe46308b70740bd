package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"waymark/internal/failpoint"
)

// Delete removes the object, what was set aside under its key, and the shard folder if that leaves it empty. Where there
// is no object it leaves the shard folder to the process that is about to write into it.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	if err := s.deleteAside(key); err != nil {
		return err
	}
	_, err := s.disk.Lstat(objectPath(key))
	missing := errors.Is(err, fs.ErrNotExist)
	if err := s.disk.RemoveAll(objectPath(key)); err != nil {
		return err
	}
	if err := failpoint.Hit("payload.deleted"); err != nil {
		return err
	}
	// Also where nothing was left to remove: the process that removed it may have died before this.
	if err := ignoreNotExist(s.disk.SyncDir(shardPath(key))); err != nil || missing {
		return err
	}
	return s.removeShard(shardPath(key))
}

// deleteAside removes every copy of the object from the quarantine folder.
func (s *Store) deleteAside(key string) error {
	places, err := s.names(quarantineDir)
	if err != nil {
		return err
	}
	removed := false
	for _, place := range places {
		if !strings.HasPrefix(place, key+".") {
			continue
		}
		if err := s.disk.RemoveAll(quarantineDir + "/" + place); err != nil {
			return err
		}
		removed = true
	}
	if !removed {
		return nil
	}
	return s.disk.SyncDir(quarantineDir)
}

// removeShard removes the shard folder if it is empty.
func (s *Store) removeShard(shard string) error {
	err := s.disk.Remove(shard)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.disk.SyncDir(objectsDir)
}

// Quarantine gives what stands under key a second name, quarantine/<key>.<n>. The first name stays until Write replaces
// it, so that two writers that heal at once cannot take each other's good object away.
func (s *Store) Quarantine(ctx context.Context, key string) (string, error) {
	if err := admit(ctx, key); err != nil {
		return "", err
	}
	for n := 0; ; n++ {
		place := fmt.Sprintf("%s/%s.%d", quarantineDir, key, n)
		err := s.setAside(objectPath(key), place)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", notFound(key, err)
		}
		if err := failpoint.Hit("payload.aside"); err != nil {
			return "", err
		}
		return place, s.disk.SyncDir(quarantineDir)
	}
}

// setAside links from to place. A folder cannot be linked and is moved; the slash makes rename(2) refuse anything that
// is no folder any more. A file that must not be linked (a file system without links) is moved too.
func (s *Store) setAside(from, place string) error {
	linkErr := s.disk.Link(from, place)
	if linkErr == nil || errors.Is(linkErr, fs.ErrExist) || errors.Is(linkErr, fs.ErrNotExist) {
		return linkErr
	}
	if _, err := s.disk.Lstat(place); err == nil {
		return fs.ErrExist
	}
	info, err := s.disk.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		from += "/"
	}
	return s.disk.Rename(from, place)
}
