package landscapetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Purges holds a driver whose database guards references against what a purge may do. Two runs refer to the same payloads.
func Purges(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	for _, run := range []string{"r1", "r2"} {
		require.NoError(t, Scene{Run: run, Chunks: 2, ChunkRows: 20}.PlayToEnd(ctx, log))
	}
	require.NoError(t, log.FinishRun(ctx, "r1", pipeline.CompletedWithFailures, ""))
	pack := digest("pack", 0)

	_, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r2")})
	require.ErrorContains(t, err, "has not ended")
	purge, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r1")})
	require.NoError(t, err)
	require.Equal(t, int64(1), purge.ID)
	_, err = log.BeginDeletion(ctx, purge.ID, pack)
	require.ErrorIs(t, err, landscape.ErrInUse, "r2 needs it")
	require.NoError(t, log.FinishRun(ctx, "r2", pipeline.CompletedWithFailures, ""))
	_, err = log.BeginDeletion(ctx, purge.ID, pack)
	require.ErrorIs(t, err, landscape.ErrInUse, "the order is not about r2")

	both, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r1"), due(t, log, "r2")})
	require.NoError(t, err)
	holds(t, log, both.ID, pack)
	begun, err := log.BeginDeletion(ctx, both.ID, pack, digest("pack", 1))
	require.NoError(t, err)
	require.Len(t, begun, 2)
	again, err := log.BeginDeletion(ctx, both.ID, pack)
	require.NoError(t, err)
	require.Nil(t, again, "it is being deleted")
	unreferable(t, log, pack)
	require.NoError(t, log.EndDeletion(ctx, landscape.DeletedPayload{Payload: pack, Number: 1, Bytes: 17}))
	require.NoError(t, log.EndDeletion(ctx, landscape.DeletedPayload{Payload: pack, Number: 1}), "repeated by one who found nothing")
	var left []string
	require.NoError(t, log.EachUnfinished(ctx, func(d landscape.Deletion) bool { left = append(left, d.Payload); return true }))
	require.Equal(t, []string{digest("pack", 1)}, left)
	stores(t, log, pack)

	once, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r1"), due(t, log, "r2")})
	require.NoError(t, err)
	_, err = log.BeginDeletion(ctx, once.ID, pack)
	require.ErrorIs(t, err, landscape.ErrInUse, "r3 needs it")
	require.NoError(t, log.StopRun(ctx, "r3", pipeline.Failed, "no reason"))
	third, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r1"), due(t, log, "r2"), due(t, log, "r3")})
	require.NoError(t, err)
	err = log.Resume(ctx, resumptionOf("r3", 1))
	require.NoError(t, err)
	_, err = log.BeginDeletion(ctx, third.ID, pack)
	require.ErrorIs(t, err, landscape.ErrInUse, "r3 was resumed")
	require.NoError(t, log.StopRun(ctx, "r3", pipeline.Failed, "no reason"))
	last, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{due(t, log, "r1"), due(t, log, "r2"), due(t, log, "r3")})
	require.NoError(t, err)
	begun, err = log.BeginDeletion(ctx, last.ID, pack)
	require.NoError(t, err)
	require.Equal(t, int64(2), begun[0].Number)
}

func order() landscape.Purge {
	return landscape.Purge{Actor: "ann", Why: "no longer needed", Rules: "{}"}
}

func due(t *testing.T, log *landscape.Log, run string) landscape.PurgedRun {
	t.Helper()
	recorded, err := log.Run(t.Context(), run)
	require.NoError(t, err)
	at := recorded.Finished
	if at == 0 {
		at = landscape.MicrosOf(time.Now())
	}
	return landscape.PurgedRun{Run: run, Class: landscape.SourceClass, Epoch: recorded.Epoch, Due: at}
}

