package fsstore

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// DefaultGrace is an age at which Sweep can safely take an unfinished write for abandoned.
const DefaultGrace = time.Hour

// Sweep removes temp files that were last written to at least grace ago and whose writer no longer lives, and returns
// how many. A writer that is alive holds a lock on its temp file, which is then left alone at any age. A writer that was
// stopped before it took the lock notices when it continues, and writes again. Sweeping twice, or in two processes at
// once, is safe. Call it when a process starts.
func (s *Store) Sweep(ctx context.Context, grace time.Duration) (removed int, err error) {
	before := time.Now().Add(-grace)
	shards, err := s.shards()
	if err != nil {
		return 0, fmt.Errorf("sweep temp files: %w", err)
	}
	for _, shard := range shards {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		n, err := s.sweepShard(shard, before)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("sweep temp files: %w", err)
		}
	}
	return removed, nil
}

func (s *Store) sweepShard(shard string, before time.Time) (removed int, err error) {
	names, err := s.names(shard)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		swept, err := s.sweepTemp(shard+"/"+name, before)
		if err != nil {
			return removed, err
		}
		if swept {
			removed++
		}
	}
	if removed == 0 {
		return 0, nil
	}
	return removed, s.removeShard(shard)
}

// sweepTemp removes one temp file if it is a regular file, old enough, and not locked.
func (s *Store) sweepTemp(name string, before time.Time) (swept bool, err error) {
	info, err := s.disk.Lstat(name)
	if err != nil {
		return false, ignoreNotExist(err)
	}
	if !info.Mode().IsRegular() || info.ModTime().After(before) {
		return false, nil
	}
	swept, err = removeUnlocked(s.disk, name)
	return swept, ignoreNotExist(err)
}
