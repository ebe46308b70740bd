package landscape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// StartState is what became of a start. Stored; never rename one.
type StartState string

// What becomes of a start.
const (
	StartAccepted  StartState = "accepted"  // its run has not begun yet
	StartBegun     StartState = "begun"     // the run is recorded
	StartRefused   StartState = "refused"   // no run came of it
	StartCancelled StartState = "cancelled" // somebody called it back before the run began

	StartWaiting    StartState = "waiting"    // for places, which are limited
	StartSkipped    StartState = "skipped"    // no run came of it, because others have the places
	StartSuperseded StartState = "superseded" // it waited, and a later one took its place
)

// startStates are all words for what becomes of a start.
var startStates = []StartState{StartAccepted, StartWaiting, StartBegun, StartRefused, StartCancelled, StartSkipped, StartSuperseded}

// CheckStartState says what is wrong with a word for what becomes of a start; nil if it is one.
func CheckStartState(state StartState) error {
	if slices.Contains(startStates, state) {
		return nil
	}
	return fmt.Errorf("%.64q is no state of a start: write accepted, waiting, begun, refused, cancelled, skipped or superseded", string(state))
}

// Start is one time that somebody asked for a run, and what became of that. A run comes of one start at most; a start that comes
// after one that was refused has the next number.
type Start struct {
	Run         string     `db:"run_id,key"`
	Seq         int64      `db:"seq,key"`              // from 0; set by Log
	Pipeline    string     `db:"pipeline"`             // its name, as far as it is known before the document is compiled
	Params      string     `db:"params"`               // JSON object: as they were given
	Environment string     `db:"environment"`          // in which the pipeline is deployed; empty for a file
	Actor       string     `db:"actor"`                // who asked
	Trigger     string     `db:"trigger"`              // cli, library, schedule …
	Why         string     `db:"why"`                  // empty if nobody said
	Key         string     `db:"key"`                  // under which a service may ask for the run again; empty for none
	Schedule    string     `db:"schedule"`             // id of the schedule that asked; empty if none did
	Workflow    string     `db:"workflow"`             // id of the workflow that somebody started for it
	Rows        string     `db:"rows"`                 // JSON array of RequestRows: which rows came with the request; empty if none did
	Slot        string     `db:"slot,move"`            // of time, that the run is about; empty if none is, or until the run begins
	Accepted    Micros     `db:"accepted_us"`          // set by Log
	State       StartState `db:"state,move"`           // set by Log
	Refusal     string     `db:"refusal,move"`         // type of the error for which it was refused; else empty
	Reason      string     `db:"reason,move"`          // one sentence for people; empty if it is accepted or begun
	Decided     Micros     `db:"decided_us,move,null"` // zero while that is open
	Terms       string     `db:"terms,move"`           // JSON, admit.Terms: on which it begins; empty if it needs no place
	Input       string     `db:"input"`                // JSON: what its workflow is started with, if another process may have to do that; else empty
}

// Table returns starts.
func (Start) Table() string { return "starts" }

// open reports whether it is still to be decided what becomes of the start.
func (s Start) open() bool { return s.Decided == 0 }

// Place returns the place of the start among those that were accepted before and after it.
func (s Start) Place() StartPlace { return StartPlace{s.Accepted, s.Run, s.Seq} }

// StartPlace is the place of a start among those that were accepted before and after it.
type StartPlace struct {
	Accepted Micros `db:"accepted_us,key"`
	Run      string `db:"run_id,key"`
	Seq      int64  `db:"seq,key"`
}

// Accept records that somebody asks for a run, before anything else is done for it. If a start of the run is open it
// stays as it is: this is the same one, with which somebody continues. If the run is recorded, the error wraps ErrBegun
// and nothing is stored.
func (l *Log) Accept(ctx context.Context, start Start) error {
	_, err := l.Accepted(ctx, start)
	return err
}

// Accepted is Accept, and returns the start that is open then.
func (l *Log) Accepted(ctx context.Context, start Start) (open Start, err error) {
	start.State, start.Refusal, start.Reason, start.Decided = StartAccepted, "", "", 0
	err = l.decide(start, func() error {
		last, err := l.lastStart(ctx, start.Run)
		if err == nil {
			err = l.notBegun(ctx, start.Run) // afterwards, as CallOff does
		}
		switch {
		case err != nil:
			return err
		case last != nil && last.open():
			open = *last
			return nil
		}
		start.follow(last)
		start.Accepted = l.now()
		open = start
		return l.plain.Commit(ctx, Tx{Insert: []Record{start}})
	})
	return open, err
}

