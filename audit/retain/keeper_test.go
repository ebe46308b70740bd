package retain_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/tests/blank"
)

const aDay = 24 * time.Hour

// life is a landscape whose clock a test moves.
type life struct {
	t        *testing.T
	driver   landscape.Driver
	backend  payload.Backend
	log      *landscape.Log
	payloads *payload.Store
	now      time.Time
	runs     int
}

func newLife(t *testing.T) *life {
	now := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	l := &life{t: t, driver: blank.New(t), backend: &memstore.Store{}, now: now}
	l.log = landscape.New(l.driver, func() time.Time { return l.now })
	l.payloads = payload.New(l.backend, payload.Options{})
	return l
}

// run begins and ends a run of a pipeline with payloads of its own, whose plan says something of its retention. It
// stays to be resumed.
func (l *life) run(id, name, retention string) {
	l.t.Helper()
	l.runs++
	scene := landscapetest.Scene{Run: id, Chunks: 1, ChunkRows: 1}
	run, graph := scene.Graph()
	run.Pipeline, run.PlanSHA256 = name, fmt.Sprintf("%064x", l.runs)
	run.Plan = "{}"
	if retention != "" {
		run.Plan = `{"retention":` + retention + `}`
	}
	require.NoError(l.t, l.log.BeginRun(l.t.Context(), run, graph))
	var pack string
	rows := fmt.Appendf(nil, "the rows of %s", id)
	require.NoError(l.t, refer(l.t.Context(), l.log, l.payloads, scene, 0, rows, &pack))
	require.NoError(l.t, l.log.StopRun(l.t.Context(), id, pipeline.Failed, "no reason"))
}

// stored returns which of some runs have their rows.
func (l *life) stored(ids ...string) (have []string) {
	l.t.Helper()
	for _, id := range ids {
		has, err := l.payloads.Has(l.t.Context(), payload.Of(fmt.Appendf(nil, "the rows of %s", id)))
		require.NoError(l.t, err)
		if has {
			have = append(have, id)
		}
	}
	return have
}

func (l *life) keeper(settings string) *retain.Keeper {
	k := &retain.Keeper{Log: l.log, Payloads: payload.New(l.backend, payload.Options{}), Actor: "waymark at here"}
	if settings != "" {
		k.Periods = *periodsOf(l.t, settings)
	}
	return k
}

func (l *life) turn(k *retain.Keeper) landscape.RetentionTurn {
	l.t.Helper()
	done, _, err := k.Turn(l.t.Context())
	require.NoError(l.t, err)
	return done
}

// TestAMonthOfLife lives through a month, with a run each day, of other pipelines each fifth day, and a turn after it:
// what the settings say of each is there for so long and no longer, unless its document lengthens that, or it is held.
// What is deleted is recorded with who and why, and a day on which nothing is due is recorded as well.
func TestAMonthOfLife(t *testing.T) {
	l := newLife(t)
	ctx := t.Context()
	k := l.keeper("{source: 10d, debugging: 5d, pipelines: {orders: {source: 20d}, ledger: {source: forever}}}")
	var all []string
	born := map[string]int{}
	for day := range 31 {
		for name, retention := range map[string]string{
			"daily": "", "orders": "", "ledger": "", "long": `{"source":"360h0m0s","debugging":"1h0m0s"}`,
		} {
			if name != "daily" && day%5 != 0 {
				continue
			}
			id := fmt.Sprintf("%s-%d", name, day)
			l.run(id, name, retention)
			all, born[id] = append(all, id), day
		}
		if day == 3 {
			_, err := l.log.AddHold(ctx, landscape.Hold{Run: "daily-3", Actor: "ann", Why: "case 17"})
			require.NoError(t, err)
		}
		_, err := l.log.Sequence(ctx)
		require.NoError(t, err)
		l.turn(k)
		var want []string
		for _, id := range all {
			name, _, _ := strings.Cut(id, "-")
			keeps := map[string]int{"daily": 10, "orders": 20, "ledger": 1000, "long": 15}[name]
			if day-born[id] < keeps || id == "daily-3" {
				want = append(want, id)
			}
		}
		require.Equal(t, want, l.stored(all...), "day %d", day)
		l.now = l.now.Add(aDay)
	}
	allThere(t, l.log, l.payloads)

	events, err := l.log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	require.Equal(t, "daily-3", events[0].Run, "the events of a run that is held stay, and those after them")
	require.NoError(t, l.log.EndHold(ctx, 1, "ann", "closed"))
	require.Positive(t, l.turn(k).Events)
	events, err = l.log.Outbox(ctx, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 27, born[events[0].Run], "on day 31, those of five days are left")
	require.Empty(t, l.stored("daily-3"))

	turns, err := landscape.Select[landscape.RetentionTurn](ctx, l.log)
	require.NoError(t, err)
	require.Len(t, turns, 32, "one a day, and one after the hold ended")
	purges, err := landscape.Select[landscape.Purge](ctx, l.log)
	require.NoError(t, err)
	require.Len(t, purges, 21, "from day 10 on, but for that of the run that was held")
	require.Equal(t, "waymark at here, settings "+k.Periods.Digest()[:12], purges[0].Actor)
	require.Equal(t, "retention: source 10d, debugging 5d; ledger: source forever; orders: source 20d", purges[0].Why)
	require.Equal(t, k.Periods.String(), purges[0].Rules)
	for _, turn := range turns {
		require.Equal(t, k.Periods.Digest(), turn.Periods)
		require.Empty(t, turn.Problem)
	}
}

