package recompute

import (
	"context"
	"slices"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// SignOffs returns, by role, how many people had signed a run off when its policies were evaluated in an epoch; roles in which nobody had are left out. A signature
// counts from when the policies had been evaluated once, because what is in the sinks does not change any more then, until the run was resumed. Who signed in
// several of the roles counts in the first one. With approvers, a signature counts only if they, as they are now, let its key sign then; without, if the
// line of the approver does that is recorded with it.
func SignOffs(ctx context.Context, log *landscape.Reader, run string, roles []string, epoch int64, approvers *persons.Approvers) (map[string]int64, error) {
	counts := map[string]int64{}
	if roles == nil {
		return counts, nil
	}
	signed, err := persons.LookAtRun(ctx, log, run, approvers)
	if err != nil || signed.Looked == nil {
		return counts, err
	}
	staged, err := stagedSince(ctx, log, run)
	if err != nil {
		return nil, err
	}
	counted := map[string]bool{}
	for _, one := range signed.Looked {
		of := slices.IndexFunc(signed.Seals, func(s landscape.RunSeal) bool { return s.Seq == one.Seal })
		switch {
		case of < 0, signed.Seals[of].Epoch < staged, signed.Seals[of].Epoch >= epoch, counted[one.Person], !slices.Contains(roles, one.Role):
		case one.Problem == "":
			counted[one.Person] = true
			counts[one.Role]++
		}
	}
	return counts, nil
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
