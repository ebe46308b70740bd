package landscapetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// outbox requires one event of everything that happens, in the order in which it happened, whatever the clocks of processes say.
func outbox(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	at := func(ahead time.Duration) *landscape.Log {
		return landscape.New(d, func() time.Time { return now.Add(ahead) })
	}
	log, slow := at(0), at(-time.Hour)
	scene := Scene{Run: "told", Chunks: 1, ChunkRows: 10}
	require.NoError(t, scene.Begin(ctx, log))
	require.NoError(t, scene.Begin(ctx, slow), "a process that lost the answer begins it again")
	require.NoError(t, slow.StopRun(ctx, "told", pipeline.Failed, "row 7 says secret"))
	require.NoError(t, slow.StopRun(ctx, "told", pipeline.Failed, "again"))
	require.NoError(t, log.Resume(ctx, resumptionOf("told", 1)))
	require.NoError(t, slow.CancelRun(ctx, "told", false, "ann", ""))
	require.NoError(t, log.CancelRun(ctx, "told", true, "ann", ""))
	require.NoError(t, log.Refuse(ctx, landscape.Start{
		Run: "none", Pipeline: strings.Repeat("ä", 9_000), Params: "{}", State: landscape.StartRefused, Refusal: "InputInvalid", Reason: "secret",
	}))

	before, err := log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	require.Nil(t, before, "an event without a position is not told yet")
	happened := func(ordered, waiting int64) {
		t.Helper()
		o, w, err := log.Happened(ctx)
		require.NoError(t, err)
		require.Equal(t, [2]int64{ordered, waiting}, [2]int64{o, w})
	}
	happened(0, 6)
	n, err := log.Sequence(ctx)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	happened(6, 0)
	all, err := log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	var kinds []landscape.EventKind
	for i, event := range all {
		require.EqualValues(t, i+1, event.Position)
		require.NoError(t, landscape.CheckEventKind(string(event.Kind)))
		id, err := uuid.Parse(event.ID)
		require.NoError(t, err)
		require.EqualValues(t, 7, id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		seconds, _ := id.Time().UnixTime()
		require.Equal(t, event.At.Time().Unix(), seconds, "it is the time of the event, however late that is delivered")
		require.NotContains(t, event.Body, "secret", "events have no reasons, which may hold values")
		require.Less(t, len(event.Body), 20<<10)
		body := struct{ Type, Timestamp string }{}
		require.NoError(t, json.Unmarshal([]byte(event.Body), &body))
		require.Equal(t, string(event.Kind), body.Type)
		if event.Run == "told" {
			kinds = append(kinds, event.Kind)
		}
	}
	require.Equal(t, []landscape.EventKind{landscape.RunStarted, "run.failed", landscape.RunResumed, "run.cancelled", "run.cancelled"}, kinds)
	later, err := log.Outbox(ctx, 4, 1)
	require.NoError(t, err)
	require.Equal(t, all[4:5], later)
	require.ErrorContains(t, landscape.CheckEventKind("run.eaten"), `"run.eaten" is no kind of event`)

	sequencedAtOnce(t, at, all)
	dropped(t, log, now)
}

// sequencedAtOnce gives positions in several goroutines.
func sequencedAtOnce(t *testing.T, at func(time.Duration) *landscape.Log, before []landscape.Event) {
	t.Helper()
	ctx := t.Context()
	const more = 300
	for i := range more {
		require.NoError(t, at(time.Duration(i)*time.Millisecond).Refuse(ctx, landscape.Start{
			Run: fmt.Sprint("many-", i), Params: "{}", State: landscape.StartRefused, Reason: "no", Refusal: "InputInvalid",
		}))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := at(0).Sequence(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	_, err := at(0).Sequence(ctx)
	require.NoError(t, err)
	events, err := at(0).Outbox(ctx, 0, 0)
	require.NoError(t, err)
	require.Len(t, events, len(before)+more)
	require.Equal(t, before, events[:len(before)], "positions never change")
	for i, event := range events {
		require.EqualValues(t, i+1, event.Position)
	}
	require.Equal(t, "many-299", events[len(events)-1].Run)
}

// dropped drops old events.
func dropped(t *testing.T, log *landscape.Log, now time.Time) {
	t.Helper()
	ctx := t.Context()
	all, err := log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	moment := landscape.MicrosOf(now.Add(100 * time.Millisecond))
	for _, c := range []struct{ upTo, gone int64 }{{0, 0}, {10, 10}, {1_000, 96}, {1_000, 0}} {
		n, err := log.DropEvents(ctx, c.upTo, Before(moment))
		require.NoError(t, err)
		require.Equal(t, c.gone, n)
	}
	left, err := log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	require.Equal(t, all[106:], left)
	head, err := log.OutboxHead(ctx)
	require.NoError(t, err)
	require.Equal(t, landscape.OutboxHead{Size: int64(len(all)), Dropped: 106}, head)
}
