package landscape

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/landscape/admit"
	"waymark/pipeline"
)

// Gate is what every decision about its places moves: of two that were made side by side, the second is made again. How many of its places
// are taken is not counted: it follows from the runs that are running, and from the terms of their starts.
type Gate struct {
	Gate string `db:"gate,key"`
	Turn int64  `db:"turn,move"` // how often somebody decided
}

// Table returns gates.
func (Gate) Table() string { return "gates" }

// HeldError says that a run does not begin, or not yet, because places are limited. That is recorded with its start.
type HeldError struct {
	State    StartState    // StartWaiting or StartSkipped
	Since    Micros        // its start was accepted
	Rest     time.Duration // for how long it may wait yet, more than 0; 0 if that has no end
	Decision admit.Decision
}

// Error says what has no room.
func (e *HeldError) Error() string { return "the run is " + string(e.State) + ": " + e.Decision.Why() }

// ErrQueueFull says that a run does not wait, because as many do as may.
var ErrQueueFull = errors.New("as many runs wait as may")

// ErrQueueTimeout says that a run does not wait any longer.
var ErrQueueTimeout = errors.New("the run has waited for as long as it may")

// Admission is on which terms a run may begin.
type Admission struct {
	admit.Terms
	Most int64         // how many runs may wait, as admit.Decision.Queued counts them; 0 for any number
	Wait time.Duration // how long the run may wait, from when it was asked for; 0 for any time

	found *permit // that Admit found that the run may begin; nil once it was used
}

// permit is the result of a decision that a run may begin. It becomes stale as soon as another decision moves one of
// its gates, or its start.
type permit struct {
	turns Tx
	start *Start // the open one; nil if there is none, or it was not read
}

// outwaits is the error about a run that has waited for as long as it may, also if there are places now; nil if it has not.
func (a *Admission) outwaits(start *Start, decision admit.Decision, now time.Time) error {
	if start.State != StartWaiting || a.Wait == 0 || now.Sub(start.Accepted.Time()) < a.Wait {
		return nil
	}
	return fmt.Errorf("%w: %s: %s", ErrQueueTimeout, a.Wait, cmp.Or(decision.Why(), "there are places now, too late"))
}

// rest is for how long a run may wait yet; 0 if that has no end.
func (a *Admission) rest(start Start, now time.Time) time.Duration {
	if a.Wait == 0 {
		return 0
	}
	return max(a.Wait-now.Sub(start.Accepted.Time()), 1)
}

// Admit says whether the run of an open start may begin now: the error is nil if it may, and nothing is stored. If it may not, it is a
// *HeldError, or wraps ErrQueueFull or ErrQueueTimeout, or ErrCalledOff if the start was decided meanwhile; if the run is recorded already, it may.
func (l *Log) Admit(ctx context.Context, run string, admission *Admission) error {
	if admission == nil {
		return nil
	}
	return settle("", func() error {
		tx, fresh, err := l.turns(ctx, admission.Wants)
		if err != nil {
			return err
		}
		start, decision, err := l.decision(ctx, run, admission, fresh)
		if err == nil && start != nil {
			err = admission.outwaits(start, decision, l.clock())
		}
		switch {
		case err != nil || start == nil:
			return err
		case decision.Verdict == admit.Begin: // nothing is stored: what others decide meanwhile does not matter
			admission.found = &permit{tx, start}
			return nil
		}
		_, err = l.admits(ctx, run, admission)
		return err
	})
}

// admits decides whether a run may begin, and returns what makes it begin if it may. If it may not, that is stored, and
// the error is a *HeldError. What Admit found is used once: if it is stale the second try asks the record.
func (l *Log) admits(ctx context.Context, run string, admission *Admission) (permit, error) {
	if admission == nil {
		return permit{}, nil
	}
	if found := admission.found; found != nil {
		admission.found = nil
		if found.start.Run == run {
			return *found, nil
		}
	}
	tx, fresh, err := l.turns(ctx, admission.Wants) // before anything that the decision goes by is read
	if err != nil {
		return permit{}, err
	}
	start, decision, err := l.decision(ctx, run, admission, fresh)
	switch {
	case err != nil || start == nil:
		return permit{}, err
	case decision.Verdict == admit.Begin:
		return permit{tx, start}, nil
	}
	return permit{}, l.hold(ctx, *start, admission, decision, tx)
}

