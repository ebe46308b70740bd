package local

import (
	"context"

	"waymark/client"
	"waymark/landscape"
	"waymark/landscape/inhand"
	"waymark/pipeline"
)

// Report returns how a run is, with the counts of its nodes and sinks, where it is in the landscape's log, its seal, and the orders about it.
func (h *Home) Report(ctx context.Context, run landscape.Run) (*client.RunReport, error) {
	if run.Status != pipeline.Running { // a run that is running may end while somebody asks who executes it
		ctx = inhand.Remember(ctx)
	}
	status, err := h.Status(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	report := &client.RunReport{Status: status, Tables: client.TablesOf(run)}
	if report.Log, err = h.RunInLog(ctx, run.ID); err != nil {
		return nil, err
	}
	if report.Seal, err = h.SealOf(ctx, run); err != nil {
		return nil, err
	}
	report.Orders, err = h.OrdersAbout(ctx, run.ID)
	return report, err
}
