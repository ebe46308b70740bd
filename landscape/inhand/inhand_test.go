package inhand_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/inhand"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// spy is a driver that counts what reaches it.
type spy struct {
	landscape.Driver
	reads, commits atomic.Int64
	fail           error // of the next commit
}

func (s *spy) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	s.reads.Add(1)
	return s.Driver.Read(ctx, kind, q, yield)
}

func (s *spy) Commit(ctx context.Context, tx landscape.Tx) error {
	s.commits.Add(1)
	if err := s.fail; err != nil {
		s.fail = nil
		return err
	}
	return s.Driver.Commit(ctx, tx)
}

func open(t *testing.T) *spy {
	t.Helper()
	store, err := blank.Open(t.Context(), filepath.Join(t.TempDir(), "landscape.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &spy{Driver: store}
}

// witness asks the database as well, whatever is in hand.
type witness struct {
	*inhand.Driver
	t     *testing.T
	store landscape.Driver
	asked int
}

func (w *witness) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	var want, got []landscape.Record
	err := w.store.Read(ctx, kind, q, func(r landscape.Record) bool { want = append(want, r); return true })
	require.NoError(w.t, err)
	err = w.Driver.Read(ctx, kind, q, func(r landscape.Record) bool { got = append(got, r); return true })
	require.NoError(w.t, err)
	require.Equal(w.t, want, got, "%s %+v", kind.Table(), q)
	w.asked++
	for _, r := range got {
		if !yield(r) {
			break
		}
	}
	return nil
}

// TestHandIsTheDatabase holds that a run in hand has the answers that the database gives, to whatever the landscape
// asks while runs of many shapes are recorded.
func TestHandIsTheDatabase(t *testing.T) {
	store := open(t)
	w := &witness{Driver: inhand.New(store), t: t, store: store.Driver}
	log := landscape.New(w, nil)
	for n := range 4 {
		scene := landscapetest.Scene{Run: fmt.Sprintf("scene %d", n), Chunks: n, ChunkRows: 20}
		require.NoError(t, log.Accept(t.Context(), landscape.Start{Run: scene.Run, Params: "{}"}))
		require.NoError(t, scene.Play(t.Context(), log))
		graph := landscapetest.GraphScene{Run: fmt.Sprintf("graph %d", n), Chunks: n + 1, ChunkRows: 6}
		require.NoError(t, graph.Play(t.Context(), log))
	}
	require.Less(t, int(store.reads.Load()), w.asked*3/4, "many answers came from memory")
	require.Positive(t, w.asked)
}

// begun returns two processes that share a record, of which the first has begun a run.
func begun(t *testing.T) (store *spy, first, second *inhand.Driver) {
	t.Helper()
	store = open(t)
	first, second = inhand.New(store), inhand.New(store)
	scene := landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 3}
	require.NoError(t, scene.Begin(t.Context(), landscape.New(first, nil)))
	require.True(t, inHand(t, store, first))
	require.False(t, inHand(t, store, second))
	return store, first, second
}

// inHand reports whether a driver answers without its database.
func inHand(t *testing.T, store *spy, d landscape.RecordReader) bool {
	t.Helper()
	before := store.reads.Load()
	_, err := landscape.Select[landscape.Node](t.Context(), d, "r")
	require.NoError(t, err)
	return store.reads.Load() == before
}

func event(n int64) landscape.EffectEvent {
	return landscape.EffectEvent{
		EffectKey: landscape.PublishKey("r", "review"), Fence: n, Event: landscape.EffectFailed, Worker: "w", At: 1,
	}
}

func tx(records ...landscape.Record) landscape.Tx {
	return landscape.Tx{Insert: records, Guard: &landscape.Guard{Run: "r"}}
}

