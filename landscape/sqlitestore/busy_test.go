package sqlitestore_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/sqlitestore"
)

// TestABusyWriterLeavesTurns lets one process commit long transactions without a pause, as one does that records very many slots. Another process
// gets its turns meanwhile.
func TestABusyWriterLeavesTurns(t *testing.T) {
	const turns, records, most = 10, 5_000, 3
	path := filepath.Join(t.TempDir(), "landscape.db")
	busy, other := openNew(t, path), openNew(t, path)
	committed := make(chan struct{}, 1)
	var stop atomic.Bool
	var commits atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for !stop.Load() && !t.Failed() {
			if err := busy.Commit(t.Context(), heals(1, int(commits.Add(1)), records)); err != nil {
				t.Error(err)
			}
			select {
			case committed <- struct{}{}:
			default:
			}
		}
	})
	defer group.Wait()
	defer stop.Store(true)
	for n := range turns {
		<-committed
		require.NoError(t, other.Commit(t.Context(), heals(2, n, 1)))
	}
	require.Less(t, commits.Load(), int64(turns*most))
}

func openNew(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// heals is the n-th batch of records of a writer.
func heals(writer landscape.Micros, n, records int) (batch landscape.Tx) {
	for i := range records {
		digest := fmt.Sprintf("%064d", n*records+i)
		batch.Insert = append(batch.Insert, landscape.Heal{Digest: digest, At: writer, Reason: "short", SetAside: "x"})
	}
	return batch
}