// decision returns the open start of a run, and what becomes of it as things are now. The start is nil if the run is recorded, or nobody asked for it;
// the error wraps ErrCalledOff if it was decided otherwise. fresh says that nobody can hold or want the places.
func (l *Log) decision(ctx context.Context, run string, admission *Admission, fresh bool) (start *Start, d admit.Decision, err error) {
	start, err = l.lastStart(ctx, run)
	if err != nil || start == nil || start.State == StartBegun {
		return nil, d, err
	}
	if !start.open() {
		return nil, d, fmt.Errorf("%w: %s", ErrCalledOff, start.Reason)
	}
	if fresh {
		return start, admit.Decision{Verdict: admit.Begin}, nil
	}
	state, err := l.Places(ctx, l.clock(), admission.Wants...)
	return start, admit.Decide(state, admit.Claim{Run: run, Since: start.Accepted.Time(), Terms: admission.Terms}), err
}

// hold records that a run does not begin, or not yet.
func (l *Log) hold(ctx context.Context, start Start, admission *Admission, decision admit.Decision, tx Tx) error {
	next := start
	next.State, next.Reason, next.Terms = StartWaiting, decision.Why(), termsText(admission.Terms)
	switch {
	case decision.Verdict == admit.Skipped || decision.Verdict == admit.Joined:
		next.State, next.Decided = StartSkipped, l.now()
	case admission.Most > 0 && start.State != StartWaiting && decision.Queued >= admission.Most:
		return fmt.Errorf("%w: %d (concurrency.queue.max): %s; waymark queue lists those that wait: start again when fewer do", ErrQueueFull, admission.Most, decision.Why())
	}
	if next != start {
		tx.Insert, tx.Move = append(tx.Insert, next.event(l.now())), append(tx.Move, Move{From: start, To: next})
	}
	for _, run := range decision.Superseded {
		other, err := l.lastStart(ctx, run)
		if err != nil || other == nil || other.State != StartWaiting {
			return errors.Join(err, ErrStale)
		}
		gone := *other
		gone.State, gone.Reason, gone.Decided = StartSuperseded, fmt.Sprintf("run %s takes its place", start.Run), l.now()
		tx.Insert, tx.Move = append(tx.Insert, gone.event(gone.Decided)), append(tx.Move, Move{From: *other, To: gone})
	}
	if next != start || decision.Superseded != nil {
		if err := l.driver.Commit(ctx, tx); err != nil {
			return err
		}
	}
	return &HeldError{State: next.State, Since: start.Accepted, Rest: admission.rest(start, l.clock()), Decision: decision}
}

// turns returns what makes every decision about the gates fail that somebody made before this is stored. fresh says that
// the places are those of targets that no run ever wanted: then nobody holds them or waits for them, however many runs
// do something. Most runs write where none wrote before.
func (l *Log) turns(ctx context.Context, wants []admit.Want) (tx Tx, fresh bool, err error) {
	fresh = true
	for _, want := range slices.SortedFunc(slices.Values(wants), func(a, b admit.Want) int { return strings.Compare(a.Gate, b.Gate) }) {
		gate, err := get[Gate](ctx, l, want.Gate)
		there := err == nil
		if errors.Is(err, ErrNotFound) {
			gate, err = Gate{Gate: want.Gate}, nil
			tx.Insert = append(tx.Insert, gate)
		}
		if err != nil {
			return Tx{}, false, err
		}
		fresh = fresh && !there && want.IsTarget()
		tx.Move = append(tx.Move, Move{From: gate, To: Gate{gate.Gate, gate.Turn + 1}})
	}
	return tx, fresh, nil
}

// release returns what the end of a run moves besides it: nothing if the run holds no places.
func (l *Log) release(ctx context.Context, run string) (Tx, error) {
	terms, err := l.termsOf(ctx, run)
	if err != nil || terms == nil {
		return Tx{}, err
	}
	tx, _, err := l.turns(ctx, terms.Wants)
	return tx, err
}

// readmit returns what it moves that a run is running again; an error if its places are taken.
func (l *Log) readmit(ctx context.Context, run RunHead) (Tx, error) {
	terms, err := l.termsOf(ctx, run.ID)
	if err != nil || terms == nil || run.Status == pipeline.Running {
		return Tx{}, err
	}
	tx, _, err := l.turns(ctx, terms.Wants)
	if err != nil {
		return Tx{}, err
	}
	state, err := l.Places(ctx, l.clock(), terms.Wants...)
	state.Waiting = nil // it has begun before all of them
	if d := admit.Decide(state, admit.Claim{Run: run.ID, Terms: *terms}); err == nil && d.Verdict != admit.Begin {
		err = &NotResumableError{Run: run.ID, Status: run.Status, Now: true, Why: d.Why() + ": resume it when one of them is free"}
	}
	return tx, err
}