// TestOthersAreNoticed holds that a run is put down as soon as it comes to light that somebody else records it, too.
func TestOthersAreNoticed(t *testing.T) {
	t.Run("a record was there", func(t *testing.T) {
		store, first, second := begun(t)
		require.NoError(t, second.Commit(t.Context(), tx(event(0))))
		require.NoError(t, first.Commit(t.Context(), tx(event(1))))
		require.True(t, inHand(t, store, first))
		require.NoError(t, first.Commit(t.Context(), tx(event(0), event(2))))
		require.False(t, inHand(t, store, first))
		events, err := landscape.Select[landscape.EffectEvent](t.Context(), first, "r")
		require.NoError(t, err)
		require.Len(t, events, 3)
	})
	t.Run("another epoch", func(t *testing.T) {
		store, first, _ := begun(t)
		require.ErrorIs(t, first.Commit(t.Context(), landscape.Tx{
			Insert: []landscape.Record{event(0)}, Guard: &landscape.Guard{Run: "r", Epoch: 1},
		}), landscape.ErrSuperseded)
		require.False(t, inHand(t, store, first))
	})
	t.Run("an answer is lost", func(t *testing.T) {
		store, first, _ := begun(t)
		lost := errors.New("lost")
		store.fail = lost
		require.ErrorIs(t, first.Commit(t.Context(), tx(event(0))), lost)
		require.False(t, inHand(t, store, first))
	})
	t.Run("it is released", func(t *testing.T) {
		store, first, _ := begun(t)
		first.Release("r")
		require.False(t, inHand(t, store, first))
	})
	t.Run("it holds too much", func(t *testing.T) {
		store, first, _ := begun(t)
		large := event(0)
		large.Detail = fmt.Sprintf("%300000d", 1)
		require.NoError(t, first.Commit(t.Context(), tx(large)))
		require.False(t, inHand(t, store, first))
	})
}

// TestRemembered holds that who remembers asks the record once, whatever columns it wants, and that what was not read
// to its end, or is too much, is asked again.
func TestRemembered(t *testing.T) {
	store, _, other := begun(t)
	ctx := inhand.Remember(t.Context())
	asks := func(ctx context.Context, ask func(ctx context.Context) error) int64 {
		before := store.reads.Load()
		require.NoError(t, ask(ctx))
		return store.reads.Load() - before
	}
	log := landscape.New(other, nil)
	run := func(ctx context.Context) error { _, err := log.Run(ctx, "r"); return err }
	head := func(ctx context.Context) error {
		_, err := landscape.Select[landscape.RunHead](ctx, other, "r")
		return err
	}
	first := func(ctx context.Context) error {
		return other.Read(ctx, landscape.Edge{}, landscape.Query{Prefix: []any{"r"}}, func(landscape.Record) bool { return false })
	}
	require.EqualValues(t, 1, asks(ctx, run))
	require.Zero(t, asks(ctx, run))
	require.Zero(t, asks(ctx, head))
	for range 2 {
		require.EqualValues(t, 1, asks(ctx, first))
		require.EqualValues(t, 1, asks(t.Context(), run))
	}
	many := make([]landscape.Record, 257)
	for n := range many {
		many[n] = event(int64(n))
	}
	require.NoError(t, other.Commit(t.Context(), tx(many...)))
	events := func(ctx context.Context) error {
		got, err := log.EffectEvents(ctx, "r")
		require.Len(t, got, 257)
		return err
	}
	for range 2 {
		require.EqualValues(t, 1, asks(ctx, events))
	}
}

// TestMembersCommitTogether holds that what the members of a group commit at the same time is one transaction, and that
// one whose transaction is refused takes no other with it.
func TestMembersCommitTogether(t *testing.T) {
	store, first, _ := begun(t)
	together := func(txs ...landscape.Tx) []error {
		group := inhand.NewGroup(time.Minute)
		for range txs {
			group.Enter()
		}
		failed := make([]error, len(txs))
		var all sync.WaitGroup
		for i := range txs {
			all.Go(func() {
				defer group.Leave()
				failed[i] = first.Commit(group.Member(t.Context()), txs[i])
			})
		}
		all.Wait()
		return failed
	}
	committed := func() int { return int(store.commits.Swap(0)) }
	committed()
	require.Equal(t, []error{nil, nil, nil}, together(tx(event(0)), tx(event(1)), tx(event(2))))
	require.Equal(t, 1, committed())
	other := event(0)
	other.Detail = "something else"
	failed := together(tx(event(3)), tx(other))
	require.NoError(t, failed[0])
	require.ErrorAs(t, failed[1], new(*landscape.DivergedError))
	events, err := landscape.Select[landscape.EffectEvent](t.Context(), first, "r")
	require.NoError(t, err)
	require.Len(t, events, 4)
	began := time.Now()
	group := inhand.NewGroup(3 * time.Millisecond)
	group.Enter()
	group.Enter()
	require.NoError(t, first.Commit(group.Member(t.Context()), tx(event(4))))
	require.Less(t, time.Since(began), time.Second, "it does not wait for ever")
	began, group = time.Now(), inhand.NewGroup(time.Minute)
	group.Enter()
	group.Enter()
	time.AfterFunc(10*time.Millisecond, group.Leave)
	require.NoError(t, first.Commit(group.Member(t.Context()), tx(event(5))))
	require.Less(t, time.Since(began), 30*time.Second, "it waits for no member that left")
}
