package audit

import (
	"context"
	"errors"
	"slices"
	"strings"

	"waymark/landscape"
)

// verifyErased looks whether the certificates of orders to forget say of each row that is recorded as deleted in a target that it was: attestations do not miss it.
func (v *verification) verifyErased(ctx context.Context) error {
	orders, err := v.log.ErasuresIn(ctx, v.run.ID)
	if err != nil || orders == nil {
		return err
	}
	artifacts, err := v.log.Artifacts(ctx, v.run.ID)
	if err != nil {
		return err
	}
	certificates, open := map[int64]string{}, map[int64]bool{}
	for _, e := range orders {
		if open[e.Order] || certificates[e.Order] != "" {
			continue
		}
		done, err := v.log.Forgetting(ctx, e.Order)
		if errors.Is(err, landscape.ErrNotFound) {
			open[e.Order] = true
			v.note("order %d to forget is not carried out yet: waymark forget --finish does it", e.Order)
			continue
		}
		if err != nil {
			return err
		}
		certificates[e.Order] = done.Certificate
	}
	for _, e := range orders {
		if err := v.verifyErasure(ctx, e, artifacts, certificates[e.Order]); err != nil {
			return err
		}
	}
	return nil
}

// verifyErasure compares what is recorded of one row with the certificate, if there is one yet.
func (v *verification) verifyErasure(ctx context.Context, e landscape.Erasure, artifacts []landscape.ArtifactRecord, certificate string) error {
	at := slices.IndexFunc(artifacts, func(a landscape.ArtifactRecord) bool { return a.Sink == e.Sink })
	if at < 0 {
		v.add(RecordDiffers, e.Sink, "order %d deletes row %d of an output that the run did not publish", e.Order, e.Line)
		return nil
	}
	orders, err := v.log.Erasures(ctx, e.Run, e.Sink)
	if err != nil || certificate == "" {
		return err
	}
	line := landscape.OutputLine{Sink: e.Sink, Output: artifacts[at].Path, Line: e.Line}
	told := landscape.ErasedLine(e.Run, line, orders.Outcomes[e.Line])
	if !slices.Contains(strings.Split(certificate, "\n"), told) {
		v.add(RecordDiffers, e.Sink,
			"row %d of the output is recorded as %s by order %d to forget, and its certificate does not say so",
			e.Line, orders.Outcomes[e.Line], e.Order)
	}
	return nil
}
