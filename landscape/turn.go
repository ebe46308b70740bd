package landscape

import (
	"context"
	"errors"
	"fmt"
)

// TurnName names something that one process at a time does for all. It is the name of the gate whose turn that process
// moves. Stored; never rename.
type TurnName string

// What is done in turns.
const (
	AttestTurns TurnName = "attest"    // the outputs of runs are attested on schedule
	RetainTurns TurnName = "retention" // what is due by the periods of the settings is deleted
)

// Turn is the turn of the process that does something for all. It moves on when a process begins to, every few seconds
// as long as that process works, and with what it records: of several processes one works at a time. One that sees it
// stand still for long enough, by its own clock, may take it. Turns of one name are equal if none moved.
type Turn struct {
	name TurnName
	at   int64
}

// ErrTurnLost says that another process has the turn by now: what this one found is not recorded.
var ErrTurnLost = errors.New("another process took the turn")

func (t Turn) gate() Gate { return Gate{string(t.name), t.at} }

// next is the turn after this one.
func (t Turn) next() Turn { return Turn{t.name, t.at + 1} }

// moves adds to a transaction that the turn moves on.
func (t Turn) moves(tx *Tx) {
	tx.Insert = append(tx.Insert, Turn{name: t.name}.gate()) // unless it is there
	tx.Move = append(tx.Move, Move{From: t.gate(), To: t.next().gate()})
}

// Turn returns the turn as it is; the first one if no process has had it yet.
func (r *Reader) Turn(ctx context.Context, name TurnName) (Turn, error) {
	gate, err := get[Gate](ctx, r.from, string(name))
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return Turn{name, gate.Turn}, err
}

// MoveTurn moves the turn on. The error wraps ErrTurnLost if another process did before; after any other error it is
// not known whether it moved.
func (l *Log) MoveTurn(ctx context.Context, from Turn) (Turn, error) {
	tx := Tx{}
	from.moves(&tx)
	err := l.plain.Commit(ctx, tx)
	if errors.Is(err, ErrStale) {
		err = ErrTurnLost
	}
	if err != nil {
		return from, fmt.Errorf("move the turn of %s: %w", from.name, err)
	}
	return from.next(), nil
}

// has adds to a transaction that it is stored only while the turn is as it is, and moves it on. The error is
// ErrTurnLost if it is not.
func (l *Log) has(ctx context.Context, turn Turn, tx *Tx) error {
	now, err := l.Turn(ctx, turn.name)
	if err == nil && now != turn {
		err = ErrTurnLost
	}
	turn.moves(tx)
	return err
}

// RecordInTurn does what RecordAttestations does, and moves the turn on in the same transaction. The error wraps
// ErrTurnLost if another process did before: then nothing is recorded.
func (l *Log) RecordInTurn(ctx context.Context, turn Turn, found []Attestation) ([]Attestation, Turn, error) {
	found, err := l.recordAttestations(ctx, found, func(tx *Tx) error { return l.has(ctx, turn, tx) })
	return found, turn.next(), err
}
