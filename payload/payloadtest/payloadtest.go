// Package payloadtest holds the contracts of payload.Backend and payload.Store as tests. Every backend runs them.
package payloadtest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"waymark/payload"
)

// Subject is a backend under test.
type Subject struct {
	payload.Backend

	// Rot changes the bytes of the object under key behind the backend's back, as a disk does on which they rot: whatever
	// the backend or its server keeps besides the bytes, such as a checksum, stays as it is. data is as long as the object.
	Rot func(t *testing.T, key string, data []byte)
}

// Run checks a backend against every sentence of payload.Backend, and payload.Store over that backend. newSubject
// returns an empty backend that lives until the end of the test it is given. With -short sizes and counts are smaller.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	newBackend := func(t *testing.T) payload.Backend { return newSubject(t).Backend }
	t.Run("backend", func(t *testing.T) { runBackend(t, newBackend) })
	t.Run("store", func(t *testing.T) { runStore(t, newBackend) })
	t.Run("rot", func(t *testing.T) { runRot(t, newSubject) })
}

// BadKeys are strings that look like digests, or try to leave the store, by what is wrong with them.
func BadKeys() map[string]string {
	good := string(payload.Of(nil))
	return map[string]string{
		"traversal":         "../../etc/passwd",
		"padded traversal":  "../" + good[3:],
		"trailing newline":  good + "\n",
		"newline inside":    good[:63] + "\n",
		"upper case":        "E" + good[1:],
		"63 digits":         good[:63],
		"65 digits":         good + "0",
		"full-width digits": strings.Repeat("０", 64),
		"full-width, 64 B":  "０" + good[3:],
		"percent encoded":   "%2e%2e%2f" + good[9:],
		"NUL inside":        good[:32] + "\x00" + good[33:],
		"empty":             "",
		"slash inside":      good[:2] + "/" + good[3:],
		"not hex":           "g" + good[1:],
		"very long":         strings.Repeat("a", 1<<16),
	}
}

// object returns size bytes that depend on seed only, and their key.
func object(size int, seed uint64) (key string, data []byte) {
	data = make([]byte, size)
	var state [32]byte
	state[0], state[1] = byte(seed), byte(seed>>8)
	rand.NewChaCha8(state).Read(data)
	return string(payload.Of(data)), data
}

// smaller returns full, or few with -short.
func smaller(full, few int) int {
	if testing.Short() {
		return few
	}
	return full
}

// ended returns a context that was cancelled.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
