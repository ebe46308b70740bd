package activities

import (
	"context"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/admit"
)

// refuseUnserved refuses a run that would wait without end: for one that nobody executes, or begins, while this process has the state folder.
func (a *Activities) refuseUnserved(ctx context.Context, run string, on *landscape.Admission) error {
	if a.affinity.Unserved == nil {
		return nil
	}
	start, err := a.log.LastStart(ctx, run)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := a.log.Places(ctx, a.log.Now().Time(), on.Wants...)
	if err != nil {
		return err
	}
	for _, claims := range []*[]admit.Claim{&state.Going, &state.Waiting} {
		if *claims, err = a.unserved(ctx, *claims); err != nil {
			return err
		}
	}
	return unservedFirst(state, admit.Claim{Run: run, Since: start.Accepted.Time(), Terms: on.Terms})
}

// unserved returns the claims of the runs that nobody executes, or begins.
func (a *Activities) unserved(ctx context.Context, claims []admit.Claim) (left []admit.Claim, err error) {
	for _, claim := range claims {
		unserved, err := a.affinity.Unserved(ctx, claim.Run)
		if err != nil {
			return nil, err
		}
		if unserved {
			left = append(left, claim)
		}
	}
	return left, nil
}

// unservedFirst is the error about a claim that has no place as long as those of the state stay, and names the commands that move the first of
// them; nil if it has one, or need not wait for them. A pool may have fewer places than they hold, or none: they keep those that it gets. Whether a
// pool that nobody holds gets some is for its operator to say.
func unservedFirst(state admit.State, claim admit.Claim) error {
	d := admit.Decide(state, claim)
	if d.Verdict == admit.Begin || d.Verdict == admit.Skipped || d.Verdict == admit.WaitCancel && len(d.Runs) == 0 {
		return nil
	}
	claim.WhenFull = admit.Queue
	d = admit.Decide(state, claim)
	switch {
	case len(d.Holders) > 0 && d.Limit < 1:
		return final{TypeHolderGone, fmt.Errorf("%s; run %s has some still, and its process is gone: waymark serve continues it, as does waymark resume %[2]s",
			d.Why(), d.Holders[0])}
	case len(d.Holders) > 0:
		return final{TypeHolderGone, fmt.Errorf("%s; the process of run %s is gone: waymark serve continues it, as does waymark resume %[2]s", d.Why(), d.Holders[0])}
	case len(d.Ahead) > 0:
		return final{TypeHolderGone, fmt.Errorf(
			"%s; the process of run %s is gone: waymark serve begins it, and waymark cancel %[2]s --why TEXT cancels it", d.Why(), d.Ahead[0])}
	}
	return nil
}
