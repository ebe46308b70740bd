package sqlitestore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// TestGroup lets batches wait for a transaction that takes long: the good ones go into one, and if one among them is refused, it alone
// learns why and the others are stored.
func TestGroup(t *testing.T) {
	const good = 20
	heal := func(i int, reason string) landscape.Tx {
		return landscape.Tx{Insert: []landscape.Record{landscape.Heal{Digest: fmt.Sprintf("%064d", i), At: 1, Reason: reason, SetAside: "x"}}}
	}
	superseded := heal(100, "late")
	superseded.Guard = &landscape.Guard{Run: "r", Epoch: 7}
	for name, c := range map[string]struct {
		refused map[error]landscape.Tx
		commits int // transactions
	}{
		"all good":         {commits: 1},
		"one is of before": {refused: map[error]landscape.Tx{landscape.ErrSuperseded: superseded}, commits: good},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "landscape.db")
			store, err := Open(t.Context(), path, Options{Create: true})
			require.NoError(t, err)
			defer store.Close()
			log := landscape.New(store, nil)
			require.NoError(t, landscapetest.Scene{Run: "r"}.Begin(t.Context(), log))
			require.NoError(t, store.Commit(t.Context(), heal(0, "short")))
			before := commits(t, path)

			store.group.turn.Lock()
			answers := make(chan error)
			for i := range good {
				go func() { answers <- store.Commit(t.Context(), heal(i, "short")) }() // that of 0 is there
			}
			refused := make(chan [2]error, len(c.refused))
			for wanted, batch := range c.refused {
				go func() { refused <- [2]error{wanted, store.Commit(t.Context(), batch)} }()
			}
			store.group.await(good + len(c.refused))
			store.group.turn.Unlock()
			for range good {
				require.NoError(t, <-answers)
			}
			for range c.refused {
				got := <-refused
				require.ErrorIs(t, got[1], got[0])
			}
			heals, err := log.Heals(t.Context())
			require.NoError(t, err)
			require.Len(t, heals, good)
			// One of the good ones is a repeat, which changes no page and leaves no mark in the log.
			require.Equal(t, before+min(c.commits, good-1), commits(t, path))
		})
	}
}

// await returns when so many batches wait.
func (g *group) await(n int) {
	for {
		g.mu.Lock()
		there := len(g.waiting)
		g.mu.Unlock()
		if there == n {
			return
		}
		runtime.Gosched()
	}
}

// commits counts the transactions in a write-ahead log: the frames that tell the size of the database after them.
func commits(t *testing.T, path string) (n int) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	require.NoError(t, err)
	const header, frameHeader = 32, 24
	salts := log[16:24]
	for log = log[header:]; len(log) >= frameHeader+pageBytes; log = log[frameHeader+pageBytes:] {
		if bytes.Equal(log[8:16], salts) && binary.BigEndian.Uint32(log[4:]) != 0 {
			n++
		}
	}
	return n
}

// BenchmarkCommits commits small batches, as many side by side.
func BenchmarkCommits(b *testing.B) {
	for _, beside := range []int{1, 16} {
		b.Run(fmt.Sprint("beside=", beside), func(b *testing.B) {
			store, err := Open(b.Context(), filepath.Join(b.TempDir(), "landscape.db"), Options{Create: true})
			require.NoError(b, err)
			defer store.Close()
			log := landscape.New(store, nil)
			answers := make(chan error)
			b.ResetTimer()
			for w := range beside {
				go func() {
					var failed error
					for i := w; i < b.N; i += beside {
						if err := log.RecordHeal(b.Context(), fmt.Sprintf("%064d", i), "short", "x"); err != nil {
							failed = err
						}
					}
					answers <- failed
				}()
			}
			for range beside {
				require.NoError(b, <-answers)
			}
		})
	}
}