// TestPeriodsAreShortened: without a rule the settings count at once. Under one, shorter periods wait until the order
// about them is executed, and those of before count; nobody approves the purges. Longer ones need nobody.
func TestPeriodsAreShortened(t *testing.T) {
	l := newLife(t)
	ctx := t.Context()
	l.run("old", "orders", "")
	l.now = l.now.Add(30 * aDay)
	l.run("new", "orders", "")
	expect := func(inForce, asked string) {
		t.Helper()
		now, waits, err := l.log.Periods(ctx)
		require.NoError(t, err)
		for want, p := range map[string]*landscape.RetentionPeriods{inForce: now, asked: waits} {
			read, err := retain.ReadPeriods(p)
			require.NoError(t, err)
			require.Equal(t, want, read.Told())
		}
	}
	l.turn(l.keeper("{source: 60d}"))
	expect("source 60d", "")
	ruling := landscape.ApprovalRule{Verb: landscape.OrderPurge, Persons: 2, Actor: "ann", Why: "four eyes"}
	_, err := l.log.Rule(ctx, ruling)
	require.NoError(t, err)

	short := l.keeper("{source: 20d}")
	for range 2 {
		require.Zero(t, l.turn(short).Payloads)
		expect("source 60d", "source 20d")
	}
	require.Equal(t, []string{"old", "new"}, l.stored("old", "new"))
	l.turn(l.keeper("{source: 90d}"))
	expect("source 90d", "")
	l.turn(short)
	expect("source 90d", "source 20d")

	order := landscapetest.OrderOf("", "purge", landscape.OrderPurge)
	require.NoError(t, l.log.Propose(ctx, order))
	_, err = l.log.Assent(ctx, landscapetest.AssentTo(order, landscape.Approves, "bob"))
	require.NoError(t, err)
	_, asked, err := l.log.Periods(ctx)
	require.NoError(t, err)
	under := l.log.Under(landscape.ApprovedExecution{Order: order.Digest, Persons: 2, Actor: "ann"})
	_, err = retain.Approve(ctx, under, asked, "ann, bob", "20 days suffice")
	require.NoError(t, err)
	expect("source 20d", "")
	done := l.turn(short)
	require.EqualValues(t, 1, done.Payloads)
	require.Equal(t, []string{"new"}, l.stored("old", "new"))
	require.Zero(t, l.turn(l.keeper("")).Payloads, "a process without periods purges nothing")
	l.now = l.now.Add(30 * aDay)
	require.Zero(t, l.turn(l.keeper("")).Payloads)
	require.EqualValues(t, 1, l.turn(short).Payloads)
}

// TestAKilledTurnIsFinished: whatever a process that was killed left, the next turn does, once no process can be at
// work any more.
func TestAKilledTurnIsFinished(t *testing.T) {
	l := newLife(t)
	ctx := t.Context()
	l.run("a", "orders", "")
	l.run("b", "orders", "")
	l.now = l.now.Add(30 * aDay)
	k := l.keeper("{source: 20d}")
	asked := landscape.RetentionPeriods{SHA256: k.Periods.Digest(), Text: k.Periods.String(), Actor: "x", Why: "y"}
	force, err := l.log.SetPeriods(ctx, asked,
		func(*landscape.RetentionPeriods) (bool, error) { return true, nil })
	require.NoError(t, err)
	plan, err := retain.NewPlan(ctx, l.log.Reader, &k.Periods, l.now)
	require.NoError(t, err)
	begun, err := l.log.BeginDuePurge(ctx, landscape.Purge{Actor: "dead", Why: "due", Rules: "{}"}, plan.Runs, force)
	require.NoError(t, err)
	_, err = l.log.BeginDeletion(ctx, begun.ID, string(payload.Of([]byte("the rows of a"))))
	require.NoError(t, err, "and then the process was killed")

	require.EqualValues(t, 1, l.turn(k).Payloads, "b is deleted; the one that deletes a may be alive")
	l.now = l.now.Add(retain.DefaultPatience + time.Minute)
	require.EqualValues(t, 1, l.turn(k).Payloads)
	require.Empty(t, l.stored("a", "b"))
	allThere(t, l.log, l.payloads)
}

