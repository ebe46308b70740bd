package pgstore_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/services"
	"waymark/tests/services/pg"
)

// lostCommits is how many replies, and how many requests, TestLostCommits loses.
var lostCommits = flag.Int("lost", 4, "how many replies to commits, and how many commits, TestLostCommits loses")

// insistent is a driver whose caller commits the same again when he does not know what became of it, as the contract allows.
type insistent struct {
	landscape.Driver
	repeats int
}

func (d *insistent) Commit(ctx context.Context, b landscape.Tx) error {
	err := d.Driver.Commit(ctx, b)
	for ; err != nil && !known(err); err = d.Driver.Commit(ctx, b) {
		d.repeats++
		if moved, check := d.moved(ctx, b); moved || check != nil {
			return check
		}
	}
	return err
}

// known reports whether the error says that nothing is stored.
func known(err error) bool {
	_, diverged := errors.AsType[*landscape.DivergedError](err)
	_, imbalance := errors.AsType[*landscape.ImbalanceError](err)
	return diverged || imbalance || errors.Is(err, landscape.ErrStale) || errors.Is(err, landscape.ErrSuperseded) || errors.Is(err, landscape.ErrFull)
}

// moved reports whether the first move of a batch is done: then all of the batch is. A batch without moves can simply be repeated.
func (d *insistent) moved(ctx context.Context, b landscape.Tx) (done bool, err error) {
	if len(b.Move) == 0 {
		return false, nil
	}
	to := b.Move[0].To
	t := landscape.TableOf(to)
	want := t.AppendValues(nil, to)
	err = d.Read(ctx, t.Zero(), landscape.Query{Prefix: want[:t.Keys]}, func(r landscape.Record) bool {
		done = fmt.Sprint(t.AppendValues(nil, r)) == fmt.Sprint(want)
		return true
	})
	return done, err
}

// TestLostCommits loses the replies to commits, and commits, and holds that the record is what it is without: nothing is missing and
// nothing is there twice.
func TestLostCommits(t *testing.T) {
	for name, lose := range map[string]func(*services.Proxy, func([]byte) bool){
		"replies": (*services.Proxy).LoseReply, "requests": (*services.Proxy).LoseRequest,
	} {
		t.Run(name, func(t *testing.T) {
			clean, _ := create(t)
			_, db := create(t)
			proxy := services.Cut(t, db.Address())
			lossy := &insistent{Driver: open(t, db.Through(proxy.Address()))}
			lose(proxy, func(request []byte) bool { return pg.Commit(request) || pg.Batch(request) })
			proxy.Every(5) // a transaction that goes step by step has up to three such requests: it comes through
			runs := 0
			for ; proxy.Lost() < *lostCommits; runs++ {
				require.NoError(t, playNumber(t.Context(), lossy, runs))
			}
			proxy.Heal()
			t.Logf("%d lost in %d runs", proxy.Lost(), runs)
			require.Positive(t, lossy.repeats, "what may be stored is the caller's to repeat")
			require.LessOrEqual(t, lossy.repeats, proxy.Lost(), "nothing else is; a batch within a transaction goes again")
			for n := range runs {
				require.NoError(t, playNumber(t.Context(), clean, n))
			}
			for _, table := range landscape.Tables() {
				require.Equal(t, all(t, clean, table), all(t, lossy, table), table.Name)
			}
		})
	}
}

// playNumber plays the run with this number: equal numbers give equal records.
func playNumber(ctx context.Context, d landscape.Driver, n int) error {
	at := time.Date(2025, 3, 1, 8, 0, 0, 0, time.UTC)
	log := landscape.New(d, func() time.Time { at = at.Add(time.Second); return at })
	run := fmt.Sprintf("run %06d", n)
	if n%2 == 0 {
		return landscapetest.GraphScene{Run: run, Chunks: 3, ChunkRows: 6}.Play(ctx, log)
	}
	return landscapetest.Scene{Run: run, Chunks: 3, ChunkRows: 20}.Play(ctx, log)
}

// all returns all records of a table.
func all(t *testing.T, d landscape.Driver, table *landscape.Table) (found []landscape.Record) {
	t.Helper()
	require.NoError(t, d.Read(t.Context(), table.Zero(), landscape.Query{}, func(r landscape.Record) bool {
		found = append(found, r)
		return true
	}))
	return found
}
