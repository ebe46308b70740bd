package landscapetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/seal"
	"waymark/pipeline"
	"waymark/plugin"
)

// RequireSealed requires that a run that has ended is sealed, and its records are those that its last seal binds.
func RequireSealed(t testing.TB, log *landscape.Log, run string) {
	t.Helper()
	_, added, err := log.SealRun(t.Context(), run)
	require.NoError(t, err)
	require.False(t, added, "the run had no seal")
}

// FitsSeal reports whether the records of a run have the root of its last seal.
func FitsSeal(ctx context.Context, log *landscape.Reader, run string) (bool, error) {
	seals, err := log.RunSeals(ctx, run)
	if err != nil || len(seals) == 0 {
		return false, err
	}
	last := seals[len(seals)-1]
	salts, err := log.RunSalts(ctx, run, last.Seq)
	if err != nil {
		return false, err
	}
	tree := seal.NewRunTree(salts)
	err = log.RunLeaves(ctx, run, func(leaf landscape.RunLeaf) bool {
		tree.Add(leaf.Line)
		return true
	})
	root := tree.Root()
	return bytes.Equal(root[:], last.Root), err
}

// runSeals holds what a log says of runs that are sealed.
func runSeals(t *testing.T, d landscape.Driver) {
	require.NoError(t, Logged(t.Context(), landscape.New(d, nil)))
	t.Run("a run that ends", func(t *testing.T) { sealedEnd(t, d) })
	t.Run("what comes after the end", func(t *testing.T) { sealedAfter(t, d) })
	t.Run("what comes while it ends", func(t *testing.T) { sealedMeanwhile(t, d) })
	t.Run("of writers that nobody waits for", func(t *testing.T) { sealedRace(t, d) })
	t.Run("late", func(t *testing.T) { sealedLate(t, d) })
	t.Run("what is changed while the run is stopped", func(t *testing.T) { changedStopped(t, d) })
	t.Run("a seal counts records", func(t *testing.T) { sealCounts(t, d) })
	t.Run("tables with records of a run", func(t *testing.T) { tablesWith(t, d) })
}

// sealedEnd seals each of a run's ends, with an entry of the log.
func sealedEnd(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil).SealedBy(Sealer{})
	s := Scene{Run: "ends", Chunks: 2, ChunkRows: 10, Late: func(_ string, row int64) bool { return row%7 == 1 }}
	require.NoError(t, s.Play(ctx, log))
	kept := stored[landscape.RunSeal](t, d, s.Run)
	require.Len(t, kept, 1)
	leaves := map[string]int64{}
	require.NoError(t, log.RunLeaves(ctx, s.Run, func(leaf landscape.RunLeaf) bool {
		leaves[leaf.Table]++
		return true
	}))
	records, err := kept[0].Records()
	require.NoError(t, err)
	require.Equal(t, records, leaves)
	require.Positive(t, leaves["errors"], "those that targets refused late")
	require.Less(t, leaves["errors"], int64(len(stored[landscape.RowError](t, d, s.Run))), "the roots of chunks bind the others")
	require.Zero(t, leaves["hashes"])
	RequireSealed(t, log, s.Run)
	entry, err := log.LogEntryAbout(ctx, "sealed/ends/0")
	require.NoError(t, err)
	require.Positive(t, entry.Position)
	require.ErrorIs(t, log.RunLeaves(ctx, "nobody", nil), landscape.ErrNotFound)

	require.NoError(t, Scene{Run: "stops"}.Begin(ctx, log))
	for epoch := range int64(3) {
		require.NoError(t, log.StopRun(ctx, "stops", pipeline.Failed, "broken"))
		require.NoError(t, log.StopRun(ctx, "stops", pipeline.Failed, "a repeat"))
		kept := stored[landscape.RunSeal](t, d, "stops")
		require.Len(t, kept, int(epoch)+1)
		require.Equal(t, epoch, kept[epoch].Epoch)
		RequireSealed(t, log, "stops")
		require.NoError(t, log.Resume(ctx, resumptionOf("stops", epoch+1)))
	}
	require.NoError(t, log.CancelRun(ctx, "stops", false, "ann", ""))
	require.NoError(t, log.CancelRun(ctx, "stops", true, "ann", ""))
	require.Len(t, stored[landscape.RunSeal](t, d, "stops"), 5)
	RequireSealed(t, log, "stops")
}