// TestTwoKeepers: also if two processes have the turn at once, each payload is deleted once.
func TestTwoKeepers(t *testing.T) {
	l := newLife(t)
	const runs = 40
	for i := range runs {
		l.run(fmt.Sprint("run-", i), "orders", "")
	}
	l.now = l.now.Add(30 * aDay)
	var both errgroup.Group
	var deleted [2]int64
	for i := range deleted {
		k := l.keeper("{source: 20d}")
		k.Actor = fmt.Sprint("waymark at ", i) // else one order of a moment is both's, and both count what it deletes
		both.Go(func() error {
			done, _, err := k.Turn(t.Context())
			deleted[i] = done.Payloads
			return errors.Join(err, problemOf(done))
		})
	}
	require.NoError(t, both.Wait())
	require.EqualValues(t, runs, deleted[0]+deleted[1])
	allThere(t, l.log, l.payloads)
}

func problemOf(done landscape.RetentionTurn) error {
	if done.Problem == "" {
		return nil
	}
	return errors.New(done.Problem)
}

// TestStagedOutputOfDeadRuns: what a run staged is deleted once it can never be resumed, and not before its time; not
// if it is held. What fails is recorded, keeps nothing else from being done, and is tried again.
func TestStagedOutputOfDeadRuns(t *testing.T) {
	l := newLife(t)
	ctx := t.Context()
	staged := map[string]bool{}
	for id, retention := range map[string]string{
		"final": "", "failed": "", "purged": "", "held": "", "long": `{"debugging":"1000h0m0s"}`,
	} {
		name := "orders"
		if id == "failed" {
			name = "kept"
		}
		l.run(id, name, retention)
		staged[id] = true
	}
	for _, id := range []string{"final", "held", "long"} {
		require.NoError(t, l.log.CancelRun(ctx, id, true, "ann", "over"))
	}
	_, err := l.log.AddHold(ctx, landscape.Hold{Run: "held", Actor: "ann", Why: "case 17"})
	require.NoError(t, err)
	k := l.keeper("{source: 20d, debugging: 5d, pipelines: {kept: {source: forever}}}")
	var away error
	k.Staged = func(run landscape.Run) (bool, error) { return staged[run.ID], nil }
	k.Discard = func(_ context.Context, run string) error {
		if away == nil {
			delete(staged, run)
		}
		return away
	}
	l.now = l.now.Add(4 * aDay)
	require.Zero(t, l.turn(k).Staged)
	l.now = l.now.Add(2 * aDay)
	away = errors.New("the disk is away")
	require.Equal(t, "staged output: run final: the disk is away", l.turn(k).Problem)
	last, good, err := l.log.LastRetention(ctx)
	require.NoError(t, err)
	require.NotEqual(t, last, good)
	away = nil
	done := l.turn(k)
	require.EqualValues(t, 1, done.Staged)
	require.Empty(t, done.Problem)
	left := func() []string { return slices.Sorted(maps.Keys(staged)) }
	require.Equal(t, []string{"failed", "held", "long", "purged"}, left(), "who failed can be resumed")
	l.now = l.now.Add(15 * aDay)
	l.turn(k)
	require.Equal(t, []string{"failed", "held", "long"}, left(), "without its records a run cannot be resumed")
	l.now = l.now.Add(30 * aDay)
	l.turn(k)
	require.Equal(t, []string{"failed", "held"}, left())
}

// TestAProcessThatMayNotPurge drops events, and says why it does no more.
func TestAProcessThatMayNotPurge(t *testing.T) {
	l := newLife(t)
	l.run("old", "orders", "")
	_, err := l.log.Sequence(t.Context())
	require.NoError(t, err)
	l.now = l.now.Add(40 * aDay)
	k := l.keeper("{source: 20d}")
	k.MayPurge = func(context.Context) error { return errors.New("the role w may not purge") }
	done := l.turn(k)
	require.Equal(t, "payloads: the role w may not purge", done.Problem)
	require.EqualValues(t, 2, done.Events)
	require.Equal(t, []string{"old"}, l.stored("old"))
	again := l.turn(k)
	last, _, err := l.log.LastRetention(t.Context())
	require.NoError(t, err)
	require.Equal(t, done, *last, "the same problem is recorded once a day: %+v", again)
}
