// Package memstore keeps payloads in memory, for tests. Every write can be given a fate.
package memstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"waymark/payload"
)

// Store is a payload.Backend in memory. The zero value is empty and ready for use. It is as durable as the process.
type Store struct {
	// OnWrite, if not nil, decides whether the bytes are kept, and the error the caller sees: a lost request is
	// (false, err), a lost reply (true, err). It is called for every Write, possibly from many goroutines at once, and
	// must not be changed while the Store is in use.
	OnWrite func(key string) (keep bool, err error)

	mu      sync.Mutex
	writes  int
	objects map[string]object
	aside   map[string][]byte
}

type object struct {
	data    []byte
	version string
}

// Write keeps a copy of data under key.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	keep, err := true, error(nil)
	if s.OnWrite != nil {
		keep, err = s.OnWrite(key)
	}
	if keep {
		s.Plant(key, data)
	}
	return err
}

// Plant puts data under key as it is, without asking OnWrite: this is how a test poisons an object.
func (s *Store) Plant(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = make(map[string]object)
	}
	s.writes++
	s.objects[key] = object{data: append([]byte{}, data...), version: strconv.Itoa(s.writes)}
}

// Rot puts data in the place of the object's bytes and leaves its version as it is: this is how a test spoils an object
// behind the back of whatever compares versions. There must be an object under key.
func (s *Store) Rot(key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = object{data: append([]byte{}, data...), version: s.objects[key].version}
}

// Read returns a copy of the object.
func (s *Store) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return nil, err
	}
	if int64(len(o.data)) > limit {
		return nil, fmt.Errorf("%w: %s is %d bytes long, the limit is %d", payload.ErrTooLarge, key, len(o.data), limit)
	}
	return append([]byte{}, o.data...), nil
}

// ReadRange returns a copy of a part of the object.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) ([]byte, int64, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	size := int64(len(o.data))
	from, to := payload.Range(size, offset, length)
	return append([]byte{}, o.data[from:to]...), size, nil
}

// Stat describes the object.
func (s *Store) Stat(ctx context.Context, key string) (payload.Info, error) {
	o, err := s.find(ctx, key)
	return payload.Info{Bytes: int64(len(o.data)), Version: o.version}, err
}

// find returns the object itself: its bytes are never modified after Plant.
func (s *Store) find(ctx context.Context, key string) (object, error) {
	if err := admit(ctx, key); err != nil {
		return object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, fmt.Errorf("%w: %s", payload.ErrNotFound, key)
	}
	return o, nil
}

// Delete forgets the object and what was set aside under its key.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
	maps.DeleteFunc(s.aside, func(place string, _ []byte) bool { return strings.HasPrefix(place, asidePrefix(key)) })
	return nil
}

// Walk calls fn for the objects that were there when Walk was called.
func (s *Store) Walk(ctx context.Context, fn func(key string) error) error {
	s.mu.Lock()
	keys := slices.Sorted(maps.Keys(s.objects))
	s.mu.Unlock()
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(key); err != nil {
			return err
		}
	}
	return nil
}

// Quarantine keeps the bytes under "quarantine/<key>.<n>".
func (s *Store) Quarantine(ctx context.Context, key string) (string, error) {
	o, err := s.find(ctx, key)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aside == nil {
		s.aside = make(map[string][]byte)
	}
	for n := 0; ; n++ {
		place := asidePrefix(key) + strconv.Itoa(n)
		if _, taken := s.aside[place]; !taken {
			s.aside[place] = o.data
			return place, nil
		}
	}
}

// Aside returns what was set aside, by place. The caller owns the map, not the bytes.
func (s *Store) Aside() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.aside)
}

func asidePrefix(key string) string { return "quarantine/" + key + "." }

// admit refuses bad keys and ended contexts before anything is touched.
func admit(ctx context.Context, key string) error {
	if _, err := payload.ParseDigest(key); err != nil {
		return err
	}
	return ctx.Err()
}