// follow gives the start the number after the last one's.
func (s *Start) follow(last *Start) {
	s.Seq = 0
	if last != nil {
		s.Seq = last.Seq + 1
	}
}

// Refuse records that no run comes of a start: of the one that is open, or of this one, which nobody had recorded. start has its State,
// StartRefused or StartCancelled, its Refusal and its Reason. If the last start of the run was refused in the same words, and asked for the
// same workflow, nothing is added.
func (l *Log) Refuse(ctx context.Context, start Start) error {
	return l.decide(start, func() error {
		last, err := l.lastStart(ctx, start.Run)
		if err != nil {
			return err
		}
		return l.refuse(ctx, start, last)
	})
}

// CallOff is Refuse for a start whose run may have begun meanwhile: then the error wraps ErrBegun, and nothing is stored.
func (l *Log) CallOff(ctx context.Context, start Start) error {
	return l.decide(start, func() error {
		last, err := l.lastStart(ctx, start.Run)
		if err == nil {
			err = l.notBegun(ctx, start.Run) // after the last start was read: if the run begins now, that start is another one by then
		}
		if err != nil {
			return err
		}
		return l.refuse(ctx, start, last)
	})
}

// decide repeats try while somebody else decides about the starts of the run first.
func (l *Log) decide(start Start, try func() error) error {
	if err := settle(start.Table(), try); err != nil {
		return fmt.Errorf("start of run %s: %w", start.Run, err)
	}
	return nil
}

// notBegun returns nil if the run is not recorded; else the error is ErrBegun.
func (l *Log) notBegun(ctx context.Context, run string) error {
	_, err := get[RunHead](ctx, l, run)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return cmp.Or(err, ErrBegun)
}

// refuse stores that no run comes of a start; last is the last one of its run, nil if there is none.
func (l *Log) refuse(ctx context.Context, start Start, last *Start) error {
	start.Decided = l.now()
	if last != nil && last.open() {
		tx, err := l.release(ctx, start.Run)
		if err != nil {
			return err
		}
		next := *last
		next.State, next.Refusal, next.Reason, next.Decided = start.State, start.Refusal, start.Reason, start.Decided
		tx.Insert, tx.Move = append(tx.Insert, next.event(next.Decided)), append(tx.Move, Move{From: *last, To: next})
		return l.plain.Commit(ctx, tx)
	}
	if last != nil && last.State == start.State && last.Reason == start.Reason && last.Workflow == start.Workflow {
		return nil // a repeat
	}
	start.follow(last)
	start.Accepted = start.Decided
	return l.plain.Commit(ctx, Tx{Insert: []Record{start, start.event(start.Decided)}})
}

// begins returns the move by which the open start of a run, which is about the slot, becomes the one that it came of on
// these terms; nil if there is none, and if the run is recorded already. last is that start, if it was read already. The
// error wraps ErrCalledOff if the start was decided otherwise meanwhile.
func (l *Log) begins(ctx context.Context, run, slot string, admission *Admission, last *Start, now Micros) ([]Move, error) {
	var err error
	if last == nil {
		last, err = l.lastStart(ctx, run)
	}
	if err != nil || last == nil {
		return nil, err
	}
	if !last.open() {
		switch err := l.notBegun(ctx, run); {
		case err == nil:
			return nil, fmt.Errorf("%w: %s", ErrCalledOff, last.Reason)
		case errors.Is(err, ErrBegun):
			return nil, nil
		default:
			return nil, err
		}
	}
	next := *last
	next.State, next.Slot, next.Reason, next.Decided = StartBegun, cmp.Or(slot, last.Slot), "", now
	if admission != nil {
		next.Terms = termsText(admission.Terms)
	}
	return []Move{{From: *last, To: next}}, nil
}

// lastStart returns the last start of a run; nil if there is none.
func (r *Reader) lastStart(ctx context.Context, run string) (*Start, error) {
	return lastOf[Start](ctx, r.from, run)
}

// Start returns the start of a run with this number. The error wraps ErrNotFound if there is none.
func (r *Reader) Start(ctx context.Context, run string, seq int64) (Start, error) {
	return get[Start](ctx, r.from, run, seq)
}

// StartsOfRun returns all starts of a run, the first first; nil if there is none.
func (r *Reader) StartsOfRun(ctx context.Context, run string) ([]Start, error) {
	return Select[Start](ctx, r.from, run)
}

