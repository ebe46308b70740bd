package evidence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape"
)

// CheckedSeal returns the seal of a run that has ended, as landscape.Reader.LastSeal does, and the position of the entry of the log about it; nil if there is
// none: a process without a key made the seal, or somebody made it up. The error wraps landscape.ErrSealBroken if the log has an entry about a seal, attestations or a
// sign-off of the run that are not recorded as it says. Entries that came back from an anchor say nothing. Signatures are not verified.
func CheckedSeal(ctx context.Context, log *landscape.Reader, run string) (last landscape.RunSeal, entry *int64, err error) {
	missing, err := MissingOf(ctx, log, run)
	if err != nil {
		return last, nil, err
	}
	for _, m := range missing {
		switch {
		case m.Restored:
		case m.Type == Sealed:
			return last, nil, fmt.Errorf("entry %d of the log is about seal %d of run %s, which is not recorded so: %w", m.Position, m.Seal, run, landscape.ErrSealBroken)
		default:
			return last, nil, fmt.Errorf("run %s %v: %w", run, m, landscape.ErrSealBroken)
		}
	}
	if last, err = log.LastSeal(ctx, run); err != nil {
		return last, nil, err
	}
	about, err := log.LogEntryAbout(ctx, sealed(last).about())
	if errors.Is(err, landscape.ErrNotFound) {
		return last, nil, nil
	}
	if err != nil {
		return last, nil, err
	}
	gaps, err := gapsOf(ctx, log)
	if s, _, wrong := read(about.Entry); wrong == nil && s.Says(last) && !gaps.have(about.Position) {
		entry = &about.Position
	}
	return last, entry, err
}

// CheckedRecord does what CheckedSeal does, and compares all that is recorded of the run with its seals.
func CheckedRecord(ctx context.Context, log *landscape.Reader, run string) (last landscape.RunSeal, entry *int64, err error) {
	if last, entry, err = CheckedSeal(ctx, log, run); err == nil {
		_, err = log.CheckSeals(ctx, run)
	}
	return last, entry, err
}

// sealedEntry is an entry about a seal.
type sealedEntry struct {
	Statement
	position int64
}

// Says reports whether a statement is about a seal, and says what is recorded of it.
func (s Statement) Says(seal landscape.RunSeal) bool {
	want := sealed(seal)
	want.N, want.V, want.Pipeline, want.Status = s.N, s.V, s.Pipeline, s.Status
	return s == want
}

// gaps are the restorations of a log.
type gaps []Statement

func gapsOf(ctx context.Context, log *landscape.Reader) (found gaps, err error) {
	about, err := log.LogEntriesAbout(ctx, string(Restored))
	for _, e := range about {
		if s, _, wrong := read(e.Entry); wrong == nil {
			found = append(found, s)
		}
	}
	return found, err
}

// have reports whether an entry came back from an anchor, after a backup was restored. What the record had of it is lost.
func (g gaps) have(position int64) bool {
	return slices.ContainsFunc(g, func(s Statement) bool { return s.Found <= position && position < s.Anchored })
}

// SaysOf reports whether a statement is about a sign-off, and says what is recorded of it.
func (s Statement) SaysOf(signed landscape.SignOff) bool {
	want := signedOff(signed)
	want.N, want.V = s.N, s.V
	return s == want
}

// EntryOfSignOff returns the position of the entry about a sign-off; nil if there is none. The error wraps landscape.ErrSealBroken if the entry says something
// else than is recorded. Its signature is not verified.
func EntryOfSignOff(ctx context.Context, log *landscape.Reader, signed landscape.SignOff) (*int64, error) {
	e, err := log.LogEntryAbout(ctx, signedOff(signed).about())
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, err
	}
	s, _, wrong := read(e.Entry)
	if wrong != nil || !s.SaysOf(signed) {
		return nil, fmt.Errorf("entry %d of the log is about another sign-off than sign-off %d of run %s: %w", e.Position, signed.Seq, signed.Run, landscape.ErrSealBroken)
	}
	return &e.Position, nil
}
