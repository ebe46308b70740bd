package landscape

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waymark/plugin"
)

// What a person says of a blocked effect, as it stands in the detail of a resolved event. Stored; never rename.
const (
	resolvedApplied    = "applied"
	resolvedNotApplied = "not_applied"
)

// Resolve records what a person says of an effect that is blocked, with the action, in one transaction. If the target has what
// the latest attempt wrote, the effect is finalized with the receipt of its part. If not, it is in flight again: the next
// attempt writes without asking, as ResolvedNotApplied tells. A publication can only be not applied, and so can a write to a
// transactional sink: its target knows which rows it refused, and does not take a part twice.
//
// Saying the same again changes nothing. The error is a *NeedsOrderError if one person may not. An effect that is not blocked, or of which the opposite was said, is refused.
func (l *Log) Resolve(ctx context.Context, key EffectKey, applied bool, actor, why string) error {
	err := settle("actions", func() error { return l.resolve(ctx, key, applied, actor, why) })
	if err != nil {
		return fmt.Errorf("resolve %s: %w", key, err)
	}
	return nil
}

func (l *Log) resolve(ctx context.Context, key EffectKey, applied bool, actor, why string) error {
	if err := l.MayOrder(ctx, OrderDecide); err != nil {
		return err
	}
	old, err := l.Effect(ctx, key)
	if err != nil {
		return err
	}
	word := resolvedNotApplied
	if applied {
		word = resolvedApplied
	}
	switch {
	case old.State != Blocked:
		return l.decided(ctx, old, word)
	case applied && old.Kind != WriteEffect:
		return errors.New("a publication cannot be resolved as applied: resolve it as not applied, and it is published again")
	}
	if applied {
		if err := l.tellable(ctx, key); err != nil {
			return err
		}
	}
	action, err := l.nextAction(ctx, key.Run, VerbResolve, actor, why)
	if err != nil {
		return err
	}
	next := old
	next.State, next.Changed = InFlight, action.At
	if applied {
		next.State, next.Receipt = Finalized, PartReceipt(old)
	}
	event := old.Attempt(actor).event(EffectResolved, action.At, word)
	tx := Tx{Insert: []Record{action, event}, Move: []Move{{From: old, To: next}}}
	if err := l.executed(ctx, &tx, nil); err != nil {
		return err
	}
	return l.recordOf(ctx, key.Run, tx)
}

// tellable refuses a write of which only the target can tell what it holds.
func (r *Reader) tellable(ctx context.Context, key EffectKey) error {
	sink, err := get[Node](ctx, r.from, key.Run, key.Sink)
	if err == nil && sink.Guarantee == plugin.Transactional {
		err = errors.New("its target keeps a ledger and may have refused rows: say that it is not applied, and the ledger is asked; nothing is written twice")
	}
	return err
}

// decided returns nil if a person said this word of an effect that is not blocked.
func (r *Reader) decided(ctx context.Context, e Effect, word string) error {
	said, err := r.resolved(ctx, e.EffectKey, e.Fence)
	switch {
	case err != nil || said == word:
		return err
	case said != "":
		return fmt.Errorf("it was resolved as %s", said)
	default:
		return fmt.Errorf("it is %s, not blocked: nothing is to be decided", e.State)
	}
}

// ResolvedNotApplied reports whether a person said of the attempt before this fence that the target has nothing of it.
func (r *Reader) ResolvedNotApplied(ctx context.Context, key EffectKey, fence int64) (bool, error) {
	said, err := r.resolved(ctx, key, fence-1)
	return said == resolvedNotApplied, err
}

// resolved returns what a person said last of an attempt; empty if nobody did.
func (r *Reader) resolved(ctx context.Context, key EffectKey, fence int64) (string, error) {
	said, err := Select[EffectEvent](ctx, r.from, key.Run, key.Sink, key.Source, key.Chunk, fence, string(EffectResolved))
	if err != nil || said == nil {
		return "", err
	}
	return slices.MaxFunc(said, func(a, b EffectEvent) int { return cmp.Compare(a.At, b.At) }).Detail, nil
}

// PartReceipt returns the receipt of a write that is where it belongs: its part as JSON. It must have begun.
func PartReceipt(e Effect) string {
	text, err := json.Marshal(struct {
		Ordinal *int64 `json:"ordinal"`
		Offset  *int64 `json:"offset"`
		Bytes   int64  `json:"bytes"`
		Rows    int64  `json:"rows"`
		SHA256  string `json:"sha256"`
	}{e.Ordinal, e.Offset, e.Bytes, e.Rows, e.SHA256})
	if err != nil {
		panic(err) // numbers and text are JSON
	}
	return string(text)
}
