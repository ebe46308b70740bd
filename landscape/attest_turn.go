package landscape

import (
	"context"
	"errors"
	"fmt"
)

// AttestTurn is the turn of the process that attests on schedule. It moves on when a process begins to, every few seconds as long as that process works, and with what it
// records: of several processes one works at a time. One that sees it stand still for long enough, by its own clock, may take it.
type AttestTurn int64

// attestGate is the gate whose turn is the AttestTurn. Stored; never rename.
const attestGate = "attest"

// ErrTurnLost says that another process attests on schedule by now: what this one found is not recorded.
var ErrTurnLost = errors.New("another process took the turn")

func (t AttestTurn) gate() Gate { return Gate{attestGate, int64(t)} }

// moves adds to a transaction that the turn moves on.
func (t AttestTurn) moves(tx *Tx) {
	tx.Insert = append(tx.Insert, AttestTurn(0).gate()) // unless it is there
	tx.Move = append(tx.Move, Move{From: t.gate(), To: (t + 1).gate()})
}

// AttestTurn returns the turn as it is; 0 if no process has attested on schedule yet.
func (r *Reader) AttestTurn(ctx context.Context) (AttestTurn, error) {
	gate, err := get[Gate](ctx, r.from, attestGate)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return AttestTurn(gate.Turn), err
}

// MoveAttestTurn moves the turn on. The error wraps ErrTurnLost if another process did before; after any other error it is not known whether it moved.
func (l *Log) MoveAttestTurn(ctx context.Context, from AttestTurn) (AttestTurn, error) {
	tx := Tx{}
	from.moves(&tx)
	err := l.plain.Commit(ctx, tx)
	if errors.Is(err, ErrStale) {
		err = ErrTurnLost
	}
	if err != nil {
		return from, fmt.Errorf("move the turn of attestations: %w", err)
	}
	return from + 1, nil
}

// RecordInTurn does what RecordAttestations does, and moves the turn on in the same transaction. The error wraps ErrTurnLost if another process did before: then
// nothing is recorded.
func (l *Log) RecordInTurn(ctx context.Context, turn AttestTurn, found []Attestation) ([]Attestation, AttestTurn, error) {
	found, err := l.recordAttestations(ctx, found, func(tx *Tx) error {
		now, err := l.AttestTurn(ctx)
		if err == nil && now != turn {
			err = ErrTurnLost
		}
		turn.moves(tx)
		return err
	})
	return found, turn + 1, err
}