// sealedAfter records all that may come after the end of a run, and finds it sealed. What is a repeat is not sealed again.
func sealedAfter(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "after", Chunks: 3, ChunkRows: 10, Way: func(int64) int { return 0 }, Late: func(_ string, row int64) bool { return row == 21 }}
	log := begun(t, d, s)
	require.NoError(t, s.Read(ctx, log))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(2)))
	key := func(chunk int64) landscape.EffectKey {
		return landscape.EffectKey{Run: s.Run, Sink: "review", Source: Source, Chunk: chunk}
	}
	blocked, err := log.BeginEffect(ctx, key(0), landscape.Placement{}, "w")
	require.NoError(t, err)
	require.NoError(t, log.ReconcileEffect(ctx, blocked.Attempt("w"), plugin.Unknown))
	require.NoError(t, log.StopRun(ctx, s.Run, pipeline.Blocked, "it cannot tell"))

	zombie := log.InEpoch(s.Run, 0)
	var begin landscape.Effect
	for i, do := range []func() error{
		func() error { return zombie.RecordPassage(ctx, s.Passage(1)) },
		func() error {
			begin, err = zombie.BeginEffect(ctx, key(2), landscape.Placement{Ordinal: 1, Offset: 900}, "w")
			return err
		},
		func() error {
			return zombie.FinalizeEffect(ctx, begin.Attempt("w"), `{}`, landscape.Rejection{Index: 0, Line: 1, Code: "taken", Message: "it is there"})
		},
		func() error { return log.Resolve(ctx, key(0), false, "ann", "I looked") },
		func() error { return log.RecordAction(ctx, s.Run, "v", "ann", "") },
		func() error { return zombie.RecordAction(ctx, s.Run, "v", "bob", "") },
		func() error { return log.RecordEvent(ctx, s.Run, "seen", "") },
		func() error { return log.CancelRun(ctx, s.Run, true, "ann", "enough") },
	} {
		require.NoError(t, do(), i)
		RequireSealed(t, log, s.Run)
		require.Len(t, stored[landscape.RunSeal](t, d, s.Run), i+2, i)
	}
	run, graph := s.Graph()
	require.NoError(t, zombie.BeginRun(ctx, run, graph), "a repeat")
	require.NoError(t, zombie.RecordPassage(ctx, s.Passage(1)), "a repeat")
	require.Len(t, stored[landscape.RunSeal](t, d, s.Run), 9)

	require.NoError(t, insert(t, d, landscape.RunEvent{Run: s.Run, Seq: 1, Event: "made up", At: 1}))
	require.NoError(t, log.RecordAction(ctx, s.Run, "v", "ann", "again"), "what does not fit its seal keeps nobody from acting")
	require.Len(t, stored[landscape.RunSeal](t, d, s.Run), 9, "and is not sealed again")
	_, _, err = log.SealRun(ctx, s.Run)
	require.ErrorContains(t, err, "its records are not those that its seal 8 binds: waymark verify after names them")
}

// sealedMeanwhile stops a run while something else is recorded of it, at each moment between what the stop reads and what it stores.
func sealedMeanwhile(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	for what, do := range map[string]func(log *landscape.Log, run string) error{
		"an action": func(log *landscape.Log, run string) error { return log.RecordAction(ctx, run, "v", "ann", "") },
		"a publication is prepared": func(log *landscape.Log, run string) error {
			return log.InEpoch(run, 0).PreparePublish(ctx, run, "review", 0, 0)
		},
		"another stop": func(log *landscape.Log, run string) error {
			return log.StopRun(ctx, run, pipeline.Failed, "first")
		},
	} {
		reads := 0
		for at := 0; at <= reads; at++ {
			run := fmt.Sprint(what, at)
			log := begun(t, d, Scene{Run: run})
			slow := &interrupted{Driver: d, at: at, do: func() { require.NoError(t, do(log, run)) }}
			require.NoError(t, landscape.New(slow, nil).StopRun(ctx, run, pipeline.Failed, "second"))
			reads = max(reads, min(slow.reads, 60))
			RequireSealed(t, log, run)
		}
		require.GreaterOrEqual(t, reads, 20, "the stop reads all tables")
	}
}

