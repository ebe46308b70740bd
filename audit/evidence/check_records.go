package evidence

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
)

// newestSeals finds the newest entry about the seals of each run. What a restored backup did not have of a run is no reason to miss it.
func (c *checker) newestSeals() {
	for _, s := range c.sealed {
		if newest, ok := c.ended[s.Run]; !c.gaps.have(s.position) && (!ok || newest.position < s.position) {
			c.ended[s.Run] = s
		}
	}
}

// seals compares the seals of runs with the entries about them.
func (c *checker) seals(ctx context.Context) error {
	c.newestSeals()
	err := landscape.Each(ctx, c.log, func(kept landscape.RunSeal) bool {
		said := sealed(kept)
		s, ok := c.sealed[said.about()]
		delete(c.sealed, said.about())
		switch {
		case !ok && c.sealedAt(kept) != nil:
			other := c.sealedAt(kept)
			delete(c.sealed, other.about())
			c.problem("run "+kept.Run, "is recorded with the seal %d made at %s, and its entry %d says %s", kept.Seq, said.At, other.position, other.At)
		case !ok && c.began[kept.Run].Type == Began:
			c.problem("run "+kept.Run, "has a seal %d without an entry: a process without a key made it, or it was made up", kept.Seq)
		case !ok:
			c.Unsealed++
		case !s.Says(kept):
			c.problem("run "+kept.Run, "is recorded with another seal %d than its entry says", kept.Seq)
		default:
			c.Sealed++
		}
		return true
	})
	c.missing(c.sealed)
	return err
}

// attestations compares what was found of the outputs of runs with the entries about it.
func (c *checker) attestations(ctx context.Context) error {
	var kept []landscape.Attestation
	err := landscape.Each(ctx, c.log, func(a landscape.Attestation) bool {
		if len(kept) > 0 && (kept[0].Run != a.Run || kept[0].Seq != a.Seq) {
			c.attestation(kept)
			kept = kept[:0]
		}
		kept = append(kept, a)
		return true
	})
	if err != nil {
		return err
	}
	c.attestation(kept)
	c.missing(c.looks)
	return nil
}

// attestation compares attestations of one number with their entry.
func (c *checker) attestation(kept []landscape.Attestation) {
	if len(kept) == 0 {
		return
	}
	about := attested(kept).about()
	s, ok := c.looks[about]
	switch {
	case ok && s.Attests(kept):
		delete(c.looks, about)
		c.Attested++
	case !ok && c.began[kept[0].Run].Type == Began:
		c.Warnings = append(c.Warnings, Problem{"run " + kept[0].Run, fmt.Sprintf("has an attestation %d without an entry: a process without a key made it, or it was made up", kept[0].Seq)})
	}
}

// signOffs compares the sign-offs of runs with the entries about them.
func (c *checker) signOffs(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	err := landscape.Each(ctx, c.log, func(kept landscape.SignOff) bool {
		about := signedOff(kept).about()
		s, ok := c.signed[about]
		delete(c.signed, about)
		switch {
		case !ok:
			c.problem("run "+kept.Run, "has a sign-off %d without an entry: a process without a key recorded it, or it was made up", kept.Seq)
		case !s.SaysOf(kept):
			c.problem("run "+kept.Run, "is recorded with another sign-off %d than its entry %d says", kept.Seq, s.position)
		default:
			c.Signoffs++
		}
		return true
	})
	c.missing(c.signed)
	return err
}

// forgettings compares the orders to forget that were carried out with the entries about them.
func (c *checker) forgettings(ctx context.Context) error {
	if c.ring.log == nil {
		return nil
	}
	err := landscape.Each(ctx, c.log, func(kept landscape.Forgetting) bool {
		about, where := forgot(kept).about(), fmt.Sprintf("order %d", kept.Order)
		s, ok := c.forgot[about]
		delete(c.forgot, about)
		switch {
		case !ok:
			c.Warnings = append(c.Warnings, Problem{where, "to forget rows was carried out without an entry: by a process without a key, or it was made up"})
		case !s.forgets(kept):
			c.problem(where, "to forget rows is recorded otherwise than its entry %d says", s.position)
		}
		return true
	})
	c.missing(c.forgot)
	return err
}

// missing names what is not recorded, and entries are about. What a restored backup did not have is a warning.
func (c *checker) missing(entries map[string]sealedEntry) {
	for _, about := range slices.Sorted(maps.Keys(entries)) {
		s := entries[about]
		m := Missing{s.position, s.Statement, c.gaps.have(s.position)}
		switch {
		case c.lost[s.Run]:
		case m.Restored:
			c.Warnings = append(c.Warnings, Problem{m.Where(), m.String()})
		default:
			c.problem(m.Where(), "%v", m)
		}
	}
	sortProblems(c.Problems)
	sortProblems(c.Warnings)
}

// sealedAt returns the entry about a seal of that number that was made at another time; nil if there is none.
func (c *checker) sealedAt(kept landscape.RunSeal) *sealedEntry {
	for _, s := range c.sealed {
		if s.Run == kept.Run && s.Seal == kept.Seq && !c.gaps.have(s.position) {
			return &s
		}
	}
	return nil
}
