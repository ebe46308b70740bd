package local

import (
	"context"
	"errors"
	"slices"

	"waymark/audit/evidence"
	"waymark/client"
	"waymark/landscape"
)

// Attest does what client.Client's does, for a run whose records fit its seals, and signs the entry of the log. The error is an *Error of kind Damaged if they do not:
// what the run wrote is not known then.
func (h *Home) Attest(ctx context.Context, run landscape.Run, request client.AttestRequest) (*client.Attestation, error) {
	c, err := h.sealingClient(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.NotArchived(ctx, run.ID, "attested"); err != nil {
		return nil, err
	}
	if err := h.sealed(ctx, run.ID); err != nil {
		return nil, err
	}
	found, err := c.Attest(ctx, run, request)
	if err != nil || len(found.Outputs) == 0 {
		return found, err
	}
	recorded, err := h.stores.Log.Attestations(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	recorded = slices.DeleteFunc(recorded, func(a landscape.Attestation) bool { return a.Seq != found.Number })
	position, err := evidence.EntryOfAttestations(ctx, h.stores.Log.Reader, recorded)
	if err == nil {
		found.Entry = &position
	}
	if errors.Is(err, landscape.ErrNotFound) {
		err = nil
	}
	return found, err
}
