package landscape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"waymark/plugin"
)

// Placement is where a part of a sink's output belongs.
type Placement struct {
	Ordinal int64 // of the part within the sink, from 0, without gaps
	Offset  int64 // of its first byte in the whole output, the header included
}

// BeginEffect starts an attempt at an effect: nothing may touch the target before it returned nil. The effect it
// returns is in flight with a fence of its own, which fences off all earlier attempts; or it is finalized already, and
// there is nothing to do.
//
// A write belongs at one place for ever: another placement than the recorded one is a *DivergedError. A publication has no
// placement; at is ignored. The error wraps ErrBlocked if a person must decide first.
func (l *Log) BeginEffect(ctx context.Context, key EffectKey, at Placement, worker string) (Effect, error) {
	var begun Effect
	err := settle("", func() error {
		old, err := l.lastSeen(ctx, key)
		if err != nil {
			return err
		}
		if err := old.belongs(at); err != nil {
			return err
		}
		if old.State == Finalized {
			begun = old
			return nil
		}
		if begun, err = attempt(old, at); err != nil {
			return err
		}
		begun.Changed = l.now()
		err = l.moveEffect(ctx, old, begun, begun.Attempt(worker).event(EffectBegan, l.now(), ""))
		l.recent.noteEffect(begun, err)
		return err
	})
	if err != nil {
		return Effect{}, fmt.Errorf("begin %s: %w", key, err)
	}
	return begun, nil
}

// belongs refuses another place for a write than the one that it has on record, if it has one.
func (e Effect) belongs(at Placement) error {
	if e.Ordinal != nil && *e.Ordinal != at.Ordinal {
		return &DivergedError{Table: e.Table(), Key: e.String(), Column: "ordinal"}
	}
	if e.Offset != nil && *e.Offset != at.Offset {
		return &DivergedError{Table: e.Table(), Key: e.String(), Column: "byte_offset"}
	}
	return nil
}

// attempt returns old with one more attempt in flight.
func attempt(old Effect, at Placement) (Effect, error) {
	switch old.State {
	case Blocked:
		return Effect{}, ErrBlocked
	case Reserved:
		return Effect{}, errors.New("it is not prepared")
	}
	next := old
	next.State, next.Fence = InFlight, old.Fence+1
	if old.Kind == WriteEffect {
		next.Ordinal, next.Offset = &at.Ordinal, &at.Offset
	}
	return next, nil
}

// FinalizeEffect records that the target confirmed a write. receipt is what it answered, as JSON. refused are those of the rows that
// the target refused, in any order: the same transaction records why each of them is in quarantine, and what their totals come to.
//
// Repeating it changes nothing; another receipt or other refusals are a *DivergedError. The error wraps ErrFenced, and an event says
// so, if a later attempt has begun.
func (l *Log) FinalizeEffect(ctx context.Context, by Attempt, receipt string, refused ...Rejection) error {
	late, err := l.lateErrors(ctx, by.EffectKey, refused)
	if err != nil {
		return fmt.Errorf("finalize %s: %w", by.EffectKey, err)
	}
	sums, err := rejectedTotals(by.EffectKey, refused)
	if err != nil {
		return fmt.Errorf("finalize %s: %w", by.EffectKey, err)
	}
	return l.finalize(ctx, by, receipt, late, sums...)
}

// finalize finalizes an effect and inserts why its target refused rows, and other records that belong to it, in the same transaction.
func (l *Log) finalize(ctx context.Context, by Attempt, receipt string, late []Record, with ...Record) error {
	if !json.Valid([]byte(receipt)) {
		return fmt.Errorf("finalize %s: the receipt is not JSON: %.60q", by.EffectKey, receipt)
	}
	return l.judge(ctx, "finalize", by, l.lastBegun(by), func(old Effect) error {
		if old.State == Finalized {
			if old.Receipt != receipt {
				return &DivergedError{Table: old.Table(), Key: old.String(), Column: "receipt"}
			}
			return l.sameRejections(ctx, old, late)
		}
		next := old
		next.State, next.Receipt, next.Refused, next.Changed = Finalized, receipt, int64(len(late)), l.now()
		return l.moveEffect(ctx, old, next, by.event(EffectFinalized, l.now(), receipt), append(late, with...)...)
	})
}

// FailEffect records that an attempt failed. The effect stays in flight: the target may or may not have been changed,
// and the next attempt asks it first. A finalized effect stays as it is.
func (l *Log) FailEffect(ctx context.Context, by Attempt, reason string) error {
	return l.judge(ctx, "fail", by, l.Effect, func(old Effect) error {
		if old.State == Finalized {
			return nil
		}
		return l.insert(ctx, by.event(EffectFailed, l.now(), reason))
	})
}

// Answers of a target, as they stand in the detail of a reconciled event. Stored; never rename.
var answers = map[plugin.Applied]string{
	plugin.NotApplied: "not_applied", plugin.Exactly: "exactly", plugin.Unknown: "unknown",
}

// ReconcileEffect records what the target answered when it was asked whether an earlier attempt reached it. The answer
// plugin.Unknown blocks the effect: nobody may guess.
func (l *Log) ReconcileEffect(ctx context.Context, by Attempt, answer plugin.Applied) error {
	return l.judge(ctx, "reconcile", by, l.Effect, func(old Effect) error {
		if old.State != InFlight || answer != plugin.Unknown {
			return l.insert(ctx, by.event(EffectReconciled, l.now(), answers[answer]))
		}
		next := old
		next.State, next.Changed = Blocked, l.now()
		return l.moveEffect(ctx, old, next, by.event(EffectReconciled, l.now(), answers[answer]))
	})
}

// judge runs do on the effect that look finds, if by is its latest attempt; else it records that the attempt was refused.
func (l *Log) judge(
	ctx context.Context, verb string, by Attempt, look func(context.Context, EffectKey) (Effect, error), do func(Effect) error,
) error {
	err := settle("", func() error {
		old, err := look(ctx, by.EffectKey)
		if err != nil {
			return err
		}
		if old.Fence == by.Fence && old.Fence > 0 {
			return do(old)
		}
		rejection := fmt.Errorf("attempt %d, the latest is %d: %w", by.Fence, old.Fence, ErrFenced)
		return errors.Join(rejection, l.insert(ctx, by.event(EffectFenced, l.now(), verb)))
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, by.EffectKey, err)
	}
	return nil
}

// moveEffect moves an effect and records the event and what else belongs to it.
func (l *Log) moveEffect(ctx context.Context, from, to Effect, event EffectEvent, with ...Record) error {
	return l.driver.Commit(ctx, Tx{Insert: append([]Record{event}, with...), Move: []Move{{From: from, To: to}}})
}

func (a Attempt) event(word EffectWord, at Micros, detail string) EffectEvent {
	return EffectEvent{EffectKey: a.EffectKey, Fence: a.Fence, Event: word, Worker: a.Worker, At: at, Detail: detail}
}

// String names the effect for people.
func (k EffectKey) String() string {
	if k.Chunk < 0 {
		return fmt.Sprintf("publication of %s in run %s", k.Sink, k.Run)
	}
	return fmt.Sprintf("write of %s chunk %d to %s in run %s", k.Source, k.Chunk, k.Sink, k.Run)
}
