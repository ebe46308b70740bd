package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape"
)

// Missing is an entry of the log about something that is not recorded as it says.
type Missing struct {
	Position int64 `json:"entry"`
	Statement
	Restored bool `json:"restored"` // the entry came back from an anchor after a backup was restored: what it is about was lost with what the backup did not have
}

// String says what is not recorded, and why.
func (m Missing) String() string {
	said, cause := "", ": somebody removed or changed it"
	switch m.Type {
	case Began:
		said = fmt.Sprintf("began, and entry %d, which has the place of the entry about that, does not count: %s",
			m.Position, m.Why)
		cause = ": a role that may write the landscape appended it before the run began, " +
			"or the process that began it had no key that counts"
	case Sealed:
		said = fmt.Sprintf("was sealed, says entry %d, and the seal is not recorded", m.Position)
	case Attested:
		said = fmt.Sprintf("was attested (%s), says entry %d, and what was found is not recorded so", m.Result, m.Position)
	case SignedOff:
		said, cause = fmt.Sprintf("was signed off, says entry %d, and the sign-off is not recorded", m.Position), ": somebody removed it"
	case Forgot:
		said = fmt.Sprintf("to forget rows (%d) was carried out, says entry %d, and that is not recorded", m.Rows, m.Position)
	case Archived:
		said = fmt.Sprintf("was archived, says entry %d, and the place of its bundle is not recorded so", m.Position)
	case Ruled, Requested, Approved, Executed:
		said, cause = fmt.Sprintf("entry %d is about it, and it is not recorded", m.Position), ": somebody removed it"
		if m.Run != "" {
			said, cause = fmt.Sprintf("has %s, says entry %d, and that is not recorded so", m.ofOrder(), m.Position), ": somebody removed or changed it"
		}
	}
	if m.Restored {
		cause = ": it was lost when the record was restored from a backup"
		switch m.Type {
		case Forgot:
			cause += "; what it forgot may be back: give the order again"
		case Archived:
			cause += "; its records came back with it, and it can be archived again"
		case Ruled:
			cause += "; make the rule again"
		}
	}
	return said + cause
}

// ofOrder says what of an approval request is not recorded.
func (m Missing) ofOrder() string {
	switch m.Type {
	case Approved:
		return fmt.Sprintf("the signature %d under order %.12s", m.Approval, m.Digest)
	case Executed:
		return fmt.Sprintf("the execution of order %.12s", m.Digest)
	}
	return fmt.Sprintf("the order %.12s", m.Digest)
}

// Where names the run, the order or the rule that it is about.
func (m Missing) Where() string {
	switch {
	case m.Type == Forgot:
		return fmt.Sprintf("order %d", m.Order)
	case m.Run == "":
		return m.about()
	}
	return "run " + m.Run
}

// MissingOf returns what the log says of a run's seals, attestations, sign-offs and archive, and of approval requests
// about it, and is not recorded so, in the order of the log; before these, the entry that has the place of the one
// about the run's beginning, if it does not count. It is nil if all is as it should be. Of the other entries signatures
// are not verified.
func MissingOf(ctx context.Context, log *landscape.Reader, run string) ([]Missing, error) {
	squatter, err := squatterOf(ctx, log, run)
	if err != nil {
		return nil, err
	}
	others, err := otherMissing(ctx, log, run)
	return append(squatter, others...), err
}

// squatterOf returns the entry that has the place of the one about the beginning of a run, and does not count; nil if
// there is no entry, or it counts.
func squatterOf(ctx context.Context, log *landscape.Reader, run string) ([]Missing, error) {
	about := Statement{Type: Began, Run: run}
	e, err := log.LogEntryAbout(ctx, about.about())
	if errors.Is(err, landscape.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ring, err := keysOf(ctx, log, e.Position)
	if errors.Is(err, errNoGenesis) {
		ring, err = newKeyring(), nil
	}
	if err != nil {
		return nil, err
	}
	if _, wrong := ring.take(e); wrong != nil {
		about.Why = wrong.Error()
		return []Missing{{Position: e.Position, Statement: about}}, nil //nolint:nilerr // that is what was found
	}
	return nil, nil
}

func otherMissing(ctx context.Context, log *landscape.Reader, run string) ([]Missing, error) {
	about, err := ordersAbout(ctx, log, run)
	if err != nil {
		return nil, err
	}
	for _, kind := range []Type{Sealed, Attested, SignedOff, Archived} {
		found, err := log.LogEntriesAbout(ctx, string(kind)+"/"+run)
		if err != nil {
			return nil, err
		}
		about = append(about, found...)
	}
	if about == nil {
		return nil, nil
	}
	slices.SortFunc(about, func(a, b landscape.LogEntry) int { return int(a.Position - b.Position) })
	gaps, err := gapsOf(ctx, log)
	if err != nil {
		return nil, err
	}
	return missing(ctx, log, about, gaps)
}

// ordersAbout returns the entries about approval requests about a run. It reads those about all such orders.
func ordersAbout(ctx context.Context, log *landscape.Reader, run string) (about []landscape.LogEntry, err error) {
	for _, kind := range []Type{Requested, Approved, Executed} {
		found, err := log.LogEntriesAbout(ctx, string(kind))
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			if s, _, wrong := read(e.Entry); wrong == nil && s.Run == run {
				about = append(about, e)
			}
		}
	}
	return about, nil
}

// missing returns those of some entries that are about something that is not recorded as they say.
func missing(ctx context.Context, log *landscape.Reader, entries []landscape.LogEntry, gaps gaps) (all []Missing, err error) {
	for _, e := range entries {
		s, _, wrong := read(e.Entry)
		if wrong != nil { // log check says so
			continue
		}
		is, err := s.recorded(ctx, log)
		if err != nil {
			return nil, err
		}
		if !is {
			all = append(all, Missing{e.Position, s, gaps.have(e.Position)})
		}
	}
	return all, nil
}

// recorded reports whether the seal, attestations, sign-off, forgetting or record of approval requests that a statement
// is about are recorded as it says; true for any other statement.
func (s Statement) recorded(ctx context.Context, log *landscape.Reader) (bool, error) {
	switch s.Type {
	case Sealed:
		seals, err := log.RunSeals(ctx, s.Run)
		return slices.ContainsFunc(seals, s.Says), err
	case Attested:
		found, err := log.Attestations(ctx, s.Run)
		return slices.ContainsFunc(ByNumber(found), s.Attests), err
	case SignedOff:
		signed, err := log.SignOffs(ctx, s.Run)
		return slices.ContainsFunc(signed, s.SaysOf), err
	case Archived:
		archive, err := log.ArchiveOf(ctx, s.Run)
		return archive != nil && s.archives(*archive), err
	case Forgot:
		done, err := log.Forgetting(ctx, s.Order)
		if errors.Is(err, landscape.ErrNotFound) {
			return false, nil
		}
		return s.forgets(done), err
	case Ruled, Requested, Approved, Executed:
		return s.ordered(ctx, log)
	}
	return true, nil
}

// forgets reports whether a statement is about an order to forget, and says what is recorded of it.
func (s Statement) forgets(done landscape.Forgetting) bool {
	want := forgot(done)
	want.N, want.V = s.N, s.V
	return s == want
}

// forgot is what an entry says of an order to forget.
func forgot(done landscape.Forgetting) Statement {
	sum := sha256.Sum256([]byte(done.Certificate))
	return Statement{Type: Forgot, At: done.At.Time().UTC().Format(moment), Order: done.Order, Rows: done.Rows, Note: hex.EncodeToString(sum[:])}
}
