package sqlitefile

import (
	"math/bits"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite "modernc.org/sqlite/lib"
)

// blocks is the memory of every SQLite connection of the process. SQLite asks for some, and lets go of it, thousands of
// times for a connection, and a connection that reads lets go of all its pages whenever another one has written. The
// allocator that comes with it returns to the operating system what is empty for a moment, only to ask for it again.
// This one keeps what SQLite lets go of for the next block of its size: a process holds as much as it once needed.
//
// A block has a power of two of bytes. Its first word says how many bytes were asked for. The free blocks are listed
// outside of them: to read where the next one is in a block that nothing has used for a while would take longer than
// everything else here, a quarter of the time in which a connection reads a large schema.
type blocks struct {
	mu   sync.Mutex
	free [32][]uintptr // the free blocks of each size, by the logarithm of the size
	kept int           // bytes of the free blocks that are large
}

const (
	head  = 8        // bytes of a block before those that were asked for
	least = 5        // logarithm of the size of the smallest block
	large = 15       // and of the smallest one that is a mapping of its own
	room  = 16 << 20 // bytes of large blocks that are kept
)

var memory blocks

// logOf returns the logarithm of the size of a block for n bytes.
func logOf(n int32) int { return max(least, bits.Len32(uint32(n)+head-1)) }

// wordAt returns the word at an address outside Go's memory.
func wordAt(p uintptr) *uintptr { return *(**uintptr)(unsafe.Pointer(&p)) }

func sizeOf(_ *libc.TLS, p uintptr) int32 { return int32(*wordAt(p - head)) }

func allocate(tls *libc.TLS, n int32) uintptr {
	log := logOf(n)
	p := memory.take(log)
	if p == 0 {
		p = libc.Xmalloc(tls, libc.Tsize_t(1)<<log)
	}
	if p == 0 {
		return 0
	}
	*wordAt(p) = uintptr(n)
	return p + head
}

func release(tls *libc.TLS, p uintptr) {
	if log := logOf(sizeOf(tls, p)); !memory.keep(p-head, log) {
		libc.Xfree(tls, p-head)
	}
}

func reallocate(tls *libc.TLS, p uintptr, n int32) uintptr {
	had := sizeOf(tls, p)
	if logOf(n) == logOf(had) {
		*wordAt(p - head) = uintptr(n)
		return p
	}
	moved := allocate(tls, n)
	if moved != 0 {
		libc.Xmemcpy(tls, moved, p, libc.Tsize_t(min(n, had)))
		release(tls, p)
	}
	return moved
}

// take returns a free block, and 0 if there is none of this size.
func (b *blocks) take(log int) (p uintptr) {
	b.mu.Lock()
	if last := len(b.free[log]) - 1; last >= 0 {
		p, b.free[log] = b.free[log][last], b.free[log][:last]
		if log >= large {
			b.kept -= 1 << log
		}
	}
	b.mu.Unlock()
	return p
}

// keep reports whether there was room for a block that is free now.
func (b *blocks) keep(p uintptr, log int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if log >= large {
		if b.kept+1<<log > room {
			return false
		}
		b.kept += 1 << log
	}
	b.free[log] = append(b.free[log], p)
	return true
}

// What SQLite calls it knows by the addresses of these variables' functions.
var (
	xMalloc   = allocate
	xFree     = release
	xRealloc  = reallocate
	xSize     = sizeOf
	xRoundup  = func(_ *libc.TLS, n int32) int32 { return (n + 7) &^ 7 }
	xInit     = func(*libc.TLS, uintptr) int32 { return sqlite.SQLITE_OK }
	xShutdown = func(*libc.TLS, uintptr) {}
)

func address[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

// A process that has used SQLite already, and thereby its allocator, keeps that one.
func init() {
	tls := libc.NewTLS()
	defer tls.Close()
	methods := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite.Tsqlite3_mem_methods{})))
	if methods == 0 {
		return
	}
	defer libc.Xfree(tls, methods)
	**(**sqlite.Tsqlite3_mem_methods)(unsafe.Pointer(&methods)) = sqlite.Tsqlite3_mem_methods{
		FxMalloc: address(&xMalloc), FxFree: address(&xFree), FxRealloc: address(&xRealloc), FxSize: address(&xSize),
		FxRoundup: address(&xRoundup), FxInit: address(&xInit), FxShutdown: address(&xShutdown),
	}
	args := libc.NewVaList(methods)
	defer libc.Xfree(tls, args)
	sqlite.Xsqlite3_config(tls, sqlite.SQLITE_CONFIG_MALLOC, args)
}
