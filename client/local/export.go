package local

import (
	"context"
	"errors"
	"fmt"
	"io"

	"waymark/audit/evidence"
	"waymark/audit/evidence/bundle"
	"waymark/audit/interop"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// ExportFile writes a run in a form that other tools read. word is all that Find takes. Errors about the run are those of Export.
func (h *Home) ExportFile(ctx context.Context, word string, form interop.ToFile, to io.Writer) error {
	run, err := h.finished(ctx, word)
	if err != nil {
		return err
	}
	return form(ctx, h.stores.Log.Reader, run.ID, to)
}

// ExportFolder does what ExportFile does, for a form of several files, into a folder that exists and is empty. word may be empty for interop.Parquet, which
// then writes all runs.
func (h *Home) ExportFolder(ctx context.Context, word string, form interop.ToFolder, folder string) ([]interop.File, error) {
	run := landscape.Run{}
	if word != "" {
		var err error
		if run, err = h.finished(ctx, word); err != nil {
			return nil, err
		}
	}
	return form(ctx, h.stores.Log.Reader, run.ID, folder)
}

// finished finds a run, and refuses one that has not ended or whose record does not fit its seals, or these the log.
func (h *Home) finished(ctx context.Context, word string) (landscape.Run, error) {
	run, err := h.Find(ctx, word)
	if err != nil {
		return landscape.Run{}, err
	}
	if run.Status == pipeline.Running {
		return landscape.Run{}, notExportable(fmt.Errorf("run %s: %w", run.ID, bundle.ErrRunning))
	}
	return run, h.sealed(ctx, run.ID)
}

// sealed refuses a run whose record does not fit its seals, or these the log.
func (h *Home) sealed(ctx context.Context, run string) error {
	_, _, err := evidence.CheckedRecord(ctx, h.stores.Log.Reader, run)
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		return nil
	case errors.Is(err, landscape.ErrSealBroken):
		return sealBroken(run, err)
	}
	return client.UnlessAway(err)
}
