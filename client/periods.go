package client

import (
	"context"
	"fmt"
	"strings"

	"waymark/audit/retain"
	"waymark/landscape"
)

// Kept says until when a run keeps what is deleted after a time, by the periods of the settings and by its document.
type Kept struct {
	Class landscape.Class `json:"class"`
	Until Time            `json:"until,omitzero"` // not known: for ever
	Hold  int64           `json:"hold,omitempty"` // that keeps it longer; 0 if none does
}

// addKept says until when the run keeps what is deleted; nothing if no periods are in force, or the run has not ended.
func (c *Client) addKept(ctx context.Context, status *Status, run landscape.Run) error {
	force, _, err := c.log.Periods(ctx)
	if err != nil || force == nil || run.Finished == 0 {
		return err
	}
	periods, err := retain.ReadPeriods(force)
	if err != nil {
		return err
	}
	holds, err := c.log.OpenHolds(ctx)
	if err != nil {
		return err
	}
	hold := int64(0)
	for _, h := range holds {
		if h.Holds(run.RunHead) {
			hold = h.ID
		}
	}
	for _, kept := range periods.KeptOf(run) {
		status.Kept = append(status.Kept, Kept{kept.Class, Time(kept.Until), hold})
	}
	return nil
}

// Approved are retention periods that came into force.
type Approved struct {
	Periods string   `json:"periods"`
	SHA256  string   `json:"periods_sha256"`
	Shorter []string `json:"shorter"` // than those of before; not nil
}

// AskedPeriods returns the retention periods that wait for approval. The error is an *Error of kind Conflict with the
// code NothingToOrder if none do.
func AskedPeriods(
	ctx context.Context, log *landscape.Reader,
) (asked *landscape.RetentionPeriods, shorter []string, err error) {
	force, asked, err := log.Periods(ctx)
	if err != nil {
		return nil, nil, err
	}
	if asked == nil {
		return nil, nil, &Error{
			Kind: Conflict, Code: NothingToOrder,
			Message: "no retention periods wait for approval: a server or a worker asks for those of its settings",
		}
	}
	before, err := retain.ReadPeriods(force)
	if err != nil {
		return nil, nil, err
	}
	after, err := retain.ReadPeriods(asked)
	if err != nil {
		return nil, nil, err
	}
	return asked, after.Shortens(before), nil
}

// ApprovePeriods brings the retention periods into force that wait for approval. The error is an *Error of kind
// Conflict: with NothingToOrder if none do, with OrderNeeded if one person may not.
func (c *Client) ApprovePeriods(ctx context.Context, by By) (approved *Approved, err error) {
	defer c.edge(ctx, &err)
	if err := by.giveWhy(); err != nil {
		return nil, err
	}
	asked, shorter, err := AskedPeriods(ctx, c.log.Reader)
	if err == nil {
		err = c.log.MayOrder(ctx, landscape.OrderPurge)
	}
	if err != nil {
		return nil, err
	}
	if _, err := retain.Approve(ctx, c.log, asked, by.or(c.Actor).Actor, by.Why); err != nil {
		return nil, err
	}
	return &Approved{asked.Text, asked.SHA256, append([]string{}, shorter...)}, nil
}

// String says what came into force.
func (a *Approved) String() string {
	return fmt.Sprintf("retention periods %.12s are in force (%s)", a.SHA256, strings.Join(a.Shorter, "; "))
}
