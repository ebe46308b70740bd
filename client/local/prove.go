package local

import (
	"context"
	"errors"
	"fmt"

	"waymark/audit"
	"waymark/audit/evidence"
	"waymark/audit/evidence/rowproof"
	"waymark/client"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// Prove proves what is recorded of one row of a source or barrier; source may be empty if the run has one source. word is all that Find takes. show names fields: then the
// proof shows these, and nothing else of the row; nil for the row as a whole, without values. The error
// is an *Error: of kind NotFound if there is no such row; of kind Conflict if the run is not sealed, its seal is under no signed head yet, or values are not stored any more; of kind Invalid if a field cannot be shown; of kind
// Damaged if the record does not fit its seals.
func (h *Home) Prove(ctx context.Context, word, source string, row int64, show []string) (*rowproof.Proof, error) {
	run, err := h.Find(ctx, word)
	if err != nil {
		return nil, err
	}
	if run.Status == pipeline.Running {
		return nil, &client.Error{Kind: client.Conflict, Code: client.RunNotSealed, Message: fmt.Sprintf("run %s is running: it is sealed when it ends, and then its rows can be proved", run.ID), Run: run.ID}
	}
	log := h.stores.Log.Reader
	if source == "" {
		if source, err = onlySource(ctx, log, run.ID); err != nil {
			return nil, err
		}
	}
	proof, err := h.prove(ctx, run, source, row, show)
	return proof, unproven(ctx, run.ID, err)
}

// unproven returns the *Error of what kept something of a run from being proved; nil if nothing did.
func unproven(ctx context.Context, run string, err error) error {
	refuse := func(kind client.Kind, code client.Code, cure string) error {
		return &client.Error{Kind: kind, Code: code, Message: err.Error() + cure, Run: run, Err: err}
	}
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		return refuse(client.Conflict, client.RunNotSealed, ": waymark seal "+run+" seals it now")
	case errors.Is(err, landscape.ErrSealBroken), errors.Is(err, landscape.ErrIncomplete):
		return sealBroken(run, err)
	case errors.Is(err, evidence.ErrUnsigned):
		return refuse(client.Conflict, client.RunNotSealed, ": a process with the key of the log signs it within a minute")
	case errors.Is(err, landscape.ErrForgotten):
		return refuse(client.Conflict, client.RowForgotten, "")
	case errors.Is(err, rowproof.ErrNotShown), errors.As(err, new(*audit.QuestionError)):
		return refuse(client.Invalid, client.InvalidQuestion, "")
	case errors.Is(err, payload.ErrNotFound):
		return refuse(client.Conflict, client.InvalidQuestion, ": without --show, the row can be proved as a whole")
	case errors.Is(err, landscape.ErrNotFound):
		return refuse(client.NotFound, client.RowNotFound, "")
	}
	return client.UnlessStopped(ctx, err)
}

// prove proves a row, or fields of it.
func (h *Home) prove(ctx context.Context, run landscape.Run, source string, row int64, show []string) (*rowproof.Proof, error) {
	log := h.stores.Log.Reader
	if show == nil {
		return rowproof.Make(ctx, log, run, source, row)
	}
	auditor, err := h.Auditor(ctx)
	if err != nil {
		return nil, err
	}
	return rowproof.Show(ctx, log, run, source, row, rowproof.Shown{Names: show, Fields: func(ctx context.Context, chunk landscape.Chunk) ([]landscape.FieldValues, error) {
		return auditor.Fields(ctx, run, chunk)
	}})
}

// sealBroken says where to look for what does not fit the seals of a run.
func sealBroken(run string, err error) error {
	return &client.Error{Kind: client.Damaged, Code: client.SealBroken, Message: err.Error() + ": waymark verify " + run + ", and waymark log check, name what differs", Run: run, Err: err}
}

func onlySource(ctx context.Context, log *landscape.Reader, run string) (string, error) {
	sources, err := log.Sources(ctx, run)
	if err == nil && len(sources) != 1 {
		err = &client.Error{Kind: client.Invalid, Code: client.InvalidQuestion, Cure: client.NameSource, Message: fmt.Sprintf("run %s has %d sources and barriers: name one", run, len(sources)), Run: run}
	}
	if err != nil {
		return "", err
	}
	return sources[0].Source, nil
}