// holds keeps payloads by two kinds of holds, and lets them go.
func holds(t *testing.T, log *landscape.Log, purge int64, pack string) {
	t.Helper()
	ctx := t.Context()
	run, err := log.Run(ctx, "r1")
	require.NoError(t, err)
	_, err = log.AddHold(ctx, landscape.Hold{Run: "unknown", Actor: "ann", Why: "case 17"})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	for i, hold := range []landscape.Hold{
		{Run: "r1", Actor: "ann", Why: "case 17"},
		{Pipeline: run.Pipeline, From: run.Started, Until: run.Started + 1, Actor: "ann", Why: "case 18"},
	} {
		hold, err := log.AddHold(ctx, hold)
		require.NoError(t, err)
		require.Equal(t, int64(i+1), hold.ID)
		require.True(t, hold.Holds(run.RunHead))
		_, err = log.BeginDeletion(ctx, purge, pack)
		require.ErrorIs(t, err, landscape.ErrInUse, "r1 is held")
		require.NoError(t, log.EndHold(ctx, hold.ID, "bob", "closed"))
		require.ErrorContains(t, log.EndHold(ctx, hold.ID, "ann", "closed"), "was ended by bob")
	}
	_, err = log.AddHold(ctx, landscape.Hold{Pipeline: run.Pipeline, From: run.Finished + 3_600_000_000, Actor: "ann", Why: "case 19"})
	require.NoError(t, err, "about later runs")
	all, ended, err := log.Holds(ctx)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Len(t, ended, 2)
}

// unreferable holds that nobody may refer to a payload while it is being deleted.
func unreferable(t *testing.T, log *landscape.Log, pack string) {
	t.Helper()
	s := Scene{Run: "r3", Chunks: 2, ChunkRows: 20}
	require.NoError(t, s.Begin(t.Context(), log))
	chunk, records := s.Chunk(0)
	require.Equal(t, pack, chunk.Pack)
	require.ErrorIs(t, log.RecordChunk(t.Context(), chunk, records), landscape.ErrPurged)
	stored := 0
	err := log.Keep(t.Context(), "r3",
		func() ([]string, error) { stored++; return []string{pack}, nil },
		func() error { return log.RecordChunk(t.Context(), chunk, records) })
	require.ErrorIs(t, err, landscape.ErrPurged)
	require.ErrorContains(t, err, "is being deleted by purge 2")
	require.Equal(t, 1, stored)
}

// stores holds that a payload that was deleted is stored again before a record refers to it.
func stores(t *testing.T, log *landscape.Log, pack string) {
	t.Helper()
	ctx := t.Context()
	purged, err := log.Purged(ctx, pack)
	require.NoError(t, err)
	require.Equal(t, int64(17), purged.Deleted.Bytes)
	require.Contains(t, purged.String(), "by ann (order 2: no longer needed)")
	chunk, records := Scene{Run: "r3", Chunks: 2, ChunkRows: 20}.Chunk(0)
	var done []string
	record := func() error {
		err := log.RecordChunk(context.WithoutCancel(ctx), chunk, records)
		if errors.Is(err, landscape.ErrPurged) {
			done = append(done, "refused")
		} else if err == nil {
			done = append(done, "recorded")
		}
		return err
	}
	require.NoError(t, log.Keep(ctx, "r3", func() ([]string, error) { done = append(done, "stored"); return []string{pack}, nil }, record))
	require.Equal(t, []string{"stored", "refused", "stored", "recorded"}, done)
	purged, err = log.Purged(ctx, pack)
	require.NoError(t, err)
	require.Nil(t, purged)
	require.NoError(t, record(), "repeated")
}

// PurgedPayload is the payload that Purged deletes.
var PurgedPayload = digest("no run's")

// Purged leaves a record in each table that purges write: about a run that has ended, and a payload to which no chunk refers.
func Purged(ctx context.Context, log *landscape.Log, ended string) error {
	run, err := log.Run(ctx, ended)
	if err != nil {
		return err
	}
	held, err := log.AddHold(ctx, landscape.Hold{Run: ended, Actor: "ann", Why: "case 17"})
	if err != nil {
		return err
	}
	if err := log.EndHold(ctx, held.ID, "bob", "closed"); err != nil {
		return err
	}
	about := landscape.PurgedRun{Run: ended, Class: landscape.SourceClass, Epoch: run.Epoch, Due: run.Finished}
	purge, err := log.BeginPurge(ctx, order(), []landscape.PurgedRun{about})
	if err != nil {
		return err
	}
	pack := PurgedPayload
	if _, err := log.BeginDeletion(ctx, purge.ID, pack); err != nil {
		return err
	}
	if err := log.EndDeletion(ctx, landscape.DeletedPayload{Payload: pack, Number: 1, Bytes: 17}); err != nil {
		return err
	}
	refusal := landscape.ErrPurged
	return log.Keep(ctx, ended, func() ([]string, error) { return []string{pack}, nil }, func() (err error) { err, refusal = refusal, nil; return err })
}

