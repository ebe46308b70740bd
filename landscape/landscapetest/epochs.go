package landscapetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// guards holds what a driver and a log say of guards.
func guards(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "g"})
	event := func(seq int64) landscape.RunEvent {
		return landscape.RunEvent{Run: "g", Seq: seq, Event: "seen", At: 1}
	}
	commit := func(epoch int64, insert ...landscape.Record) error {
		return d.Commit(ctx, landscape.Tx{Insert: insert, Guard: &landscape.Guard{Run: "g", Epoch: epoch}})
	}
	require.NoError(t, commit(0, event(0)))
	require.ErrorIs(t, commit(1, event(1)), landscape.ErrSuperseded)
	require.NoError(t, log.Resume(ctx, resumptionOf("g", 1)))
	require.NoError(t, commit(1, event(1)))

	t.Run("an earlier epoch stores nothing", func(t *testing.T) {
		before := snapshot(t, d)
		require.ErrorIs(t, commit(0, event(2)), landscape.ErrSuperseded)
		require.ErrorIs(t, commit(0, event(0)), landscape.ErrSuperseded, "not even what is there")
		other := event(0)
		other.Detail = "other"
		require.ErrorIs(t, commit(0, other), landscape.ErrSuperseded, "whatever else is wrong")
		require.Equal(t, before, snapshot(t, d))
	})
	t.Run("a run that has ended", func(t *testing.T) {
		running := func(run string, epoch int64) error {
			return d.Commit(ctx, landscape.Tx{Guard: &landscape.Guard{Run: run, Epoch: epoch, Running: true}})
		}
		require.NoError(t, running("g", 1))
		require.NoError(t, running("not there", 0))
		require.NoError(t, log.StopRun(ctx, "g", pipeline.Failed, "x"))
		require.ErrorIs(t, running("g", 1), landscape.ErrEnded)
		require.ErrorIs(t, running("g", 0), landscape.ErrSuperseded)
		require.NoError(t, commit(1), "others do not ask")
	})
	t.Run("a run that is not there is in epoch 0", func(t *testing.T) {
		run, graph := Scene{Run: "later"}.Graph()
		require.ErrorIs(t, log.InEpoch("later", 1).BeginRun(ctx, run, graph), landscape.ErrSuperseded)
		require.Empty(t, stored[landscape.Run](t, d, "later"))
		require.NoError(t, log.InEpoch("later", 0).BeginRun(ctx, run, graph))
	})
	t.Run("of a log in an epoch", func(t *testing.T) { logInEpoch(t, d, log) })
	t.Run("against a run that is resumed", func(t *testing.T) { guardRace(t, d) })
	t.Run("of who takes a run up while another does", func(t *testing.T) { overtaken(t, d) })
}

// logInEpoch holds that a log in an epoch guards whatever it stores.
func logInEpoch(t *testing.T, d landscape.Driver, log *landscape.Log) {
	ctx := t.Context()
	s := Scene{Run: "zombie", Chunks: 2, ChunkRows: 10, Way: func(int64) int { return 0 }}
	require.NoError(t, s.Begin(ctx, log))
	zombie := log.InEpoch(s.Run, 0)
	require.NoError(t, s.Read(ctx, zombie))
	require.NoError(t, zombie.RecordPassage(ctx, s.Passage(0)))
	key := landscape.EffectKey{Run: s.Run, Sink: "review", Source: Source}
	effect, err := zombie.BeginEffect(ctx, key, landscape.Placement{}, "w")
	require.NoError(t, err)
	require.NoError(t, log.Resume(ctx, resumptionOf(s.Run, 1)))

	before := snapshot(t, d)
	chunk, records := s.Chunk(0)
	run, graph := s.Graph()
	_, begin := zombie.BeginEffect(ctx, key, landscape.Placement{}, "w")
	for what, err := range map[string]error{
		"begin run": zombie.BeginRun(ctx, run, graph), "chunk": zombie.RecordChunk(ctx, chunk, records), "end": zombie.EndSource(ctx, s.End()),
		"passage": zombie.RecordPassage(ctx, s.Passage(1)), "begin": begin,
		"finalize": zombie.FinalizeEffect(ctx, effect.Attempt("w"), `{}`), "fail": zombie.FailEffect(ctx, effect.Attempt("w"), "x"),
		"stop": zombie.StopRun(ctx, s.Run, pipeline.Failed, "x"), "cancel": zombie.CancelRun(ctx, s.Run, true, "w", "x"),
		"action": zombie.RecordAction(ctx, s.Run, "v", "w", ""), "event": zombie.RecordEvent(ctx, s.Run, "e", ""),
		"heal": zombie.RecordHeal(ctx, digest("healed by a zombie"), "short", "x"),
	} {
		require.ErrorIs(t, err, landscape.ErrSuperseded, what)
	}
	require.Equal(t, before, snapshot(t, d))
	require.NoError(t, log.InEpoch(s.Run, 1).RecordPassage(ctx, s.Passage(1)))
	require.NoError(t, zombie.InEpoch(s.Run, 1).FinalizeEffect(ctx, effect.Attempt("w"), `{}`), "another guard replaces it")
}

