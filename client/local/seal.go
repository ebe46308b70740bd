package local

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"waymark/audit/evidence"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// Seal seals a run that has ended and was not sealed then, and returns its last seal. The error is an *Error: of kind
// Conflict if the run is running, of kind Damaged if its records are not those that its last seal binds.
func (h *Home) Seal(ctx context.Context, run string) (client.RunSeal, error) {
	log, err := h.sealing(ctx)
	if err != nil {
		return client.RunSeal{}, err
	}
	sealed, added, err := log.SealRun(ctx, run)
	if err != nil {
		return client.RunSeal{}, client.UnlessStopped(ctx, client.Unsealable(err))
	}
	return h.runSeal(ctx, sealed, added)
}

func (h *Home) runSeal(ctx context.Context, sealed landscape.RunSeal, added bool) (client.RunSeal, error) {
	s := client.RunSeal{Run: sealed.Run, Seal: sealed.Seq, Root: hex.EncodeToString(sealed.Root), Records: sealed.Leaves, Late: sealed.Late, New: added}
	position, err := evidence.EntryOfSeal(ctx, h.stores.Log.Reader, sealed)
	if err == nil {
		s.Entry = &position
	}
	if errors.Is(err, landscape.ErrNotFound) {
		err = nil
	}
	return s, err
}

// UnsealedRuns returns the ids of the runs that have ended since they were sealed last, and can be sealed; nil if there is none.
func (h *Home) UnsealedRuns(ctx context.Context) ([]string, error) {
	return h.stores.Log.UnsealedRuns(ctx, 0)
}

// SealOf returns the last seal of a run, if it was made since the run was resumed; nil if there is none.
func (h *Home) SealOf(ctx context.Context, run landscape.Run) (*client.RunSeal, error) {
	seals, err := h.stores.Log.RunSeals(ctx, run.ID)
	if err != nil || len(seals) == 0 || seals[len(seals)-1].Epoch != run.Epoch || run.Status == pipeline.Running {
		return nil, err
	}
	sealed, err := h.runSeal(ctx, seals[len(seals)-1], false)
	return &sealed, err
}

// Resolve does what client.Client's does, and seals the run again.
func (h *Home) Resolve(ctx context.Context, run landscape.Run, id string, applied bool, by client.By) (client.Resolved, error) {
	c, err := h.sealingClient(ctx)
	if err != nil {
		return client.Resolved{}, err
	}
	return c.Resolve(ctx, run, id, applied, by)
}

// Waive does what client.Client's does, and seals the run again.
func (h *Home) Waive(ctx context.Context, run landscape.Run, policy string, by client.By) (client.Waived, error) {
	c, err := h.sealingClient(ctx)
	if err != nil {
		return client.Waived{}, err
	}
	return c.Waive(ctx, run, policy, by)
}

// sealingClient returns a client whose landscape has what this process seals with, as sealing does.
func (h *Home) sealingClient(ctx context.Context) (*client.Client, error) {
	log, err := h.sealing(ctx)
	if err != nil {
		return nil, err
	}
	return h.clientOn(log), nil
}

// clientOn returns a client of the landscape that writes to log.
func (h *Home) clientOn(log *landscape.Log) *client.Client {
	c := client.New(log, h.stores.Place, h)
	c.Actor, c.Approvers = h.Actor, h.Approvers
	return c
}

// sealing returns the landscape with what this process seals with. The error is an *Error of kind Invalid if it has nothing that counts, and the log has begun.
func (h *Home) sealing(ctx context.Context) (*landscape.Log, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.Closed(); err != nil {
		return nil, err
	}
	if err := h.openLog(ctx); err != nil {
		return nil, err
	}
	return h.stores.Log, h.keyless(ctx)
}

// unsealedText says how many runs are not sealed; empty if all are.
func unsealedText(runs []string) string {
	switch len(runs) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("run %s ended and is not sealed", runs[0])
	}
	return fmt.Sprintf("%d runs ended and are not sealed, such as %s", len(runs), runs[0])
}
