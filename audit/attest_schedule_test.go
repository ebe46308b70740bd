package audit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestAttestSchedule asks at many moments which of two runs is due, of which one says nothing of it.
func TestAttestSchedule(t *testing.T) {
	ctx, now := t.Context(), time.Unix(1_700_000_000, 0)
	log := landscape.New(blank.New(t), func() time.Time { return now })
	require.NoError(t, landscapetest.Published(ctx, log, "quiet"))
	require.NoError(t, landscapetest.PublishedWith(ctx, log, "watched", `{"attest":{"every":"24h0m0s","for":"72h0m0s"}}`))
	end := now
	kept := audit.NewAttestSchedule(log.Reader)
	at := func(after time.Duration) audit.DueAttestations {
		t.Helper()
		moment := landscape.MicrosOf(end.Add(after))
		found, err := kept.Look(ctx, moment)
		require.NoError(t, err)
		fresh, err := audit.NewAttestSchedule(log.Reader).Look(ctx, moment)
		require.NoError(t, err)
		require.Equal(t, fresh, found, "as after a restart")
		return found
	}
	attest := func(after time.Duration, result plugin.State) []landscape.Attestation {
		t.Helper()
		now = end.Add(after)
		found, err := landscapetest.Attest(ctx, log, "watched", result)
		require.NoError(t, err)
		return found
	}
	const day = 24 * time.Hour

	found := at(day - time.Second)
	require.Empty(t, found.Due)
	require.Equal(t, 1, found.Scheduled)
	require.Equal(t, landscape.MicrosOf(end.Add(day)), found.Next)
	found = at(day)
	require.Len(t, found.Due, 1)
	require.Equal(t, []any{"watched", landscape.MicrosOf(end.Add(day))}, []any{found.Due[0].Run, found.Due[0].Since})
	require.Zero(t, found.Overdue(landscape.MicrosOf(end.Add(day+10*time.Minute))))
	require.Equal(t, 1, found.Overdue(landscape.MicrosOf(end.Add(day+11*time.Minute))))

	artifacts, err := log.Artifacts(ctx, "watched")
	require.NoError(t, err)
	require.Greater(t, len(artifacts), 1)
	now = end.Add(25 * time.Hour)
	_, err = log.RecordAttestations(ctx, []landscape.Attestation{{
		Run: "watched", Sink: artifacts[0].Sink, Path: artifacts[0].Path, Unit: plugin.Pieces, LookedAt: 1, Equal: 1, Result: plugin.AsWritten, Findings: "[]", Actor: "ann",
	}})
	require.NoError(t, err)
	require.Equal(t, found.Due, at(26*time.Hour).Due, "one output says nothing of the others, at which nobody has looked yet")

	recorded := attest(30*time.Hour, plugin.AsWritten)
	require.Empty(t, at(54*time.Hour-time.Second).Due)
	require.Len(t, at(54*time.Hour).Due, 1)
	for i := range recorded {
		recorded[i].Sample = 2
	}
	now = end.Add(53 * time.Hour)
	_, err = log.RecordAttestations(ctx, recorded)
	require.NoError(t, err)
	require.Len(t, at(54*time.Hour).Due, 1, "a sample says nothing of the rest")
	one := recorded[:1]
	one[0].Sample = 0
	_, err = log.RecordAttestations(ctx, one)
	require.NoError(t, err)
	require.Len(t, at(54*time.Hour).Due, 1, "one output says nothing of the others")

	attest(50*time.Hour, plugin.Changed)
	altered, err := kept.Altered(ctx, landscape.MicrosOf(end.Add(51*time.Hour)))
	require.NoError(t, err)
	require.Len(t, altered, len(recorded))
	found = at(60 * time.Hour)
	require.Equal(t, audit.DueAttestations{Scheduled: 1}, found, "74 hours are past the end")
	require.Equal(t, audit.DueAttestations{}, at(72*time.Hour))
	altered, err = kept.Altered(ctx, landscape.MicrosOf(end.Add(72*time.Hour)))
	require.NoError(t, err)
	require.Nil(t, altered)
}