// guardRace lets writers of epoch 0 run into two that resume the run: what was confirmed is there, and once somebody resumed the
// run nothing is added.
func guardRace(t *testing.T, d landscape.Driver) {
	const workers, rounds = 4, 10
	ctx := t.Context()
	for round := range rounds {
		run := fmt.Sprint("race", round)
		log := begun(t, d, Scene{Run: run})
		old, confirmed := log.InEpoch(run, 0), make([]int, workers)
		var group, claiming, writing sync.WaitGroup
		var over atomic.Bool
		writing.Add(workers)
		for w := range workers {
			group.Go(func() {
				first := sync.OnceFunc(writing.Done)
				defer first()
				for old.RecordEvent(ctx, run, "written", fmt.Sprint("by ", w)) == nil {
					confirmed[w]++
					first()
					if over.Load() {
						return
					}
				}
			})
		}
		writing.Wait()
		errs, after := make([]error, 2), make([]int, 2)
		for i := range errs {
			claiming.Go(func() {
				r := resumptionOf(run, 1)
				r.Claim = fmt.Sprint("claim of ", i)
				errs[i] = log.Resume(ctx, r)
				events, err := landscape.Select[landscape.RunEvent](ctx, log, run)
				errs[i] = errors.Join(errs[i], err)
				after[i] = len(events)
			})
		}
		claiming.Wait()
		over.Store(true)
		group.Wait()
		total := 0
		for _, n := range confirmed {
			require.Positive(t, n)
			total += n
		}
		require.Len(t, stored[landscape.RunEvent](t, d, run), total)
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		require.NoError(t, errs[winner])
		require.ErrorIs(t, errs[1-winner], landscape.ErrSuperseded)
		require.Equal(t, []int{total, total}, after, "nothing came after the run was resumed")
	}
}

// overtaken takes a run up while another does, at each moment between what the other reads and what it stores.
func overtaken(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	for sealed, least := range map[bool]int{false: 2, true: 20} { // whose records are compared with its seal
		reads := 0
		for at := 0; at <= reads; at++ {
			run := fmt.Sprint("overtaken", sealed, at)
			log := begun(t, d, Scene{Run: run})
			if sealed {
				require.NoError(t, log.StopRun(ctx, run, pipeline.Failed, "broken"))
			}
			first, second := resumptionOf(run, 1), resumptionOf(run, 1)
			first.Claim, second.Claim = "first", "second"
			slow := &interrupted{Driver: d, at: at, do: func() { require.NoError(t, log.Resume(ctx, first)) }}
			require.ErrorIs(t, landscape.New(slow, nil).Resume(ctx, second), landscape.ErrSuperseded)
			reads = max(reads, min(slow.reads, 60))
			claims := stored[landscape.Resumption](t, d, run)
			require.Len(t, claims, 1)
			require.Equal(t, "first", claims[0].Claim)
		}
		require.GreaterOrEqual(t, reads, least)
	}
}

// interrupted is a driver that does something before the read with the number at, or else before the first commit.
type interrupted struct {
	landscape.Driver
	at, reads int
	done      bool
	do        func()
}

func (i *interrupted) Read(ctx context.Context, kind landscape.Record, q landscape.Query, yield func(landscape.Record) bool) error {
	if i.reads == i.at && !i.done {
		i.done = true
		i.do()
	}
	i.reads++
	return i.Driver.Read(ctx, kind, q, yield)
}

func (i *interrupted) Commit(ctx context.Context, b landscape.Tx) error {
	if !i.done {
		i.done = true
		i.do()
	}
	return i.Driver.Commit(ctx, b)
}
