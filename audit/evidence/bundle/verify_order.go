package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/landscape/persons"
)

// orders are what is recorded of approval requests about a run.
type orders struct {
	proposed   []landscape.ApprovalRequest
	approvals  []landscape.Approval
	executions []landscape.ApprovedExecution
}

// ordersOf reads them; by digest.
func ordersOf(ctx context.Context, from landscape.RecordReader, run string) (all orders, err error) {
	var unread, unsigned error
	all.proposed, unread = landscape.Select[landscape.ApprovalRequest](ctx, from, run)
	all.approvals, unsigned = landscape.Select[landscape.Approval](ctx, from, run)
	all.executions, err = landscape.Select[landscape.ApprovedExecution](ctx, from, run)
	return all, errors.Join(unread, unsigned, err)
}

// records returns each of them; nil if there is none.
func (o orders) records() (all []landscape.Record) {
	for _, r := range o.proposed {
		all = append(all, r)
	}
	for _, r := range o.approvals {
		all = append(all, r)
	}
	for _, r := range o.executions {
		all = append(all, r)
	}
	return all
}

// ordersHold verifies the signatures under approval requests about the run, and compares all that is recorded of them
// with the entries of the log.
func (v *verification) ordersHold() error {
	all, err := ordersOf(context.Background(), v.records, v.Run)
	if err != nil {
		return err
	}
	v.Orders = persons.LookAtOrders(all.proposed, all.approvals, all.executions, v.approvers)
	for _, o := range v.Orders {
		for _, problem := range o.Problems() {
			return fmt.Errorf("order %.12s: %s", o.Digest, problem)
		}
	}
	return v.ordersAreLogged(all)
}

// ordersAreLogged compares what is recorded of approval requests about the run with the entries of the log about it, in
// both directions.
func (v *verification) ordersAreLogged(all orders) error {
	entries := slices.Clone(v.ordered)
	for _, record := range all.records() {
		table := landscape.TableOf(record)
		i := slices.IndexFunc(entries, func(e evidence.Entry) bool { return e.Notes(record) })
		switch {
		case i >= 0:
			entries = slices.Delete(entries, i, i+1)
		case !v.manifest.lacks(orderGap):
			return fmt.Errorf("%s%s%s: no entry of the log says what %s says", recordFolder, table.Name, recordSuffix, table.Key(table.AppendValues(nil, record)))
		}
	}
	if len(entries) > 0 {
		return fmt.Errorf("%sapproval_requests%s: entry %d of the log is about order %.12s, which is not recorded so", recordFolder, recordSuffix, entries[0].Position, entries[0].Digest)
	}
	return nil
}
