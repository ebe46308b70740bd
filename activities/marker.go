package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"waymark/payload"
)

// A run's payloads are in one store. The process that opens a run writes its mark there, and every process that works for the run looks for the mark first: a
// process that was given another store would put payloads where nobody finds them.

// runMarker returns the mark of a run: an object of its payload store that no other run has.
func runMarker(run string) []byte { return []byte("waymark run " + run + "\n") }

// writeMarker stores the mark of a run.
func (a *Activities) writeMarker(ctx context.Context, run string) error {
	if _, err := a.payloads.Put(ctx, runMarker(run)); err != nil {
		return fmt.Errorf("mark of run %s: %w", run, err)
	}
	return nil
}

// checkMarker fails if this process's payload store is not the run's. Another process may have the right one.
func (a *Activities) checkMarker(ctx context.Context, run string) error {
	sum := sha256.Sum256(runMarker(run))
	has, err := a.payloads.Has(ctx, payload.Digest(hex.EncodeToString(sum[:])))
	if err != nil {
		return fmt.Errorf("mark of run %s: %w", run, err)
	}
	if !has {
		return fmt.Errorf("the payloads of run %s are not in the payload store of this worker (%s): the process that opened the run has another one; give all the same --payloads",
			run, a.worker)
	}
	return nil
}
