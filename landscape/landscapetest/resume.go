package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// resuming holds what a log says of runs that are stopped and resumed.
func resuming(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "r"})
	head := func(t *testing.T) landscape.RunHead { return stored[landscape.RunHead](t, d, "r")[0] }
	epoch := int64(0)
	for _, status := range []pipeline.RunStatus{
		pipeline.Running, pipeline.Failed, pipeline.Interrupted, pipeline.Blocked, pipeline.Cancelled,
	} {
		t.Run("a run that is "+string(status), func(t *testing.T) {
			if status != pipeline.Running {
				require.NoError(t, log.StopRun(ctx, "r", status, "reason"))
				require.Equal(t, "reason", head(t).Reason)
				require.NotZero(t, head(t).Finished)
			}
			epoch++
			r := resumptionOf("r", epoch)
			r.Was = pipeline.Completed
			require.NoError(t, log.Resume(ctx, r))
			after := snapshot(t, d)
			require.NoError(t, log.Resume(ctx, r), "a repeat")
			require.Equal(t, after, snapshot(t, d))
			now := head(t)
			require.Equal(t, landscape.RunHead{Status: pipeline.Running, Epoch: epoch},
				landscape.RunHead{Status: now.Status, Epoch: now.Epoch, Reason: now.Reason, Finished: now.Finished})
			all, err := log.Resumptions(ctx, "r")
			require.NoError(t, err)
			require.Len(t, all, int(epoch))
			last := all[epoch-1]
			require.NotZero(t, last.At)
			r.Was, r.At = status, last.At
			require.Equal(t, r, last, "the log says what the run was")
		})
	}
	t.Run("by one of several", func(t *testing.T) {
		other := resumptionOf("r", epoch)
		other.Claim = "other"
		require.ErrorIs(t, log.Resume(ctx, other), landscape.ErrSuperseded)
		require.ErrorIs(t, log.Resume(ctx, resumptionOf("r", epoch-1)), landscape.ErrSuperseded, "an epoch that is over")
		require.NoError(t, log.StopRun(ctx, "r", pipeline.Failed, ""))
		require.NoError(t, log.Resume(ctx, resumptionOf("r", epoch)), "a repeat, whatever became of the run")
		require.Equal(t, pipeline.Failed, head(t).Status)
	})
	t.Run("from an epoch that is not recorded", func(t *testing.T) {
		var diverged *landscape.DivergedError
		require.ErrorAs(t, log.Resume(ctx, resumptionOf("r", epoch+2)), &diverged)
		require.Equal(t, "epoch", diverged.Column)
	})
	t.Run("by nobody", func(t *testing.T) {
		r := resumptionOf("r", epoch+1)
		r.Claim = ""
		require.Error(t, log.Resume(ctx, r))
		require.ErrorIs(t, log.Resume(ctx, resumptionOf("nobody", 1)), landscape.ErrNotFound)
	})
	t.Run("whatever guards the log", func(t *testing.T) {
		require.NoError(t, log.InEpoch("r", epoch+1).Resume(ctx, resumptionOf("r", epoch+1)))
		require.NoError(t, log.InEpoch("r", epoch).Resume(ctx, resumptionOf("r", epoch+1)))
	})
	t.Run("stopped as something else", func(t *testing.T) {
		for _, status := range []pipeline.RunStatus{pipeline.Running, pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty} {
			require.ErrorContains(t, log.StopRun(ctx, "r", status, ""), "a run that is stopped is not "+string(status))
		}
		require.Error(t, log.FinishRun(ctx, "r", pipeline.Failed, ""))
		require.Equal(t, pipeline.Running, head(t).Status)
	})
	t.Run("cancelled", func(t *testing.T) { cancelled(t, d) })
	t.Run("complete", func(t *testing.T) { notResumable(t, d) })
}

