package recompute

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// SignOffs returns, by role, how many people had signed a run off when its policies were evaluated in an epoch; roles in which nobody had are left out. Which
// signatures count, LookAtSignOffs says.
func SignOffs(ctx context.Context, log *landscape.Reader, run string, roles []string, epoch int64, approvers *persons.Approvers) (map[string]int64, error) {
	counts := map[string]int64{}
	if roles == nil {
		return counts, nil
	}
	looked, err := LookAtSignOffs(ctx, log, run, roles, epoch, approvers)
	for _, one := range looked {
		if one.Releases() {
			counts[one.Role]++
		}
	}
	return counts, err
}

// LookAtSignOffs looks at what people signed about a run that must be signed off in these roles, the oldest first; nil if nobody did. It says of each signature that
// did not count when the policies of the run were evaluated in an epoch why. A signature counts from when they had been evaluated once, because what is in the
// sinks does not change any more then, until the run was resumed. Who signed in several of the roles counts in one of them: so that as many roles as can be are
// signed, so no further signature takes one away. With approvers, a signature counts only if they, as they are now, let its key sign then; without, if
// the line of the approver does that is recorded with it.
func LookAtSignOffs(ctx context.Context, log *landscape.Reader, run string, roles []string, epoch int64, approvers *persons.Approvers) ([]persons.SignOff, error) {
	signed, err := persons.LookAtRun(ctx, log, run, approvers)
	if err != nil || signed.Looked == nil {
		return nil, err
	}
	staged, err := stagedSince(ctx, log, run)
	if err != nil {
		return nil, err
	}
	in := signers{of: map[string][]string{}, as: map[string]string{}}
	for i := range signed.Looked {
		one := &signed.Looked[i]
		if one.Problem != "" {
			continue
		}
		of := slices.IndexFunc(signed.Seals, func(s landscape.RunSeal) bool { return s.Seq == one.Seal }) // it is there: otherwise that is a problem
		switch sealed := signed.Seals[of].Epoch; {
		case !slices.Contains(roles, one.Role):
			one.NoRelease = "the pipeline requires no sign-off as " + one.Role
		case sealed < staged:
			one.NoRelease = "it was signed before all rows of the run were accounted for"
		case sealed >= epoch:
			one.NoRelease = "it was signed after the run had been resumed"
		default:
			in.of[one.Role] = append(in.of[one.Role], one.Person)
		}
	}
	in.assign(roles)
	in.mark(signed.Looked)
	return signed.Looked, nil
}

// signers are the persons who signed a run off so that it may count.
type signers struct {
	of map[string][]string // role → who signed in it, the first one first
	as map[string]string   // person → role in which this person counts
}

// assign lets each person count in one role, so that as many roles as can be have one.
func (s signers) assign(roles []string) {
	for _, role := range roles {
		s.give(role, map[string]bool{})
	}
	for _, role := range roles {
		for _, person := range s.of[role] {
			if s.as[person] == "" {
				s.as[person] = role
			}
		}
	}
}

// give finds a person for a role, if need be one whose role somebody else takes then.
func (s signers) give(role string, tried map[string]bool) bool {
	for _, person := range s.of[role] {
		if tried[person] {
			continue
		}
		tried[person] = true
		if held := s.as[person]; held == "" || s.give(held, tried) {
			s.as[person] = role
			return true
		}
	}
	return false
}

// mark says of the signatures that do not count, because their person does already, why.
func (s signers) mark(looked []persons.SignOff) {
	counted := map[string]bool{}
	for i := range looked {
		one := &looked[i]
		switch {
		case !one.Releases():
		case s.as[one.Person] != one.Role:
			one.NoRelease = fmt.Sprintf("%s counts as %s, and each role needs another person", one.Person, s.as[one.Person])
		case counted[one.Person]:
			one.NoRelease = fmt.Sprintf("%s counts as %s already", one.Person, one.Role)
		default:
			counted[one.Person] = true
		}
	}
}

// stagedSince returns the epoch in which the policies of a run were evaluated first: all its rows are in its sinks since. It is after every epoch if they never were.
func stagedSince(ctx context.Context, log *landscape.Reader, run string) (int64, error) {
	results, err := log.PolicyResults(ctx, run)
	const never = int64(1) << 62
	first := never
	for _, result := range results {
		first = min(first, result.Epoch)
	}
	return first, err
}