// LastStart returns the last start of a run. The error wraps ErrNotFound if there is none.
func (r *Reader) LastStart(ctx context.Context, run string) (Start, error) {
	last, err := r.lastStart(ctx, run)
	if err == nil && last == nil {
		err = fmt.Errorf("start of run %s: %w", run, ErrNotFound)
	}
	if err != nil {
		return Start{}, err
	}
	return *last, nil
}

// startAccepted is a Start by when it was accepted.
type startAccepted struct {
	At Micros `db:"accepted_us,key"`
	Start
}

// startInState is a Start by what became of it, and then by when it was accepted.
type startInState struct {
	Is StartState `db:"state,key"`
	At Micros     `db:"accepted_us,key"`
	Start
}

// openStart is which run a start is about, by what became of it, and then by when it was accepted.
type openStart struct {
	Is  StartState `db:"state,key"`
	At  Micros     `db:"accepted_us,key"`
	Run string     `db:"run_id,key"`
	Seq int64      `db:"seq,key"`
}

// Table returns starts.
func (openStart) Table() string { return Start{}.Table() }

// Starts returns starts, the last to be accepted first; nil if there is none. state is what became of them; empty for all. It begins after
// the start at the place after, or with the last if after is nil, and returns at most limit starts, or all if that is 0.
func (r *Reader) Starts(ctx context.Context, state StartState, after *StartPlace, limit int) ([]Start, error) {
	q := Query{Descending: true, Limit: limit}
	if after != nil {
		q.After = []any{int64(after.Accepted), after.Run, after.Seq}
	}
	var starts []Start
	if state == "" {
		err := r.from.Read(ctx, startAccepted{}, q, func(record Record) bool {
			starts = append(starts, record.(startAccepted).Start)
			return true
		})
		return starts, err
	}
	q.Prefix = []any{string(state)}
	err := r.from.Read(ctx, startInState{}, q, func(record Record) bool {
		starts = append(starts, record.(startInState).Start)
		return true
	})
	return starts, err
}

// startOfWorkflow is a Start by the workflow that somebody started for it, and then by when it was accepted.
type startOfWorkflow struct {
	By string `db:"workflow,key"`
	At Micros `db:"accepted_us,key"`
	Start
}

// StartOfRun returns the start that became the run; the zero Start if none did.
func (r *Reader) StartOfRun(ctx context.Context, run string) (Start, error) {
	starts, err := Select[Start](ctx, r.from, run)
	if i := slices.IndexFunc(starts, func(s Start) bool { return s.State == StartBegun }); i >= 0 {
		return starts[i], err
	}
	return Start{}, err
}

// StartOfWorkflow returns the last start for which somebody started a workflow with this id. The error wraps ErrNotFound if there is none.
func (r *Reader) StartOfWorkflow(ctx context.Context, workflow string) (Start, error) {
	last, err := Page[startOfWorkflow](ctx, r.from, Query{Prefix: []any{workflow}, Descending: true, Limit: 1})
	if err == nil && last == nil {
		err = fmt.Errorf("start of workflow %s: %w", workflow, ErrNotFound)
	}
	if err != nil {
		return Start{}, err
	}
	return last[0].Start, nil
}

// FindStart returns the last start of the run whose id begins with a prefix. The error wraps ErrNotFound if there is none, and is an *AmbiguousError if
// there are several runs.
func (r *Reader) FindStart(ctx context.Context, prefix string) (Start, error) {
	var found []Start // the last one of each run
	err := r.from.Read(ctx, Start{}, Query{After: []any{prefix, int64(-1)}}, func(record Record) bool {
		start := record.(Start)
		switch {
		case !strings.HasPrefix(start.Run, prefix):
			return false // what begins with the prefix follows it
		case len(found) > 0 && found[len(found)-1].Run == start.Run:
			found[len(found)-1] = start
		default:
			found = append(found, start)
		}
		return true
	})
	switch {
	case err != nil:
		return Start{}, err
	case len(found) == 0 || prefix == "":
		return Start{}, fmt.Errorf("start of run %q: %w", prefix, ErrNotFound)
	case len(found) > 1:
		return Start{}, ambiguous(prefix, found, func(s Start) string { return s.Run })
	}
	return found[0], nil
}

// ErrCalledOff says that a run may not begin, because its start was refused or cancelled meanwhile.
var ErrCalledOff = errors.New("its start was called off")

// ErrBegun says that the run of a start has begun already.
var ErrBegun = errors.New("the run has begun already")
