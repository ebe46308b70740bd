package local

import (
	"context"

	"waymark/client"
	"waymark/landscape"
)

// Report is all that is known of how a run is.
type Report struct {
	*client.Status
	Log    *RunInLog     `json:"log,omitempty"`    // nil if the record's log has not begun
	Orders []*OrderCase  `json:"orders,omitempty"` // dangerous ones about the run
	Seal   *RunSeal      `json:"seal,omitempty"`   // nil if the run is running, or was not sealed when it ended
	Start  *client.Start `json:"start,omitempty"`  // of a run that is not recorded: what became of the request
}

// Report returns how a run is, with the counts of its nodes and sinks, where it is in the landscape's log, its seal, and the orders about it.
func (h *Home) Report(ctx context.Context, run landscape.Run) (*Report, error) {
	status, err := h.Status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	report := &Report{Status: status}
	if report.Log, err = h.RunInLog(ctx, run.ID); err != nil {
		return nil, err
	}
	if report.Seal, err = h.SealOf(ctx, run); err != nil {
		return nil, err
	}
	report.Orders, err = h.OrdersAbout(ctx, run.ID)
	return report, err
}
