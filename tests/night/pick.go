package main

import (
	"cmp"
	"slices"
	"time"
)

// purse is a campaign's share of a night.
type purse struct {
	share time.Duration
	left  time.Duration // negative: other campaigns had nothing to do, or a unit took longer than was left
}

// purses divides a night among campaigns by their minutes, and adds what the last nights owe them.
func (s *state) purses(campaigns []campaign, budget time.Duration) map[string]*purse {
	total := 0.0
	for _, c := range campaigns {
		total += c.minutes
	}
	all := map[string]*purse{}
	for _, c := range campaigns {
		share := time.Duration(float64(budget) * c.minutes / total)
		all[c.name] = &purse{share, share + s.owed(c.name, share)}
	}
	return all
}

// owed is what the last nights owe a campaign: a share at most, so that one that waits for something does not take a
// whole night then.
func (s *state) owed(campaign string, share time.Duration) time.Duration {
	owed := time.Duration(s.Owed[campaign] * float64(time.Second))
	return min(max(owed, -share), share)
}

// settle keeps what is left of the shares for the next night.
func (s *state) settle(all map[string]*purse) {
	for name, p := range all {
		s.Owed[name] = min(max(p.left, -p.share), p.share).Seconds()
	}
}

// next returns the unit to run now: of the campaign that has most of its share left, the most urgent one that ends in
// the time that the night has. It is false if there is none. A unit that was tried tonight is not tried again.
func (s *state) next(
	campaigns []campaign, all map[string]*purse, tonight map[string]result, rest time.Duration,
) (unit, bool) {
	rich := slices.SortedStableFunc(slices.Values(campaigns), func(a, b campaign) int {
		return -cmp.Compare(all[a.name].relative(), all[b.name].relative())
	})
	for _, c := range rich {
		for _, u := range s.urgent(c.units) {
			if tonight[u.key()] == "" && s.expected(u) <= rest {
				return u, true
			}
		}
	}
	return unit{}, false
}

func (p *purse) relative() float64 { return float64(p.left) / float64(p.share) }

// urgent returns the units in the order in which they are due: first what failed the last time, then what never ran,
// then what ran longest ago. Units that are equal in that keep their order, in which neighbours have a binary in
// common.
func (s *state) urgent(units []unit) []unit {
	return slices.SortedStableFunc(slices.Values(units), func(a, b unit) int {
		first, second := s.Units[a.key()], s.Units[b.key()]
		if bad := first.Result == failed; bad != (second.Result == failed) {
			if bad {
				return -1
			}
			return 1
		}
		return first.Tried.Compare(second.Tried)
	})
}

// undone returns the units that did not pass at the commit: those that failed at it last.
func (s *state) undone(units []unit, commit string) []unit {
	var fresh, bad []unit
	for _, u := range units {
		switch o := s.Units[u.key()]; {
		case o.Commit != commit:
			fresh = append(fresh, u)
		case o.Result != passed:
			bad = append(bad, u)
		}
	}
	return append(fresh, bad...)
}
