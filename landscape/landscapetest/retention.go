package landscapetest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Before says of events that happened before a moment that they are due.
func Before(moment landscape.Micros) func(landscape.AgedEvent) (bool, error) {
	return func(e landscape.AgedEvent) (bool, error) { return e.At < moment, nil }
}

// periods are some whose digest has this digit.
func periods(digit, text string) landscape.RetentionPeriods {
	return landscape.RetentionPeriods{
		SHA256: strings.Repeat(digit, 64), Text: text, Actor: "the server", Why: "its settings",
	}
}

// shorter and longer say how periods differ from those of before.
func shorter(*landscape.RetentionPeriods) (bool, error) { return true, nil }
func longer(*landscape.RetentionPeriods) (bool, error)  { return false, nil }

// Retained records periods and turns.
func Retained(ctx context.Context, log *landscape.Log) error {
	_, err := log.SetPeriods(ctx, periods("1", `{"source":"90d"}`), shorter)
	_, failed := log.RecordRetention(ctx, landscape.RetentionTurn{
		Actor: "the server", Why: "due", Events: 3, Problem: "away",
	})
	return errors.Join(err, failed)
}

// retention holds which periods are in force, and what is recorded of turns.
func retention(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	expect := func(inForce, asked string) {
		t.Helper()
		now, waits, err := log.Periods(ctx)
		require.NoError(t, err)
		require.Equal(t, inForce, textOf(now))
		require.Equal(t, asked, textOf(waits))
	}
	set := func(
		p landscape.RetentionPeriods, shortens func(*landscape.RetentionPeriods) (bool, error),
	) landscape.RetentionPeriods {
		t.Helper()
		recorded, err := log.SetPeriods(ctx, p, shortens)
		require.NoError(t, err)
		return recorded
	}
	expect("", "")
	one := set(periods("1", `{"source":"90d"}`), shorter)
	require.True(t, one.InForce, "no rule asks for several persons")
	require.Equal(t, one, set(periods("1", `{"source":"90d"}`), shorter), "they are in force")
	expect(`{"source":"90d"}`, "")

	ruling := landscape.ApprovalRule{Verb: landscape.OrderPurge, Persons: 2, Actor: "ann", Why: "four eyes"}
	_, err := log.Rule(ctx, ruling)
	require.NoError(t, err)
	two := set(periods("2", `{"source":"7d"}`), shorter)
	require.False(t, two.InForce)
	require.Equal(t, two, set(periods("2", `{"source":"7d"}`), shorter), "they wait")
	expect(`{"source":"90d"}`, `{"source":"7d"}`)
	require.EqualValues(t, 2, set(periods("1", `{"source":"90d"}`), shorter).Seq,
		"asked for again: the others are withdrawn")
	expect(`{"source":"90d"}`, "")
	require.True(t, set(periods("3", `{"source":"400d"}`), longer).InForce, "lengthening needs nobody")
	set(periods("2", `{"source":"7d"}`), shorter)

	approved := OrderOf("", "purge", landscape.OrderPurge)
	require.NoError(t, log.Propose(ctx, approved))
	_, err = log.Assent(ctx, AssentTo(approved, landscape.Approves, "bob"))
	require.NoError(t, err)
	under := log.Under(landscape.ApprovedExecution{Order: approved.Digest, Persons: 2, Actor: "ann"})
	seven, err := under.SetPeriods(ctx, periods("2", `{"source":"7d"}`), shorter)
	require.NoError(t, err)
	require.True(t, seven.InForce)
	expect(`{"source":"7d"}`, "")
	done, err := log.ExecutionOf(ctx, approved)
	require.NoError(t, err)
	require.NotNil(t, done, "it is recorded with the execution")

	_, err = log.BeginPurge(ctx, order(), nil)
	require.ErrorAs(t, err, new(*landscape.NeedsOrderError), "a person cannot")
	_, err = log.BeginDuePurge(ctx, order(), nil, one)
	require.ErrorIs(t, err, landscape.ErrPeriodsChanged)
	purge, err := log.BeginDuePurge(ctx, order(), nil, seven)
	require.NoError(t, err, "who approved the periods approved what is due by them")

	last, good, err := log.LastRetention(ctx)
	require.NoError(t, err)
	require.Nil(t, last)
	require.Nil(t, good)
	first, err := log.RecordRetention(ctx, landscape.RetentionTurn{
		Periods: seven.SHA256, Actor: "the server", Why: "due", Purge: &purge.ID, Payloads: 2, Bytes: 9, Left: 1,
	})
	require.NoError(t, err)
	require.True(t, first.Did())
	second, err := log.RecordRetention(ctx, landscape.RetentionTurn{
		Actor: "the server", Why: "due", Problem: "the bucket is away",
	})
	require.NoError(t, err)
	require.False(t, second.Did())
	last, good, err = log.LastRetention(ctx)
	require.NoError(t, err)
	require.Equal(t, []*landscape.RetentionTurn{&second, &first}, []*landscape.RetentionTurn{last, good})
}

func textOf(p *landscape.RetentionPeriods) string {
	if p == nil {
		return ""
	}
	return p.Text
}