// Forgotten forgets every row of a run that has errors, and leaves a record in each table that forgetting writes. The run has ended, and sinks' targets
// refused rows of it.
func Forgotten(ctx context.Context, log *landscape.Log, ended string) error {
	var rows []landscape.RowKey
	refused, err := landscape.Select[landscape.RowErrorKey](ctx, log, ended)
	for _, e := range refused {
		if row := (landscape.RowKey{Run: ended, Source: e.Source, Row: e.Row}); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	if err != nil {
		return err
	}
	sinks, err := log.Nodes(ctx, ended)
	if err != nil {
		return err
	}
	sink := sinks[slices.IndexFunc(sinks, func(n landscape.Node) bool { return n.Kind == landscape.SinkNode })].Node
	order, err := log.BeginForgetting(ctx, landscape.Purge{Actor: "ann", Why: "request 88"}, []string{ended}, rows, landscape.Erasure{Run: ended, Sink: sink, Line: 1}, landscape.Erasure{Run: ended, Sink: sink, Line: 3})
	if err != nil {
		return err
	}
	if _, err := log.EndForgetting(ctx, landscape.Forgetting{Order: order.ID, Rows: int64(len(rows))}, "certificate\n"); err == nil {
		return errors.New("the order ended, and its rows in targets are not deleted")
	}
	for range 2 { // as after a kill
		outcomes := []plugin.ErasureOutcome{plugin.RowDeleted, plugin.RowEdited}
		if err := log.RecordErased(ctx, ended, sink, []int64{1, 3}, outcomes); err != nil {
			return err
		}
	}
	forgotten, err := log.ForgottenBy(ctx, order.ID)
	for _, f := range forgotten {
		if err == nil {
			err = log.Blank(ctx, f.Order, ended, f.ChunkKey())
		}
	}
	if err == nil {
		_, err = log.BeginRepack(ctx, order.ID, digest("forgotten"), digest("replacement"))
	}
	if err == nil {
		_, err = log.EndForgetting(ctx, landscape.Forgetting{Order: order.ID, Rows: int64(len(rows))}, "certificate\n")
	}
	return err
}

// Forgets holds that a driver lets forgotten rows be blanked, and that the seals of the run hold all the same.
func Forgets(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	require.NoError(t, Logged(ctx, landscape.New(d, nil)))
	log := landscape.New(d, nil).SealedBy(Sealer{})
	s := Scene{Run: "forgets", Chunks: 2, ChunkRows: 20, Late: func(_ string, row int64) bool { return row%7 == 1 }}
	require.NoError(t, s.PlayToEnd(ctx, log))
	require.ErrorAs(t, Forgotten(ctx, log, s.Run), new(*landscape.UnforgettableError), "it has not ended")
	require.NoError(t, log.FinishRun(ctx, s.Run, pipeline.CompletedWithFailures, ""))
	before, err := log.CheckSeals(ctx, s.Run)
	require.NoError(t, err)
	hold, err := log.AddHold(ctx, landscape.Hold{Run: s.Run, Actor: "ann", Why: "case 17"})
	require.NoError(t, err)
	require.ErrorIs(t, Forgotten(ctx, log, s.Run), landscape.ErrInUse, "it is held")
	require.NoError(t, log.EndHold(ctx, hold.ID, "bob", "closed"))
	was := stored[landscape.RowError](t, d, s.Run)
	require.NoError(t, Forgotten(ctx, log, s.Run))

	after, err := log.CheckSeals(ctx, s.Run)
	require.NoError(t, err)
	require.Equal(t, before, after)
	leaves := stored[landscape.ForgottenLeaf](t, d, s.Run)
	require.NotEmpty(t, leaves, "targets refused rows")
	for i, e := range stored[landscape.RowError](t, d, s.Run) {
		require.Empty(t, e.Message+string(e.Raw))
		require.NotEqual(t, was[i].ErrorHash, e.ErrorHash)
		require.Equal(t, was[i].Code, e.Code)
	}
	groups, err := log.ErrorGroups(ctx, s.Run)
	require.NoError(t, err)
	for _, g := range groups {
		require.Equal(t, g.Count, g.Forgotten)
		require.Len(t, g.ForgottenBy, 1, "one order")
		require.Regexp(t, `^forgotten .* by .* \(order [0-9]+: .*\)$`, g.ForgottenBy[0])
		require.Equal(t, g.ForgottenBy[0], g.Samples[0].Forgotten)
	}
	for _, f := range stored[landscape.Forgotten](t, d, s.Run) {
		chunk := chunkOf(s, int(f.Chunk))
		rows, err := log.SealedRows(ctx, chunk)
		require.NoError(t, err)
		require.True(t, rows.Blank(int(f.Slot)))
		salts, err := log.ChunkSalts(ctx, chunk)
		require.NoError(t, err)
		_, ok := salts.Salt(int(f.Slot))
		require.False(t, ok, "its salt is destroyed")
	}
	fits, err := FitsSeal(ctx, log.Reader, s.Run)
	require.NoError(t, err)
	require.True(t, fits)
	require.Empty(t, unfinished(t, log))
}

func unfinished(t *testing.T, log *landscape.Log) []landscape.Purge {
	t.Helper()
	orders, err := log.UnfinishedForgettings(t.Context())
	require.NoError(t, err)
	return orders
}

// PurgedDeliveries holds a driver whose database guards references against what a purge may do with the payload of a delivery: nothing as long as a run is to read it, and then
// what it may do with what that run read.
func PurgedDeliveries(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	bundle, version := VersionOf("orders", "1", digest("manifest", 0))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, SetTrigger(ctx, log, "orders", "drop"))
	require.Error(t, log.Receive(ctx, delivery("default/orders/none", "rc_1")), "there is no such trigger")
	require.NoError(t, log.Receive(ctx, delivery("default/orders/drop", "rc_1")))
	ready := inState(t, log, "default/orders/drop", landscape.ArrivalReady)[0]
	require.NoError(t, (Scene{Run: "other", Chunks: 1, ChunkRows: 5}).Play(ctx, log))
	mayDelete := func(runs ...string) error {
		var about []landscape.PurgedRun
		for _, run := range runs {
			about = append(about, due(t, log, run))
		}
		purge, err := log.BeginPurge(ctx, order(), about)
		require.NoError(t, err)
		_, err = log.BeginDeletion(ctx, purge.ID, ready.Payload)
		return err
	}
	require.ErrorIs(t, mayDelete("other"), landscape.ErrInUse, "it waits")
	watch, err := log.Watch(ctx, ready.Trigger)
	require.NoError(t, err)
	list := []landscape.Arrival{ready}
	watch, err = log.Take(ctx, watch, landscape.Start{Run: "reads", Pipeline: "orders", Params: "{}", Trigger: "arrival"}, list)
	require.NoError(t, err)
	require.NoError(t, (Scene{Run: "reads", Chunks: 1, ChunkRows: 5}).Play(ctx, log))
	require.ErrorIs(t, mayDelete("reads", "other"), landscape.ErrInUse, "it is taken")
	done := list[0]
	done.State = landscape.ArrivalDone
	_, err = log.ChangeArrivals(ctx, watch, watch, []landscape.ArrivalChange{{From: &list[0], To: done}})
	require.NoError(t, err)
	var payloads []string
	require.NoError(t, log.PayloadsOf(ctx, "reads", landscape.SourceClass, func(payload string) bool { payloads = append(payloads, payload); return true }))
	require.Contains(t, payloads, ready.Payload)
	require.ErrorIs(t, mayDelete("other"), landscape.ErrInUse, "the order is not about its run")
	require.NoError(t, mayDelete("reads"))
	fresh := delivery("default/orders/drop", "rc_2")
	fresh.Payload = ready.Payload
	require.ErrorIs(t, log.Receive(ctx, fresh), landscape.ErrPurged)
}
