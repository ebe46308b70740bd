package audit

import (
	"context"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// verifyOrders verifies the signatures of the approval requests about the run.
func (v *verification) verifyOrders(ctx context.Context) error {
	orders, unread := landscape.Select[landscape.ApprovalRequest](ctx, v.log, v.run.ID)
	approvals, unsigned := landscape.Select[landscape.Approval](ctx, v.log, v.run.ID)
	executions, err := landscape.Select[landscape.ApprovedExecution](ctx, v.log, v.run.ID)
	if err := errors.Join(unread, unsigned, err); err != nil {
		return err
	}
	v.report.Orders = persons.LookAtOrders(orders, approvals, executions, v.options.Approvers)
	if v.report.Orders == nil {
		return nil
	}
	signatures := 0
	for _, o := range v.report.Orders {
		signatures += len(o.Signers)
		for _, problem := range o.Problems() {
			v.add(OrderBroken, fmt.Sprintf("order %.12s", o.Digest), "%s", problem)
		}
	}
	v.compared(CheckedOrders, "", "%s: %s, how many persons signed what was executed, and %s",
		plural(int64(len(v.report.Orders)), "order"), plural(int64(signatures), "signature"), v.whoseKeys())
	return nil
}
