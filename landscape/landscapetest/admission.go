package landscapetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/pipeline"
)

// Of is an admission to one place of the pool.
func Of(pool string) *landscape.Admission {
	return &landscape.Admission{Terms: admit.Terms{Priority: 3, Wants: []admit.Want{{Gate: landscape.PoolGate(pool), Places: 1}}}}
}

// own is an admission to the runs of a pipeline, of which there is one at once.
func own(policy admit.Policy) *landscape.Admission {
	want := admit.Want{Gate: landscape.RunsGate("prod", "orders", "acme"), Places: 1, Limit: 1}
	return &landscape.Admission{Terms: admit.Terms{Priority: 3, WhenFull: policy, Wants: []admit.Want{want}}}
}

// to is an admission to write to the target.
func to(target string) *landscape.Admission {
	return &landscape.Admission{Terms: admit.Terms{Priority: 3, Wants: []admit.Want{admit.Target(target)}}}
}

// admission holds what a log says of runs that wait for places.
func admission(t *testing.T, d landscape.Driver) {
	s := &admissions{T: t}
	s.log = landscape.New(d, func() time.Time { return time.Unix(1000, 0).Add(time.Duration(s.ticks.Add(1)) * time.Millisecond) })
	require.NoError(t, s.log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: 1, Actor: "ann", Why: "one"}))
	require.NoError(t, s.begin("free", nil), "it needs no place")
	require.NoError(t, s.begin("a", Of("db")))
	s.held(s.begin("b", Of("db")), landscape.StartWaiting, "pool:db has 1 place, held by run a")
	s.held(s.begin("b", Of("db")), landscape.StartWaiting, "pool:db has 1 place, held by run a")
	s.held(s.begin("c", Of("db")), landscape.StartWaiting, "pool:db has 1 place, held by run a; run b comes before it")
	bounded := Of("db")
	bounded.Most = 2
	require.ErrorIs(t, s.begin("d", bounded), landscape.ErrQueueFull)
	s.next(nil)

	require.NoError(t, s.log.SetLimit(t.Context(), landscape.Limit{Gate: landscape.PoolGate("db"), Places: 2, Actor: "ann", Why: "two"}))
	limits, err := s.log.Limits(t.Context())
	require.NoError(t, err)
	require.Len(t, limits, 1)
	require.Equal(t, []any{int64(1), int64(2), "two"}, []any{limits[0].Seq, limits[0].Places, limits[0].Why})
	s.next([]string{"b"})
	require.ErrorAs(t, s.begin("c", Of("db")), new(*landscape.HeldError), "the place is for b")
	require.NoError(t, s.begin("b", Of("db")))
	require.NoError(t, s.begin("b", Of("db")), "a repeat")
	require.NoError(t, s.log.Admit(t.Context(), "b", Of("db")), "it is recorded")
	s.next(nil)

	require.NoError(t, s.log.StopRun(t.Context(), "a", pipeline.Failed, "broken"))
	s.next([]string{"c"})
	freed, err := s.log.Admissible(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, freed)
	freed, err = s.log.Admissible(t.Context(), "free")
	require.NoError(t, err)
	require.Nil(t, freed, "it had no place to let go of")
	require.NoError(t, s.begin("c", Of("db")))
	resumption := landscape.Resumption{Run: "a", Epoch: 1, Claim: "x"}
	require.ErrorContains(t, s.log.Resume(t.Context(), resumption), "run a is failed and cannot be resumed now: pool:db has 2 places, held by runs b, c: resume it when")
	require.NoError(t, s.log.CancelRun(t.Context(), "c", false, "ann", "tired"))
	require.NoError(t, s.log.Resume(t.Context(), resumption))

	s.held(s.begin("e", Of("db")), landscape.StartWaiting, "pool:db has 2 places, held by runs a, b")
	off := s.start("e")
	off.State, off.Reason = landscape.StartCancelled, "cancelled by ann"
	require.NoError(t, s.log.CallOff(t.Context(), off))
	require.ErrorIs(t, s.log.Admit(t.Context(), "e", Of("db")), landscape.ErrCalledOff)
	s.timesOut()
	s.policies()
	s.collides(d)
	s.targets()
}

// targets holds that one run at a time writes to a target, from its beginning to its end, however it ends.
func (s *admissions) targets() {
	require.NoError(s, s.begin("t1", to("/out/a.csv")))
	require.NoError(s, s.begin("t2", to("/out/b.csv")))
	s.held(s.begin("t3", to("/out/a.csv")), landscape.StartWaiting, "/out/a.csv is being written by run t1")
	s.next(nil)
	require.NoError(s, s.log.StopRun(s.Context(), "t1", pipeline.Interrupted, "killed"))
	s.next([]string{"t3"})
	require.NoError(s, s.begin("t3", to("/out/a.csv")))
	resumption := landscape.Resumption{Run: "t1", Epoch: 1, Claim: "x"}
	require.ErrorContains(s, s.log.Resume(s.Context(), resumption), "run t1 is interrupted and cannot be resumed now: /out/a.csv is being written by run t3: resume it when")
	require.NoError(s, s.log.CancelRun(s.Context(), "t3", true, "ann", "wrong"))
	require.NoError(s, s.log.Resume(s.Context(), resumption))
	s.held(s.begin("t4", to("/out/a.csv")), landscape.StartWaiting, "/out/a.csv is being written by run t1")
	s.sideBySide(to("/out/c.csv"))
	s.overtaken(to("/out/d.csv"))
}

