package evidence

import (
	"context"
	"errors"
	"fmt"

	"waymark/landscape"
	"waymark/landscape/persons"
)

// OrderSignatures says what was verified of the signatures under approval requests.
type OrderSignatures struct {
	Orders     int  `json:"requests"`   // whose signatures were verified, those about no run among them
	Signatures int  `json:"signatures"` // of who proposed, approved or reviewed them
	OwnWord    bool `json:"own_word"`   // no approvers file was looked at: whose key it is, only the line says that is recorded with each signature
}

// VerifyOrders verifies the signatures under all approval requests, as persons.LookAtOrders does, and adds to the
// report what does not hold. It changes nothing. An error says that the record could not be read.
func (r *Report) VerifyOrders(ctx context.Context, log *landscape.Reader, approvers *persons.Approvers) error {
	orders, unread := log.Orders(ctx)
	approvals, unsigned := landscape.Select[landscape.Approval](ctx, log)
	executions, err := landscape.Select[landscape.ApprovedExecution](ctx, log)
	if err := errors.Join(unread, unsigned, err); err != nil {
		return err
	}
	all := persons.LookAtOrders(orders, approvals, executions, approvers)
	if all == nil {
		return nil
	}
	r.OrderSignatures = &OrderSignatures{Orders: len(all), OwnWord: approvers == nil}
	for _, o := range all {
		r.OrderSignatures.Signatures += len(o.Signers)
		for _, problem := range o.Problems() {
			r.Problems = append(r.Problems, Problem{fmt.Sprintf("approval_broken order %.12s", o.Digest), problem})
		}
	}
	return nil
}
