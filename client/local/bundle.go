package local

import (
	"context"
	"errors"
	"io"

	"waymark/audit/evidence/bundle"
	"waymark/client"
	"waymark/landscape"
)

// Exported says what goes into a bundle besides the record.
type Exported struct {
	Payloads  bundle.Payloads
	Artifacts bool     // the outputs, as they were published
	Redact    []string // SOURCE or SOURCE.FIELD: what must not be in it
}

// Export writes the bundle of evidence about a run. word is all that Find takes. The error is an *Error of kind Conflict if the run has not ended, an output is not what
// it published, or it has too many refused records, Damaged if its record does not fit its seals, and Invalid if there is no sealer's key that counts to sign it; what was
// written is of no use then.
func (h *Home) Export(ctx context.Context, word string, to io.Writer, what Exported) (*bundle.Manifest, error) {
	run, err := h.Find(ctx, word)
	if err != nil {
		return nil, err
	}
	key, err := h.bundleKey(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.payloads(ctx, false); err != nil {
		return nil, err
	}
	options := bundle.Options{Payloads: what.Payloads, Redact: what.Redact, Key: key}
	if what.Artifacts {
		auditor, err := h.Auditor(ctx)
		if err != nil {
			return nil, err
		}
		options.Outputs = auditor.OutputFiles
	}
	manifest, err := bundle.Export(ctx, to, h.stores.Log.Reader, h.stores.Payloads, run, options)
	switch {
	case errors.Is(err, bundle.ErrOutputChanged):
		err = &client.Error{Kind: client.Conflict, Code: client.OutputDiffers, Message: err.Error() + ": waymark attest " + run.ID + " says what became of it; without --artifacts the bundle has its digest alone", Run: run.ID, Err: err}
	case errors.Is(err, landscape.ErrSealBroken):
		err = sealBroken(run.ID, err)
	case what.Redact != nil && errors.Is(err, landscape.ErrNotFound):
		err = &client.Error{Kind: client.Invalid, Code: client.InvalidOption, Message: "--redact: " + err.Error(), Run: run.ID, Err: err}
	case errors.Is(err, bundle.ErrRunning), errors.Is(err, bundle.ErrTooMany):
		err = notExportable(err)
	}
	return manifest, client.UnlessAway(err)
}

func notExportable(err error) error {
	return &client.Error{Kind: client.Conflict, Code: client.NotExportable, Message: err.Error(), Err: err}
}