// sealedRace lets writers run into the end of their run. What they recorded is sealed, whenever it came.
func sealedRace(t *testing.T, d landscape.Driver) {
	const workers, each = 4, 12
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "raced"})
	var group, writing sync.WaitGroup
	errs := make([]error, workers)
	writing.Add(workers)
	for w := range workers {
		group.Go(func() {
			first := sync.OnceFunc(writing.Done)
			defer first()
			for i := range each {
				if errs[w] = log.InEpoch("raced", 0).RecordEvent(ctx, "raced", "written", fmt.Sprint(w, i)); errs[w] != nil {
					return
				}
				if i > each/3 {
					first()
				}
			}
		})
	}
	writing.Wait()
	require.NoError(t, log.StopRun(ctx, "raced", pipeline.Interrupted, "x"))
	group.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Len(t, stored[landscape.RunEvent](t, d, "raced"), workers*each)
	RequireSealed(t, log, "raced")
}

// sealedLate seals runs that ended without a seal.
func sealedLate(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "late"})
	_, _, err := log.SealRun(ctx, "late")
	require.ErrorContains(t, err, "it is running")
	unsealed := func() []string {
		runs, err := log.UnsealedRuns(ctx, 0)
		require.NoError(t, err)
		return runs
	}
	require.NotContains(t, unsealed(), "late")
	require.NoError(t, endUnsealed(ctx, d, "late"))
	require.Contains(t, unsealed(), "late")
	ended, err := log.Run(ctx, "late")
	require.NoError(t, err)
	for before, among := range map[landscape.Micros]bool{ended.Finished: true, ended.Finished - 1: false} {
		runs, err := log.UnsealedRuns(ctx, before)
		require.NoError(t, err)
		require.Equal(t, among, slices.Contains(runs, "late"))
	}
	require.NoError(t, log.RecordAction(ctx, "late", "v", "ann", ""))
	require.Empty(t, stored[landscape.RunSeal](t, d, "late"), "what comes later is no reason for a seal")
	sealed, added, err := log.SealedBy(Sealer{}).SealRun(ctx, "late")
	require.NoError(t, err)
	require.True(t, added)
	require.True(t, sealed.Late)
	require.NotContains(t, unsealed(), "late")
	again, added, err := log.SealRun(ctx, "late")
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, sealed, again)
	require.NoError(t, log.RecordAction(ctx, "late", "w", "ann", ""))
	kept := stored[landscape.RunSeal](t, d, "late")
	require.Len(t, kept, 2)
	require.True(t, kept[1].Late, "as the one before")

	require.NoError(t, log.Resume(ctx, resumptionOf("late", 1)))
	require.NoError(t, endUnsealed(ctx, d, "late"))
	require.Contains(t, unsealed(), "late")
	_, err = log.CheckSeals(ctx, "late")
	require.ErrorIs(t, err, landscape.ErrUnsealed, "its last seal is of the end before")
	_, added, err = log.SealRun(ctx, "late")
	require.NoError(t, err)
	require.True(t, added)
	sealed, err = log.CheckSeals(ctx, "late")
	require.NoError(t, err)
	require.EqualValues(t, 2, sealed.Seq)

	run, graph := Scene{Run: "saltless"}.Graph()
	graph.Key = graph.Key[1:]
	require.ErrorContains(t, log.BeginRun(ctx, run, graph), "the key of its salts has 15 bytes, not 16")
	_, _, err = log.SealRun(ctx, "nobody")
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// requireBroken requires that an error says that the records of a run are not those that were sealed.
func requireBroken(t *testing.T, err error) {
	t.Helper()
	var refused *landscape.UnsealableError
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Broken, "%v", err)
}

