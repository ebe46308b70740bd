package sqlitefile

import (
	"bytes"
	"database/sql"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
)

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n) }

// TestBlocksHoldWhatIsWritten checks that no block is given to two at once, and that one keeps its bytes when it becomes longer or shorter.
func TestBlocksHoldWhatIsWritten(t *testing.T) {
	type block struct {
		at   uintptr
		size int
		fill byte
	}
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			tls := libc.NewTLS()
			defer tls.Close()
			random := rand.New(rand.NewPCG(seed, 1))
			var held []block
			size := func() int { return 1 + random.IntN(1<<(1+random.IntN(18))) }
			write := func(b block) block {
				copy(bytesAt(b.at, b.size), bytes.Repeat([]byte{b.fill}, b.size))
				return b
			}
			for range 20_000 {
				i := random.IntN(len(held) + 1)
				if i == len(held) {
					n := size()
					held = append(held, write(block{allocate(tls, int32(n)), n, byte(random.Uint32())}))
					continue
				}
				b := held[i]
				if got := bytesAt(b.at, b.size); bytes.Count(got, []byte{b.fill}) != b.size || sizeOf(tls, b.at) != int32(b.size) {
					t.Errorf("a block of %d bytes has changed", b.size)
					return
				}
				if random.IntN(2) == 0 {
					release(tls, b.at)
					held[i] = held[len(held)-1]
					held = held[:len(held)-1]
					continue
				}
				n := size()
				at := reallocate(tls, b.at, int32(n))
				if both := min(n, b.size); bytes.Count(bytesAt(at, both), []byte{b.fill}) != both {
					t.Errorf("a block of %d bytes that became one of %d has changed", b.size, n)
					return
				}
				held[i] = write(block{at, n, b.fill})
			}
			for _, b := range held {
				release(tls, b.at)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, memory.kept, room)
}

// TestSQLiteUsesTheBlocks checks that the functions are those that SQLite calls, and that a connection that is closed leaves its memory to the next one.
func TestSQLiteUsesTheBlocks(t *testing.T) {
	free := func() (count int) {
		memory.mu.Lock()
		defer memory.mu.Unlock()
		for _, list := range memory.free {
			count += len(list)
		}
		return count
	}
	open := func() *sql.DB {
		db, err := sql.Open("sqlite", ":memory:")
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `create table t (a, b)`)
		require.NoError(t, err)
		return db
	}
	require.NoError(t, open().Close())
	before := free()
	require.Positive(t, before)
	db := open()
	require.Less(t, free(), before)
	require.NoError(t, db.Close())
	require.Equal(t, before, free())
}

func BenchmarkConnection(b *testing.B) {
	for b.Loop() {
		db, err := sql.Open("sqlite", ":memory:")
		require.NoError(b, err)
		_, err = db.ExecContext(b.Context(), `create table t (a, b)`)
		require.NoError(b, err)
		require.NoError(b, db.Close())
	}
}
