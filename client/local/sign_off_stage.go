package local

import (
	"context"
	"fmt"
	"os"
	"slices"

	"waymark/client"
	"waymark/landscape"
)

// compareStages compares what a run staged with its record: that is what a person looked at who signs it off. It returns what could not be compared, such as what another
// machine has; nil if all was. The error is an *Error of kind Damaged if something was changed. Nothing is compared of a run that is complete, or whose rows
// are not accounted for.
func (h *Home) compareStages(ctx context.Context, run landscape.Run) (uncompared []string, err error) {
	policies, err := h.stores.Log.Policies(ctx, run.ID)
	evaluated := slices.ContainsFunc(policies, func(p landscape.PolicyStanding) bool { return p.Last != nil })
	if err != nil || !evaluated || client.Complete(run.Status) {
		return nil, err
	}
	auditor, err := h.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	unfit, err := auditor.CheckStages(ctx, run.ID)
	if err != nil {
		return nil, client.UnlessStopped(ctx, err)
	}
	here, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	for _, u := range unfit {
		if u.Changed && run.Host == here {
			return nil, &client.Error{
				Kind: client.Damaged, Code: client.StageChanged, Run: run.ID,
				Message: fmt.Sprintf("what run %s staged is not what it wrote: %s", run.ID, u.Why),
			}
		}
		uncompared = append(uncompared, fmt.Sprintf("what run %s staged was not compared with its record: %s", run.ID, u.Why))
	}
	return uncompared, nil
}