func cancelled(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	for i, was := range []pipeline.RunStatus{
		pipeline.Running, pipeline.Failed, pipeline.Interrupted, pipeline.Blocked, pipeline.Cancelled,
	} {
		run := "cancelled " + string(was)
		log := begun(t, d, Scene{Run: run})
		head := func() landscape.RunHead { return stored[landscape.RunHead](t, d, run)[0] }
		if was != pipeline.Running {
			require.NoError(t, log.StopRun(ctx, run, was, "reason"))
		}
		wanted := 0
		if was != pipeline.Cancelled {
			require.NoError(t, log.CancelRun(ctx, run, false, "ann", "wrong file"))
			require.NoError(t, log.CancelRun(ctx, run, false, "ann", "wrong file"), "a repeat")
			require.Equal(t, "cancelled by ann: wrong file", head().Reason)
			wanted++
		}
		require.False(t, head().Final)
		finished := head().Finished
		if i == 2 {
			require.NoError(t, log.RecordAction(ctx, run, landscape.VerbCancelFinal, "bob", "never again"), "an order of the epoch before")
			wanted++
		}
		if i%2 == 0 {
			require.NoError(t, log.Resume(ctx, resumptionOf(run, 1)))
			if i == 4 {
				require.NoError(t, log.RecordAction(ctx, run, landscape.VerbCancelFinal, "bob", "never again"), "who carries it out has recorded it")
			}
			require.NoError(t, log.CancelRun(ctx, run, true, "bob", "never again"))
		} else {
			require.NoError(t, log.CancelRun(ctx, run, true, "bob", "never again"))
			require.Equal(t, finished, head().Finished, "it ended before")
		}
		before := snapshot(t, d)
		require.NoError(t, log.CancelRun(ctx, run, true, "eve", "a repeat"))
		require.NoError(t, log.CancelRun(ctx, run, false, "eve", "less than that"))
		require.Equal(t, before, snapshot(t, d))
		require.Equal(t, pipeline.Cancelled, head().Status)
		require.True(t, head().Final)
		actions, err := log.Actions(ctx, run)
		require.NoError(t, err)
		require.Len(t, actions, wanted+1)
		last := actions[wanted]
		require.Equal(t, []string{landscape.VerbCancelFinal, "bob", "never again"}, []string{last.Verb, last.Actor, last.Why})

		refused := &landscape.NotResumableError{}
		require.ErrorAs(t, log.Resume(ctx, resumptionOf(run, head().Epoch+1)), &refused)
		require.True(t, refused.Final)
		require.ErrorContains(t, refused, "cancelled permanently")
		require.Equal(t, before, snapshot(t, d))
	}
}

// notResumable holds that a run which is complete, or waits for a person, is not resumed.
func notResumable(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	s := Scene{Run: "complete", Chunks: 1, ChunkRows: 10}
	require.NoError(t, s.Play(ctx, log))
	refused := &landscape.NotResumableError{}
	require.ErrorAs(t, log.Resume(ctx, resumptionOf(s.Run, 1)), &refused)
	require.Equal(t, pipeline.CompletedWithFailures, refused.Status)
	require.ErrorContains(t, refused, "nothing is left to do")
	require.ErrorContains(t, log.CancelRun(ctx, s.Run, true, "ann", ""), "cannot become cancelled")
	head, err := log.Resumable(ctx, s.Run)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, pipeline.CompletedWithFailures, head.Status)
	require.Error(t, head.Resumable())
}