// termsOf returns the terms on which a run began; nil if there are none.
func (r *Reader) termsOf(ctx context.Context, run string) (*admit.Terms, error) {
	starts, err := Select[Start](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	for _, start := range starts {
		if start.Terms != "" && (start.State == StartBegun || start.State == StartWaiting) {
			terms, err := start.terms()
			return &terms, err
		}
	}
	return nil, nil
}

// terms are the terms on which the run of the start begins.
func (s Start) terms() (terms admit.Terms, err error) {
	if err = json.Unmarshal([]byte(s.Terms), &terms); err != nil {
		err = incomplete("terms of run %s: %v", s.Run, err)
	}
	return terms, err
}

func termsText(terms admit.Terms) string {
	text, err := json.Marshal(terms)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return string(text)
}

// Places returns what runs hold, and what those want that wait, as decisions about them and about one more run with these wants go by it.
func (r *Reader) Places(ctx context.Context, now time.Time, wants ...admit.Want) (admit.State, error) {
	state := admit.State{Now: now, Pools: map[string]int64{}}
	waiting, err := r.Starts(ctx, StartWaiting, nil, 0)
	if err != nil {
		return state, err
	}
	for _, start := range waiting {
		terms, err := start.terms()
		if err != nil {
			return state, err
		}
		state.Waiting = append(state.Waiting, admit.Claim{Run: start.Run, Since: start.Accepted.Time(), Terms: terms})
	}
	running, err := r.RunsWithStatus(ctx, pipeline.Running, "", 0)
	if err != nil {
		return state, err
	}
	r.forgetTerms(running)
	for _, run := range running {
		terms, err := r.termsOfRunning(ctx, run.ID)
		if err != nil {
			return state, err
		}
		if terms != nil {
			state.Going = append(state.Going, admit.Claim{Run: run.ID, Since: run.Started.Time(), Terms: *terms})
		}
	}
	for _, claim := range slices.Concat(state.Going, state.Waiting) {
		wants = append(slices.Clip(wants), claim.Wants...)
	}
	if !slices.ContainsFunc(wants, func(want admit.Want) bool { return strings.HasPrefix(want.Gate, poolPrefix) }) {
		return state, nil
	}
	limits, err := r.Limits(ctx)
	for _, limit := range limits {
		state.Pools[limit.Gate] = limit.Places
	}
	return state, err
}

// termsOfRunning is termsOf for a run that is running. They do not change while it is: each is read once.
func (r *Reader) termsOfRunning(ctx context.Context, run string) (*admit.Terms, error) {
	if known, ok := r.terms.Load(run); ok {
		return known.(*admit.Terms), nil
	}
	terms, err := r.termsOf(ctx, run)
	if err == nil {
		r.terms.Store(run, terms)
	}
	return terms, err
}

// forgetTerms forgets the terms of all runs but these.
func (r *Reader) forgetTerms(but []RunHead) {
	stay := make(map[string]bool, len(but))
	for _, head := range but {
		stay[head.ID] = true
	}
	r.terms.Range(func(run, _ any) bool {
		if !stay[run.(string)] {
			r.terms.Delete(run)
		}
		return true
	})
}

// Admissible returns the runs that wait and may begin now, because the run let go of its places, or waited and does not any more; nil if it
// never had any, or wanted any.
func (l *Log) Admissible(ctx context.Context, run string) ([]string, error) {
	starts, err := Select[Start](ctx, l, run)
	if err != nil || !slices.ContainsFunc(starts, func(s Start) bool { return s.Terms != "" }) {
		return nil, err
	}
	return l.AllAdmissible(ctx)
}

// AllAdmissible returns the runs that wait and may begin now, in order; nil if none may.
func (l *Log) AllAdmissible(ctx context.Context) (runs []string, err error) {
	if waiting, err := l.Starts(ctx, StartWaiting, nil, 1); err != nil || waiting == nil {
		return nil, err
	}
	state, err := l.Places(ctx, l.clock())
	for _, claim := range admit.Next(state) {
		runs = append(runs, claim.Run)
	}
	return runs, err
}
