package fsstore

import (
	"context"
	"slices"

	"waymark/payload"
)

// Walk reads one shard folder at a time. Names in it that are no keys are passed over.
func (s *Store) Walk(ctx context.Context, fn func(key string) error) error {
	shards, err := s.shards()
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := s.walkShard(ctx, shard, fn); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *Store) walkShard(ctx context.Context, shard string, fn func(key string) error) error {
	names, err := s.names(shard)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := payload.ParseDigest(name); err != nil || shardPath(name) != shard {
			continue
		}
		if err := fn(name); err != nil {
			return err
		}
	}
	return nil
}

// shards lists the paths of the shard folders in ascending order.
func (s *Store) shards() ([]string, error) {
	names, err := s.disk.Names(objectsDir)
	if err != nil {
		return nil, err
	}
	var shards []string
	for _, name := range names {
		shard := objectsDir + "/" + name
		info, err := s.disk.Lstat(shard)
		if ignoreNotExist(err) != nil {
			return nil, err
		}
		if err == nil && info.IsDir() && len(name) == 2 {
			shards = append(shards, shard)
		}
	}
	slices.Sort(shards)
	return shards, nil
}

// names lists a folder in ascending order. A folder that is gone is empty.
func (s *Store) names(dir string) ([]string, error) {
	names, err := s.disk.Names(dir)
	slices.Sort(names)
	return names, ignoreNotExist(err)
}