// resolving holds what a log says of effects about which a person must decide.
func resolving(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "r", Chunks: 6, ChunkRows: 10, Way: func(int64) int { return 0 }}
	log := begun(t, d, s)
	require.NoError(t, s.Read(ctx, log))
	keys := make([]landscape.EffectKey, s.Chunks)
	for i := range keys {
		require.NoError(t, log.RecordPassage(ctx, s.Passage(i)))
		keys[i] = landscape.EffectKey{Run: s.Run, Sink: "review", Source: Source, Chunk: int64(i)}
		if i == 0 {
			continue
		}
		e, err := log.BeginEffect(ctx, keys[i], landscape.Placement{Ordinal: int64(i), Offset: 100 * int64(i)}, "w")
		require.NoError(t, err)
		require.NoError(t, log.ReconcileEffect(ctx, e.Attempt("w"), plugin.Unknown))
	}
	effect := func(i int64) landscape.Effect { return stored[landscape.Effect](t, d, s.Run, "review", Source, i)[0] }

	worker := log.InEpoch(s.Run, 0)
	t.Run("the run waits for it", func(t *testing.T) {
		require.NoError(t, log.StopRun(ctx, s.Run, pipeline.Blocked, "5 effects"))
		refused := &landscape.NotResumableError{}
		require.ErrorAs(t, log.Resume(ctx, resumptionOf(s.Run, 1)), &refused)
		require.Equal(t, pipeline.Blocked, refused.Status)
		require.ErrorContains(t, refused, "strikes chunk 1 in sink review, strikes chunk 2 in sink review, strikes chunk 3 in sink review, and 2 more")
		require.ErrorContains(t, refused, "waymark resolve")
		require.NoError(t, stored[landscape.RunHead](t, d, s.Run)[0].Resumable(), "its own record does not tell")
	})
	t.Run("applied", func(t *testing.T) {
		require.NoError(t, log.Resolve(ctx, keys[1], true, "ann", "I looked"))
		e := effect(1)
		require.Equal(t, landscape.Finalized, e.State)
		require.JSONEq(t, `{"ordinal":1,"offset":100,"bytes":200,"rows":10,"sha256":"`+e.SHA256+`"}`, e.Receipt)
		require.Equal(t, landscape.PartReceipt(e), e.Receipt)
		said, err := log.ResolvedNotApplied(ctx, keys[1], 2)
		require.NoError(t, err)
		require.False(t, said)
		require.NoError(t, log.FinalizeEffect(ctx, attempt(keys[1], 1, "w"), e.Receipt), "what an attempt would say of it as well")
	})
	t.Run("not applied", func(t *testing.T) {
		for _, i := range []int64{2, 3, 4, 5} {
			require.NoError(t, log.Resolve(ctx, keys[i], false, "ann", "I looked"))
			require.Equal(t, landscape.InFlight, effect(i).State)
		}
		said, err := log.ResolvedNotApplied(ctx, keys[2], 2)
		require.NoError(t, err)
		require.True(t, said)
		e, err := worker.BeginEffect(ctx, keys[2], landscape.Placement{Ordinal: 2, Offset: 200}, "w")
		require.NoError(t, err)
		require.EqualValues(t, 2, e.Fence)
		e, err = worker.BeginEffect(ctx, keys[2], landscape.Placement{Ordinal: 2, Offset: 200}, "w")
		require.NoError(t, err)
		said, err = log.ResolvedNotApplied(ctx, keys[2], e.Fence)
		require.NoError(t, err)
		require.False(t, said, "it was said of the attempt before the last one")
	})
	t.Run("twice", func(t *testing.T) {
		before := snapshot(t, d)
		require.NoError(t, log.Resolve(ctx, keys[1], true, "bob", "a repeat"))
		require.NoError(t, log.Resolve(ctx, keys[3], false, "bob", "a repeat"))
		require.ErrorContains(t, log.Resolve(ctx, keys[1], false, "bob", ""), "it was resolved as applied")
		require.ErrorContains(t, log.Resolve(ctx, keys[3], true, "bob", ""), "it was resolved as not_applied")
		require.ErrorContains(t, log.Resolve(ctx, keys[0], true, "bob", ""), "it is prepared, not blocked")
		require.Equal(t, before, snapshot(t, d))
	})
	t.Run("blocked again by the attempt that was resolved", func(t *testing.T) {
		require.NoError(t, worker.ReconcileEffect(ctx, attempt(keys[5], 1, "zombie"), plugin.Unknown))
		require.NoError(t, log.Resolve(ctx, keys[5], true, "bob", "now it is there"))
		require.Equal(t, landscape.Finalized, effect(5).State)
		said, err := log.ResolvedNotApplied(ctx, keys[5], 2)
		require.NoError(t, err)
		require.False(t, said, "the last word counts")
	})
	t.Run("each is recorded", func(t *testing.T) {
		actions, err := log.Actions(ctx, s.Run)
		require.NoError(t, err)
		require.Len(t, actions, 6)
		require.Equal(t, []string{"resolve", "ann", "I looked"}, []string{actions[0].Verb, actions[0].Actor, actions[0].Why})
		events := stored[landscape.EffectEvent](t, d, s.Run, "review", Source, int64(1), int64(1), "resolved")
		require.Equal(t, []landscape.EffectEvent{{
			EffectKey: keys[1], Fence: 1, Event: landscape.EffectResolved, Worker: "ann", At: actions[0].At, Detail: "applied",
		}}, events)
	})
	t.Run("then the run continues", func(t *testing.T) {
		require.NoError(t, log.Resume(ctx, resumptionOf(s.Run, 1)))
	})
	t.Run("a publication is applied by nobody's word", func(t *testing.T) { resolvedPublication(t, d) })
}

