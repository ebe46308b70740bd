package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// TestNoBatchFiresBeforeItIsOpened, also if every fold comes at an earlier moment than the one before it, because somebody sets the
// clock back. Whether the process knows the moment of the fold before, or finds it on record, makes no difference.
func TestNoBatchFiresBeforeItIsOpened(t *testing.T) {
	r := newRig(t, graphDocument, graphFiles)
	r.pace = -time.Minute
	records, outputs := playOnce(r)
	for barrier := range r.barriers {
		folds, err := r.log.Folds(t.Context(), runID, barrier)
		require.NoError(t, err)
		require.NotEmpty(t, folds)
		for _, fold := range folds {
			require.Equal(t, folds[0].At, fold.At, "%s, fold %d", barrier, fold.Fold)
		}
		batches, err := landscape.Select[landscape.BatchRecord](t.Context(), r.log, runID, barrier)
		require.NoError(t, err)
		for _, batch := range batches {
			require.GreaterOrEqual(t, batch.Fired, batch.Opened, "%s, batch %d", barrier, batch.Batch)
		}
	}
	r.reset(t)
	r.forgetful = true
	again, outputsAgain := playOnce(r)
	require.Equal(t, records["folds"], again["folds"])
	require.Equal(t, records["batches"], again["batches"])
	require.Equal(t, outputs, outputsAgain)
}