// changedStopped changes records of runs that stopped: they are not resumed, and nothing is stored.
func changedStopped(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "changed"})
	require.NoError(t, log.Intact(ctx, "changed"), "it is running")
	require.NoError(t, log.StopRun(ctx, "changed", pipeline.Failed, "broken"))
	require.NoError(t, log.RecordAction(ctx, "changed", "v", "ann", ""))
	require.NoError(t, log.Intact(ctx, "changed"))
	require.NoError(t, insert(t, d, landscape.RunEvent{Run: "changed", Seq: 1, Event: "made up", At: 1}))
	before := snapshot(t, d)
	requireBroken(t, log.Intact(ctx, "changed"))
	requireBroken(t, log.Resume(ctx, resumptionOf("changed", 1)))
	require.Equal(t, before, snapshot(t, d))
	require.ErrorIs(t, log.Intact(ctx, "nobody"), landscape.ErrNotFound)

	log = begun(t, d, Scene{Run: "unsealed"})
	require.NoError(t, endUnsealed(ctx, d, "unsealed"))
	require.NoError(t, insert(t, d, landscape.RunEvent{Run: "unsealed", Seq: 1, Event: "made up", At: 1}))
	require.NoError(t, log.Resume(ctx, resumptionOf("unsealed", 1)), "there is nothing to compare it with")
	require.NoError(t, log.StopRun(ctx, "unsealed", pipeline.Failed, "broken"))
	require.NoError(t, log.Resume(ctx, resumptionOf("unsealed", 2)))
	require.NoError(t, insert(t, d, landscape.RunEvent{Run: "unsealed", Seq: 2, Event: "made up", At: 1}))
	require.NoError(t, log.Resume(ctx, resumptionOf("unsealed", 3)), "its last seal is of an earlier epoch: it is running")
}

// endUnsealed ends a run as a process does that cannot seal it.
func endUnsealed(ctx context.Context, d landscape.Driver, run string) error {
	heads, err := landscape.Select[landscape.RunHead](ctx, d, run)
	if err != nil {
		return err
	}
	to := heads[0]
	to.Status, to.Finished = pipeline.Failed, to.Started+1
	return d.Commit(ctx, landscape.Tx{Move: []landscape.Move{{From: heads[0], To: to}}})
}

// sealCounts inserts seals of a run that has other records, or whose effects moved.
func sealCounts(t *testing.T, d landscape.Driver) {
	begun(t, d, Scene{Run: "counted"})
	require.NoError(t, endUnsealed(t.Context(), d, "counted"))
	var made landscape.NewSeal
	made.RunSeal = landscape.RunSeal{Run: "counted", Root: make([]byte, 32), Leaves: 1, Tables: `{"runs":1}`, Marks: make([]byte, 4), At: 1}
	for _, e := range stored[landscape.Effect](t, d, "counted") {
		made.Moved += int64(e.Changed) & landscape.MovedBits
	}
	nodes := int64(len(stored[landscape.Node](t, d, "counted")))
	made.Counts = []landscape.TableCount{{Table: "nodes", Records: nodes}, {Table: "actions"}}
	stale := func(change func(*landscape.NewSeal)) error {
		other := made
		other.Counts = slices.Clone(made.Counts)
		change(&other)
		return d.Commit(t.Context(), landscape.Tx{Seal: &other})
	}
	require.ErrorIs(t, stale(func(s *landscape.NewSeal) { s.Counts[0].Records++ }), landscape.ErrStale)
	require.ErrorIs(t, stale(func(s *landscape.NewSeal) { s.Counts[1].Records++ }), landscape.ErrStale)
	require.ErrorIs(t, stale(func(s *landscape.NewSeal) { s.Moved++ }), landscape.ErrStale)
	require.Empty(t, stored[landscape.RunSeal](t, d, "counted"))
	require.NoError(t, d.Commit(t.Context(), landscape.Tx{Seal: &made}))
	require.Equal(t, []landscape.RunSeal{made.RunSeal}, stored[landscape.RunSeal](t, d, "counted"))
}

// tablesWith compares what a driver says at once with the records themselves, if it does.
func tablesWith(t *testing.T, d landscape.Driver) {
	finder, is := d.(landscape.TableFinder)
	if !is {
		t.Skip("this driver cannot tell")
	}
	begun(t, d, Scene{Run: "filled"})
	var tables, want []string
	for _, table := range landscape.Tables() {
		at := slices.IndexFunc(table.Columns, func(c landscape.Column) bool { return c.Name == "run_id" })
		if at < 0 {
			continue
		}
		tables = append(tables, table.Name)
		has := false
		require.NoError(t, d.Read(t.Context(), table.Zero(), landscape.Query{}, func(r landscape.Record) bool {
			has = table.AppendValues(nil, r)[at] == "filled"
			return !has
		}))
		if has {
			want = append(want, table.Name)
		}
	}
	found, err := finder.TablesWith(t.Context(), "filled", tables)
	require.NoError(t, err)
	require.Equal(t, want, found)
	require.Contains(t, found, "nodes")
	require.NotContains(t, found, "actions")
	found, err = finder.TablesWith(t.Context(), "nobody", tables)
	require.NoError(t, err)
	require.Nil(t, found)
}