func resolvedPublication(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	s := Scene{Run: "p", Chunks: 1, ChunkRows: 10, Way: func(int64) int { return 0 }}
	log := begun(t, d, s)
	require.NoError(t, s.Read(ctx, log))
	require.NoError(t, log.RecordPassage(ctx, s.Passage(0)))
	require.NoError(t, s.Write(ctx, log, 0))
	require.NoError(t, log.PreparePublish(ctx, "p", "review", 10, 99))
	key := landscape.PublishKey("p", "review")
	e, err := log.BeginEffect(ctx, key, landscape.Placement{}, "w")
	require.NoError(t, err)
	require.NoError(t, log.ReconcileEffect(ctx, e.Attempt("w"), plugin.Unknown))
	_, err = log.Resumable(ctx, "p")
	require.ErrorContains(t, err, "published the output of review")
	require.ErrorContains(t, log.Resolve(ctx, key, true, "ann", ""), "resolve it as not applied")
	require.NoError(t, log.Resolve(ctx, key, false, "ann", ""))
	e, err = log.BeginEffect(ctx, key, landscape.Placement{}, "w")
	require.NoError(t, err)
	require.EqualValues(t, 2, e.Fence)
}

// links holds what a log says of runs that come of other runs.
func links(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	parent := Scene{Run: "parent", Chunks: 2, ChunkRows: 10}
	log := begun(t, d, parent)
	require.NoError(t, parent.Read(ctx, log))
	for i := range parent.Chunks {
		require.NoError(t, log.RecordPassage(ctx, parent.Passage(i)))
	}
	begin := func(id string, link landscape.Link, rows ...int64) error {
		run, graph := Scene{Run: id}.Graph()
		run.File, run.Parent, run.Link = "p.yaml", parent.Run, link
		for _, row := range rows {
			graph.Retried = append(graph.Retried, landscape.RetriedRow{Source: Source, Row: row})
		}
		return log.BeginRun(ctx, run, graph)
	}
	fed := func(id string, rows ...int64) (want []landscape.RetriedRow) {
		for _, row := range rows {
			want = append(want, landscape.RetriedRow{Run: id, Parent: parent.Run, Source: Source, Row: row})
		}
		return want
	}
	require.NoError(t, begin("fork", landscape.ForkLink))
	require.NoError(t, begin("one", landscape.RetryLink, 8, 5))
	require.NoError(t, begin("one", landscape.RetryLink, 8, 5), "a repeat")
	before := snapshot(t, d)
	var diverged *landscape.DivergedError
	require.ErrorAs(t, begin("two", landscape.RetryLink, 15, 5), &diverged)
	require.Equal(t, landscape.DivergedError{Table: "retried", Key: "parent/strikes/5", Column: "run_id"}, *diverged)
	require.Equal(t, before, snapshot(t, d))
	require.NoError(t, begin("two", landscape.RetryLink, 15))

	for id, want := range map[string][]landscape.RetriedRow{
		"fork": nil, "parent": nil, "one": fed("one", 5, 8), "two": fed("two", 15),
	} {
		found, err := log.Retried(ctx, id)
		require.NoError(t, err)
		require.Equal(t, want, found, id)
	}
	all, err := log.RetriedFrom(ctx, parent.Run)
	require.NoError(t, err)
	require.Equal(t, append(fed("one", 5, 8), fed("two", 15)...), all)
	run, err := log.Run(ctx, "fork")
	require.NoError(t, err)
	require.Equal(t, []any{"p.yaml", parent.Run, landscape.ForkLink}, []any{run.File, run.Parent, run.Link})
}
