// Package cache keeps payloads that were read from a store far away in the memory of the process.
package cache

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"sync"

	"waymark/payload"
)

// Cache is a payload.Backend before another one. It keeps what was read, at most a given number of bytes, and forgets
// first what was not asked for the longest. Every read asks the backend for the version of the object, and is answered
// from memory only if that is the version in memory: what others replaced or deleted is never returned. Several readers
// of one object at a time make one of them read.
//
// Writes are not kept: who wrote an object has its bytes, and the first read of it is to show what the backend has.
type Cache struct {
	payload.Backend
	maxBytes int64

	mu      sync.Mutex
	used    int64
	entries map[string]*list.Element // of *entry
	recent  list.List                // the most recently used first
	reading map[string]chan struct{} // closed when the read is over
}

type entry struct {
	key, version string
	data         []byte // never modified, never given away
}

// New returns a Cache of at most maxBytes before backend.
func New(backend payload.Backend, maxBytes int64) *Cache {
	return &Cache{
		Backend: backend, maxBytes: maxBytes,
		entries: make(map[string]*list.Element), reading: make(map[string]chan struct{}),
	}
}

// Read returns the object as the backend has it.
func (c *Cache) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	info, err := c.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if info.Bytes > limit {
		return nil, fmt.Errorf("%w: %s is %d bytes long, the limit is %d", payload.ErrTooLarge, key, info.Bytes, limit)
	}
	if info.Bytes > c.maxBytes {
		return c.Backend.Read(ctx, key, limit)
	}
	for {
		data, others, done := c.begin(key, info.Version)
		switch {
		case data != nil:
			return bytes.Clone(data), nil
		case done != nil:
			return c.read(ctx, key, limit, done)
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin returns the bytes if they are there, else a channel that tells when somebody else's read of them is over, else
// what to call when the caller's own read is over.
func (c *Cache) begin(key, version string) (data []byte, others <-chan struct{}, done func([]byte)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		if kept := e.Value.(*entry); kept.version == version {
			c.recent.MoveToFront(e)
			return kept.data, nil, nil
		}
		c.forget(e)
	}
	if reading, ok := c.reading[key]; ok {
		return nil, reading, nil
	}
	over := make(chan struct{})
	c.reading[key] = over
	return nil, nil, func(data []byte) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.reading, key)
		close(over)
		if data != nil {
			c.keep(&entry{key: key, version: version, data: data})
		}
	}
}

// read reads from the backend and keeps a copy. The version was asked for before: if the object was replaced since, the
// next reader finds another version and reads again.
func (c *Cache) read(ctx context.Context, key string, limit int64, done func([]byte)) ([]byte, error) {
	var kept []byte
	defer func() { done(kept) }()
	data, err := c.Backend.Read(ctx, key, limit)
	if err == nil {
		kept = append(make([]byte, 0, len(data)), data...) // not nil, also if empty
	}
	return data, err
}

// keep puts e in front and forgets from behind until everything fits.
func (c *Cache) keep(e *entry) {
	if old, ok := c.entries[e.key]; ok {
		c.forget(old)
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.used += int64(len(e.data))
	for c.used > c.maxBytes {
		c.forget(c.recent.Back())
	}
}

func (c *Cache) forget(e *list.Element) {
	gone := c.recent.Remove(e).(*entry)
	delete(c.entries, gone.key)
	c.used -= int64(len(gone.data))
}

// drop makes room that an object that was replaced or deleted would hold in vain.
func (c *Cache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.forget(e)
	}
}

// Write writes to the backend.
func (c *Cache) Write(ctx context.Context, key string, data []byte) error {
	defer c.drop(key)
	return c.Backend.Write(ctx, key, data)
}

// Delete deletes from the backend.
func (c *Cache) Delete(ctx context.Context, key string) error {
	defer c.drop(key)
	return c.Backend.Delete(ctx, key)
}

// Quarantine sets aside what the backend has.
func (c *Cache) Quarantine(ctx context.Context, key string) (string, error) {
	defer c.drop(key)
	return c.Backend.Quarantine(ctx, key)
}
