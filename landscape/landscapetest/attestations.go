package landscapetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// Attest records that the outputs of a run were found with a result.
func Attest(ctx context.Context, log *landscape.Log, run string, result plugin.State) ([]landscape.Attestation, error) {
	artifacts, err := log.Artifacts(ctx, run)
	if err == nil && artifacts == nil {
		err = errors.New("the run published nothing")
	}
	if err != nil {
		return nil, err
	}
	var found []landscape.Attestation
	for _, a := range artifacts {
		one := landscape.Attestation{
			Run: run, Sink: a.Sink, Path: a.Path, Unit: plugin.Pieces, LookedAt: 3, Equal: 2, Changed: 1, Result: result, Findings: `[{"state":"changed","part":0,"line":3,"why":"edited"}]`, Actor: "ann",
		}
		if result == plugin.AsWritten {
			one.Equal, one.Changed, one.Findings = 3, 0, "[]"
		}
		found = append(found, one)
	}
	return log.RecordAttestations(ctx, found)
}

// Published plays a run that published its outputs, whose digests are those of its document and plan.
func Published(ctx context.Context, log *landscape.Log, id string) error {
	return PublishedWith(ctx, log, id, "")
}

// PublishedWith is Published with a plan; "" for any.
func PublishedWith(ctx context.Context, log *landscape.Log, id, plan string) error {
	s := Scene{Run: id, Chunks: 1, ChunkRows: 10}
	run, graph := s.Graph()
	if plan != "" {
		run.Document, run.Plan = plan, plan
	}
	run.DocumentSHA256, run.PlanSHA256 = digest(run.Document), digest(run.Plan)
	if err := log.BeginRun(ctx, run, graph); err != nil {
		return err
	}
	if err := s.Read(ctx, log); err != nil {
		return err
	}
	if _, err := log.RecordSealed(ctx, s.Passage(0), recordsOf(s, 0)); err != nil {
		return err
	}
	if err := errors.Join(s.Write(ctx, log, 0), s.Publish(ctx, log)); err != nil {
		return err
	}
	return log.FinishRun(ctx, id, pipeline.CompletedWithFailures, "")
}

// attestations holds what a log says of attestations.
func attestations(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	log := landscape.New(d, func() time.Time { now = now.Add(time.Hour); return now })
	require.NoError(t, Published(ctx, log, "one"))
	require.NoError(t, Logged(ctx, log))
	none, err := log.Attestations(ctx, "one")
	require.NoError(t, err)
	require.Nil(t, none)
	recorded, err := log.RecordAttestations(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, recorded)

	var at []landscape.Micros
	for i, result := range []plugin.State{plugin.AsWritten, plugin.AsWritten, plugin.Changed, plugin.Missing, plugin.AsWritten} {
		found, err := Attest(ctx, log.SealedBy(Sealer{}), "one", result)
		require.NoError(t, err)
		require.EqualValues(t, i, found[0].Seq)
		at = append(at, found[0].At)
		_, err = log.LogEntryAbout(ctx, "attested/one/"+string(rune('0'+i)))
		require.NoError(t, err)
	}
	all, err := log.Attestations(ctx, "one")
	require.NoError(t, err)
	sink := all[0].Sink
	findings, err := all[len(all)/5*2].Found()
	require.NoError(t, err)
	require.EqualValues(t, 3, findings[0].Line)
	require.Equal(t, landscape.LastSeen{}, landscape.LastSeenEqual(all, sink, 0))
	require.Equal(t, landscape.LastSeen{Equal: at[1]}, landscape.LastSeenEqual(all, sink, 2))
	require.Equal(t, landscape.LastSeen{Equal: at[1], Other: at[2]}, landscape.LastSeenEqual(all, sink, 4))
	require.Equal(t, landscape.LastSeen{Equal: at[4]}, landscape.LastSeenEqual(all, sink, 5))

	for seq, want := range map[int][2]landscape.Micros{1: {0, at[0]}, 2: {at[1], at[2]}, 3: {at[2], at[3]}} {
		otherwise, first := landscape.FoundSo(all, all[len(all)/5*seq])
		require.Equal(t, want, [2]landscape.Micros{otherwise, first}, "attestation %d", seq)
	}

	require.Equal(t, map[landscape.EventKind]int{landscape.OutputChanged: 2 * len(all) / 5}, kinds(t, log, landscape.OutputChanged), "when it was found changed, and when it was found missing")

	newest, err := log.NewestAttestations(ctx, "one", len(all)/5)
	require.NoError(t, err)
	require.ElementsMatch(t, all[len(all)/5*4:], newest)
	attestTurns(t, log, newest)

	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			_, err := Attest(ctx, landscape.New(d, nil), "one", plugin.AsWritten)
			require.NoError(t, err)
		})
	}
	both.Wait()
	all, err = log.Attestations(ctx, "one")
	require.NoError(t, err)
	require.EqualValues(t, 7, all[len(all)-1].Seq, "each has a number of its own")
}

// attestTurns holds that of two processes one attests on schedule.
func attestTurns(t *testing.T, log *landscape.Log, found []landscape.Attestation) {
	ctx := t.Context()
	turn, err := log.Turn(ctx, landscape.AttestTurns)
	require.NoError(t, err)
	other, err := log.Turn(ctx, landscape.RetainTurns)
	require.NoError(t, err)
	_, err = log.MoveTurn(ctx, other)
	require.NoError(t, err, "another name has a turn of its own")
	mine, err := log.MoveTurn(ctx, turn)
	require.NoError(t, err)
	_, err = log.MoveTurn(ctx, turn)
	require.ErrorIs(t, err, landscape.ErrTurnLost, "another process saw the same")
	theirs, err := log.MoveTurn(ctx, mine)
	require.NoError(t, err)

	_, _, err = log.RecordInTurn(ctx, mine, found)
	require.ErrorIs(t, err, landscape.ErrTurnLost)
	recorded, next, err := log.RecordInTurn(ctx, theirs, found)
	require.NoError(t, err)
	require.EqualValues(t, 5, recorded[0].Seq)
	now, err := log.Turn(ctx, landscape.AttestTurns)
	require.NoError(t, err)
	require.Equal(t, next, now)
}

// kinds counts the events of some kinds.
func kinds(t *testing.T, log *landscape.Log, of ...landscape.EventKind) map[landscape.EventKind]int {
	_, err := log.Sequence(t.Context())
	require.NoError(t, err)
	events, err := log.Outbox(t.Context(), 0, 0)
	require.NoError(t, err)
	counted := map[landscape.EventKind]int{}
	for _, e := range events {
		if slices.Contains(of, e.Kind) {
			counted[e.Kind]++
		}
	}
	return counted
}
