package local

import (
	"context"
	"errors"
	"fmt"

	"waymark/audit/evidence/bundle"
	"waymark/audit/interop"
	"waymark/landscape"
	"waymark/pipeline"
)

// ExportParquet writes the tables and views of a run's record into a folder that exists, as interop.Parquet does. word is all that Find takes, or empty
// for all runs. Errors about a run are those of Export.
func (h *Home) ExportParquet(ctx context.Context, word, folder string) ([]interop.File, error) {
	run := landscape.Run{}
	if word != "" {
		var err error
		if run, err = h.finished(ctx, word); err != nil {
			return nil, err
		}
	}
	return interop.Parquet(ctx, h.stores.Log.Reader, run.ID, folder)
}

// finished finds a run, and refuses one that has not ended or whose record does not fit its seals.
func (h *Home) finished(ctx context.Context, word string) (landscape.Run, error) {
	run, err := h.Find(ctx, word)
	if err != nil {
		return landscape.Run{}, err
	}
	if run.Status == pipeline.Running {
		return landscape.Run{}, notExportable(fmt.Errorf("run %s: %w", run.ID, bundle.ErrRunning))
	}
	_, err = h.stores.Log.CheckSeals(ctx, run.ID)
	switch {
	case errors.Is(err, landscape.ErrUnsealed):
		err = nil
	case errors.Is(err, landscape.ErrSealBroken):
		err = sealBroken(run.ID, err)
	}
	return run, err
}
