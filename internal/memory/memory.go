// Package memory keeps the memory of a process near what its work takes.
package memory

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Limit makes the garbage collector work harder as the memory of the Go runtime nears so many bytes, until lift is called; far from the limit,
// garbage may reach that many percent of what is alive. The program's text and SQLite's pages come on top. What is alive is left
// room beyond the limit, or the collector would do little else than run: 200,000 groups that a barrier holds took twice the CPU time. A
// GOMEMLIMIT that is set takes precedence. One limit holds at a time.
func Limit(bytes int64, percent int) (lift func()) {
	if debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return func() {}
	}
	l := &memoryLimit{bytes: bytes}
	debug.SetMemoryLimit(bytes)
	debug.SetGCPercent(percent)
	l.watch()
	return l.lift
}

// memoryLimit is a limit that follows what is alive.
type memoryLimit struct {
	bytes  int64
	mu     sync.Mutex // held while the runtime's limit is set
	lifted bool
}

// watch sets the limit after every collection: an object that nobody knows tells of the next.
func (l *memoryLimit) watch() {
	runtime.SetFinalizer(new(collected), func(*collected) {
		if l.follow() {
			l.watch()
		}
	})
}

// collected is large enough to be an allocation of its own.
type collected [32]byte

// follow leaves what is alive room, and reports whether the limit still holds.
func (l *memoryLimit) follow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lifted {
		return false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(max(l.bytes, limitFor(live[0].Value.Uint64())))
	return true
}

// limitFor returns the least limit for a heap of which so much is alive: with less than two fifths of it as room for what is not, and for
// stacks and the like, half of all CPU time goes into collecting.
func limitFor(live uint64) int64 { return int64(live + live*2/5) }

func (l *memoryLimit) lift() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lifted = true
	debug.SetMemoryLimit(math.MaxInt64)
}