// overtaken lets another run begin between the decision that a run may begin and its beginning: the run waits then.
func (s *admissions) overtaken(on *landscape.Admission) {
	require.NoError(s, s.log.Accept(s.Context(), landscape.Start{Run: "slow", Params: "{}"}))
	require.NoError(s, s.log.Admit(s.Context(), "slow", on))
	require.NoError(s, s.begin("fast", &landscape.Admission{Terms: on.Terms}))
	s.held(s.begin("slow", on), landscape.StartWaiting, "/out/d.csv is being written by run fast")
}

// sideBySide begins many runs at the same time on the same terms, under which one may begin.
func (s *admissions) sideBySide(on *landscape.Admission) {
	var begun atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			var held *landscape.HeldError
			if err := s.begin(fmt.Sprint("side-", i), on); !errors.As(err, &held) {
				assert.NoError(s, err)
				begun.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(s, 1, begun.Load())
}

// timesOut holds that a run that has waited for as long as it may is refused, also if there are places by then.
func (s *admissions) timesOut() {
	bounded := to("/out/slow.csv")
	bounded.Wait = time.Minute
	require.NoError(s, s.begin("w1", bounded))
	var held *landscape.HeldError
	require.ErrorAs(s, s.begin("w2", bounded), &held)
	require.Positive(s, held.Rest)
	require.LessOrEqual(s, held.Rest, bounded.Wait)
	require.NoError(s, s.log.StopRun(s.Context(), "w1", pipeline.Failed, "broken"))
	require.NoError(s, s.log.Admit(s.Context(), "w2", bounded), "there are places in time")
	s.ticks.Add(bounded.Wait.Milliseconds())
	require.ErrorIs(s, s.log.Admit(s.Context(), "w2", bounded), landscape.ErrQueueTimeout)
	bounded.Wait = 0
	require.NoError(s, s.begin("w2", bounded), "it may wait for any time")
}

// policies holds what becomes of a run whose pipeline has as many as it may have.
func (s *admissions) policies() {
	require.NoError(s, s.begin("o1", own(admit.Queue)))
	s.held(s.begin("o2", own(admit.Skip)), landscape.StartSkipped, "pipeline:orders@prod/acme has 1 place, held by run o1")
	s.held(s.begin("o3", own(admit.Join)), landscape.StartSkipped, "pipeline:orders@prod/acme has 1 place, held by run o1; the result is that of run o1")
	s.held(s.begin("o4", own(admit.Queue)), landscape.StartWaiting, "pipeline:orders@prod/acme has 1 place, held by run o1")
	s.held(s.begin("o5", own(admit.Cancel)), landscape.StartWaiting, "pipeline:orders@prod/acme has 1 place, held by run o1; run o4 gives way")
	require.Equal(s, []any{landscape.StartSuperseded, "run o5 takes its place"}, []any{s.start("o4").State, s.start("o4").Reason})
	require.ErrorIs(s, s.log.Admit(s.Context(), "o4", own(admit.Queue)), landscape.ErrCalledOff)
}

// collides lets a run end between a decision about its places and the commit of what was decided: the decision is made again.
func (s *admissions) collides(d landscape.Driver) {
	ended := false
	slow := landscape.New(beforeCommit{d, func() {
		if !ended {
			ended = true
			require.NoError(s, s.log.StopRun(s.Context(), "o1", pipeline.Failed, "broken"))
			off := s.start("o5")
			off.State = landscape.StartCancelled
			require.NoError(s, s.log.CallOff(s.Context(), off))
		}
	}}, nil)
	require.NoError(s, s.log.Accept(s.Context(), landscape.Start{Run: "o6", Params: "{}"}))
	require.NoError(s, slow.Admit(s.Context(), "o6", own(admit.Queue)), "it would wait for nobody")
	require.True(s, ended)
	require.Equal(s, landscape.StartAccepted, s.start("o6").State)
}

// beforeCommit is a driver with which something comes before each commit.
type beforeCommit struct {
	landscape.Driver
	do func()
}

func (b beforeCommit) Commit(ctx context.Context, tx landscape.Tx) error {
	b.do()
	return b.Driver.Commit(ctx, tx)
}

type admissions struct {
	*testing.T
	log   *landscape.Log
	ticks atomic.Int64 // milliseconds; many ask at once
}

// begin asks for a run on these terms, and begins it if it may.
func (s *admissions) begin(run string, on *landscape.Admission) error {
	err := s.log.Accept(s.Context(), landscape.Start{Run: run, Params: "{}"})
	if err != nil {
		require.ErrorIs(s, err, landscape.ErrBegun)
	}
	record, graph := Scene{Run: run}.Graph()
	graph.Admission = on
	return s.log.BeginRun(s.Context(), record, graph)
}

// held requires of an error that a run does not begin, and why, and of the start that it is recorded.
func (s *admissions) held(err error, state landscape.StartState, why string) {
	s.Helper()
	var held *landscape.HeldError
	require.ErrorAs(s, err, &held)
	require.Equal(s, []any{state, why}, []any{held.State, held.Decision.Why()})
}

func (s *admissions) next(want []string) {
	s.Helper()
	runs, err := s.log.AllAdmissible(s.Context())
	require.NoError(s, err)
	require.Equal(s, want, runs)
}

func (s *admissions) start(run string) landscape.Start {
	start, err := s.log.LastStart(s.Context(), run)
	require.NoError(s, err)
	return start
}
