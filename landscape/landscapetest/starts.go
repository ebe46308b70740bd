package landscapetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// starts holds what a log says of who asked for runs, and of what became of that.
func starts(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1000, 0)
	log := landscape.New(d, func() time.Time { return now })
	asked := func(run string) landscape.Start {
		return landscape.Start{Run: run, Pipeline: "orders", Params: `{"day":"2026-11-21"}`, Actor: "ann", Trigger: "cli", Why: "noon", Workflow: "run-" + run}
	}
	last := func(run string) landscape.Start {
		start, err := log.LastStart(ctx, run)
		require.NoError(t, err)
		return start
	}
	_, err := log.LastStart(ctx, "a")
	require.ErrorIs(t, err, landscape.ErrNotFound)

	want := asked("a")
	want.Accepted, want.State = landscape.MicrosOf(now), landscape.StartAccepted
	require.NoError(t, log.Accept(ctx, asked("a")))
	now = now.Add(time.Second)
	again := asked("a")
	again.Actor = "bob"
	require.NoError(t, log.Accept(ctx, again), "who continues with it")
	require.Equal(t, want, last("a"))

	run, graph := Scene{Run: "a"}.Graph()
	graph.Slot = "2026-11-21"
	require.NoError(t, log.BeginRun(ctx, run, graph))
	want.Slot, want.State, want.Decided = graph.Slot, landscape.StartBegun, landscape.MicrosOf(now)
	require.Equal(t, want, last("a"))
	now = now.Add(time.Second)
	require.NoError(t, log.BeginRun(ctx, run, graph), "a repeat")
	require.ErrorIs(t, log.Accept(ctx, asked("a")), landscape.ErrBegun)
	require.NoError(t, log.InEpoch("a", 0).StopRun(ctx, "a", pipeline.Failed, "broken"))
	require.Equal(t, want, last("a"))
	for range 2 {
		require.NoError(t, log.Refuse(ctx, refused(asked("a"), "it is recorded")))
		require.Equal(t, []any{int64(1), landscape.StartRefused}, []any{last("a").Seq, last("a").State})
	}
	require.ErrorIs(t, log.Accept(ctx, asked("a")), landscape.ErrBegun)

	require.NoError(t, log.Accept(ctx, asked("b")))
	accepted := landscape.MicrosOf(now)
	now = now.Add(time.Second)
	for range 2 {
		require.NoError(t, log.Refuse(ctx, refused(asked("b"), "no such day")))
		want = refused(asked("b"), "no such day")
		want.Accepted, want.Decided = accepted, landscape.MicrosOf(now)
		require.Equal(t, want, last("b"))
	}
	now = now.Add(time.Second)
	require.NoError(t, log.Refuse(ctx, refused(asked("b"), "no such month")))
	want = refused(asked("b"), "no such month")
	want.Seq, want.Accepted, want.Decided = 1, landscape.MicrosOf(now), landscape.MicrosOf(now)
	require.Equal(t, want, last("b"), "one that nobody had recorded")
	now = now.Add(time.Second)
	require.NoError(t, log.Accept(ctx, asked("b")))
	require.NoError(t, Scene{Run: "b"}.Begin(ctx, log))
	require.Equal(t, []any{int64(2), landscape.StartBegun}, []any{last("b").Seq, last("b").State})
	found, err := log.StartOfWorkflow(ctx, "run-b")
	require.NoError(t, err)
	require.Equal(t, last("b"), found)
	_, err = log.StartOfWorkflow(ctx, "run-")
	require.ErrorIs(t, err, landscape.ErrNotFound)
	called := func(run string) landscape.Start {
		start := asked(run)
		start.State, start.Reason = landscape.StartCancelled, "stopped at the terminal"
		return start
	}
	require.NoError(t, log.CallOff(ctx, called("c")))

	calledOff, graph := Scene{Run: "c"}.Graph()
	require.ErrorIs(t, log.BeginRun(ctx, calledOff, graph), landscape.ErrCalledOff, "an attempt that nobody waits for")
	require.ErrorIs(t, log.CallOff(ctx, called("a")), landscape.ErrBegun)
	require.NoError(t, log.CallOff(ctx, called("c")), "a repeat")

	pagedStarts(t, landscape.NewReader(d))
	foundStarts(t, log)
}

// foundStarts: a start is found by the beginning of its run's id, if no other run's begins like that.
func foundStarts(t *testing.T, log *landscape.Log) {
	for _, run := range []string{"bc", "cd"} {
		require.NoError(t, log.Refuse(t.Context(), refused(landscape.Start{Run: run, Pipeline: "p", Params: "{}"}, "no such year")))
	}
	for prefix, run := range map[string]string{"a": "a", "bc": "bc", "cd": "cd"} {
		last, err := log.LastStart(t.Context(), run)
		require.NoError(t, err)
		found, err := log.FindStart(t.Context(), prefix)
		require.NoError(t, err, prefix)
		require.Equal(t, last, found)
	}
	_, err := log.FindStart(t.Context(), "b")
	require.ErrorAs(t, err, new(*landscape.AmbiguousError))
	for _, unknown := range []string{"", "cdx", "d"} {
		_, err = log.FindStart(t.Context(), unknown)
		require.ErrorIs(t, err, landscape.ErrNotFound, unknown)
	}
}

// refused is a start of which no run came.
func refused(s landscape.Start, reason string) landscape.Start {
	s.State, s.Refusal, s.Reason = landscape.StartRefused, "InputInvalid", reason
	return s
}

func pagedStarts(t *testing.T, reader *landscape.Reader) {
	type place struct {
		run string
		seq int64
	}
	for state, want := range map[landscape.StartState][]place{
		"": {{"c", 0}, {"b", 2}, {"b", 1}, {"b", 0}, {"a", 1}, {"a", 0}}, landscape.StartRefused: {{"b", 1}, {"b", 0}, {"a", 1}},
		landscape.StartBegun: {{"b", 2}, {"a", 0}}, landscape.StartCancelled: {{"c", 0}}, landscape.StartAccepted: nil,
	} {
		for limit := range 4 {
			var found []place
			var after *landscape.StartPlace
			for {
				page, err := reader.Starts(t.Context(), state, after, limit)
				require.NoError(t, err)
				if page == nil {
					break
				}
				for _, start := range page {
					found = append(found, place{start.Run, start.Seq})
					at := start.Place()
					after = &at
				}
			}
			require.Equal(t, want, found, "%s, %d at a time", state, limit)
		}
	}
}
