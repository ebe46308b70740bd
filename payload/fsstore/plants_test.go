package fsstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/payloadtest"
)

// TestThingsInAnObjectsPlace plants what only a file system can hold. None may block a reader or be followed.
func TestThingsInAnObjectsPlace(t *testing.T) {
	data := []byte("the good bytes")
	for name, plant := range map[string]func(path string) error{
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
		"full folder": func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(path, "note"), data, 0o600)
		},
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"link to good bytes": func(path string) error {
			if err := os.WriteFile(path+".copy", data, 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(path)+".copy", path)
		},
		"link out of the store": func(path string) error { return os.Symlink("/etc/passwd", path) },
		"link to itself":        func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"FIFO":                  func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"bytes cut in place":    func(path string) error { return os.WriteFile(path, data[:3], 0o600) },
		"bytes changed in place, same length": func(path string) error {
			return os.WriteFile(path, []byte("the evil bytes"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, dir := create(t)
			path := objectPath(dir, payload.Of(data))
			payloadtest.Heals(t, s, data, func() {
				require.NoError(t, os.RemoveAll(path))
				require.NoError(t, plant(path))
			})
			aside, err := os.ReadDir(filepath.Join(dir, "quarantine"))
			require.NoError(t, err)
			require.Len(t, aside, 2, "one for each Store that healed")
			requireNoTemps(t, dir)
		})
	}
}

func TestDeleteRemovesThePoisonToo(t *testing.T) {
	s, dir := create(t)
	data := []byte("personal data")
	d, path := payload.Of(data), objectPath(dir, payload.Of(data))
	payloadtest.Heals(t, s, data, func() {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o700))
	})
	_, err := s.Quarantine(t.Context(), string(d))
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), string(d)))
	aside, err := os.ReadDir(filepath.Join(dir, "quarantine"))
	require.NoError(t, err)
	require.Empty(t, aside)
}

func TestDeleteRemovesEmptyShards(t *testing.T) {
	s, dir := create(t)
	one, two := sameShard(t)
	for _, data := range [][]byte{one, two} {
		require.NoError(t, s.Write(t.Context(), string(payload.Of(data)), data))
	}
	shard := filepath.Dir(objectPath(dir, payload.Of(one)))
	require.NoError(t, s.Delete(t.Context(), string(payload.Of(one))))
	require.DirExists(t, shard)
	require.NoError(t, s.Delete(t.Context(), string(payload.Of(two))))
	require.NoDirExists(t, shard)
}

// sameShard returns two payloads whose digests begin alike.
func sameShard(t *testing.T) (one, two []byte) {
	t.Helper()
	seen := map[payload.Digest][]byte{}
	for i := range 1000 {
		data := []byte{byte(i), byte(i >> 8)}
		shard := payload.Of(data)[:2]
		if other, ok := seen[shard]; ok {
			return other, data
		}
		seen[shard] = data
	}
	t.Fatal("no two digests of 1,000 begin alike")
	return nil, nil
}

// TestWriteWhileTheShardIsRemoved: one goroutine empties the shard over and over, the other writes into it.
func TestWriteWhileTheShardIsRemoved(t *testing.T) {
	s, dir := create(t)
	kept, passing := sameShard(t)
	ctx, stop := context.WithCancel(t.Context())
	var remover sync.WaitGroup
	remover.Go(func() {
		for key := string(payload.Of(passing)); ctx.Err() == nil; {
			err := errors.Join(s.Write(t.Context(), key, passing), s.Delete(t.Context(), key), s.Delete(t.Context(), key))
			if err != nil {
				t.Errorf("write and delete: %v", err)
			}
		}
	})
	defer remover.Wait()
	defer stop()
	store := payload.New(s, payload.Options{})
	for range 300 {
		d, err := store.Put(t.Context(), kept)
		require.NoError(t, err)
		_, err = store.Get(t.Context(), d)
		require.NoError(t, err)
		require.NoError(t, store.Delete(t.Context(), d))
	}
	stop()
	remover.Wait()
	requireNoTemps(t, dir)
}

func TestWalkPassesOverStrangers(t *testing.T) {
	s, dir := create(t)
	d, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("x"))
	require.NoError(t, err)
	shard := filepath.Dir(objectPath(dir, d))
	wrongShard := filepath.Join(dir, "objects", "zz")
	require.NoError(t, os.Mkdir(wrongShard, 0o700))
	for _, path := range []string{
		filepath.Join(dir, "objects", "README"), filepath.Join(dir, "objects", "xy"), filepath.Join(shard, "notes"),
		filepath.Join(shard, "tmp-0"), filepath.Join(shard, string(d)+".bak"), filepath.Join(wrongShard, string(d)),
	} {
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	var keys []string
	require.NoError(t, s.Walk(t.Context(), func(key string) error { keys = append(keys, key); return nil }))
	require.Equal(t, []string{string(d)}, keys)
	_, err = s.Sweep(t.Context(), time.Hour)
	require.NoError(t, err)
}
