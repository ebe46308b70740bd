package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// The words stand in histories of runs: they are written out here, so that nobody renames one by accident.
func TestErrorsThatNoRetryCures(t *testing.T) {
	for word, cause := range map[string]error{
		"DocumentInvalid": pipeline.Problems{{Message: "no sink"}},
		"SourceUnusable":  &plugin.SourceError{Code: "SOURCE_CHANGED", File: "in.csv", Message: "it is not the same"},
		"TargetRefused":   &plugin.TargetError{Code: "TARGET_EXISTS", Target: "out.csv", Message: "it is there"},
		"RowFailed":       &engine.FailedError{Node: "cast", Row: 3, Line: 4, Rejection: &plugin.Rejection{Code: "CONVERT"}},
		"PayloadCorrupt":  &payload.CorruptError{Digest: "ab", Reason: "its 3 bytes hash to cd"},
		"PayloadMissing":  payload.ErrNotFound,
		"RecordDiverged":  &landscape.DivergedError{Table: "chunks", Key: "r/in/0", Column: "pack"},
		"RunUnbalanced":   &landscape.ImbalanceError{Run: "r", Findings: []landscape.Finding{{Check: "sink_rows", Chunk: 1, Detail: "in 3 rows"}}},
		"EffectBlocked":   landscape.ErrBlocked,
		"RunUnknown":      landscape.ErrNotFound,
		"RecordReadOnly":  landscape.ErrReadOnly,
		"PlanChanged":     final{TypePlanChanged, errors.New("another plan")},
	} {
		t.Run(word, func(t *testing.T) {
			for _, err := range []error{
				cause,
				fmt.Errorf("source in, chunk 3: %w", cause),
				errors.Join(fmt.Errorf("sink out: %w", cause), errors.New("and the record is not to be reached")),
			} {
				var application *temporal.ApplicationError
				require.ErrorAs(t, toTemporal(err), &application)
				require.Equal(t, word, application.Type())
				require.True(t, application.NonRetryable())
				require.Equal(t, err.Error(), BeforeRun(application.Message()))
			}
		})
	}
}

func TestAPartThatCannotBeMadeIsNotMadeAgain(t *testing.T) {
	var application *temporal.ApplicationError
	require.ErrorAs(t, toTemporal(fmt.Errorf("source in, chunk 3: %w", &engine.UnfinishedError{Node: "out", Err: errors.New("no file")})), &application)
	require.Equal(t, "TargetRefused", application.Type())
}

// The reason on record says whether a run can go on once it is cured: its end is written out here, for it stands in landscapes.
func TestErrorsWhoseCureTakesANewRun(t *testing.T) {
	source := func(code string) error { return &plugin.SourceError{Code: code, File: "in.csv", Message: "why"} }
	for _, c := range []struct {
		err  error
		anew bool
	}{
		{source("COMPRESSED"), true},
		{source("EMPTY_SOURCE"), true},
		{source("HEADER_MISMATCH"), true},
		{source("TRUNCATED"), true},
		{source("REDIRECTED"), true},
		{&barrier.FullError{Cure: "give it a trigger"}, true},
		{&engine.FailedError{Node: "cast", Rejection: &plugin.Rejection{Code: "CONVERT"}}, true},
		{&engine.UnfinishedError{Node: "out", Err: errors.New("no file")}, true},
		{source("NOT_FOUND"), false},
		{source("NO_PERMISSION"), false},
		{source("PATH_REFUSED"), false},
		{source("EGRESS_DENIED"), false},
		{source("REQUEST_REFUSED"), false},
		{source("SOURCE_CHANGED"), false},
		{&plugin.TargetError{Code: "TARGET_EXISTS", Target: "out.csv", Message: "it is there"}, false},
		{payload.ErrNotFound, false},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			err := fmt.Errorf("source in, chunk 3: %w", c.err)
			var application *temporal.ApplicationError
			require.ErrorAs(t, toTemporal(err), &application)
			want := err.Error()
			if c.anew {
				want += " (the cure takes a new run)"
			}
			require.Equal(t, want, application.Message())
			require.Equal(t, c.anew, NeedsNewRun(application.Message()))
			require.Equal(t, err.Error(), BeforeRun(application.Message()))
		})
	}
}

func TestErrorsThatARetryMayCure(t *testing.T) {
	require.NoError(t, toTemporal(nil))
	for _, err := range []error{
		errors.New("disk full"), context.Canceled, context.DeadlineExceeded, landscape.ErrFenced, landscape.ErrStale, payload.ErrTooLarge,
	} {
		require.Equal(t, err, toTemporal(err), "the retry policy decides")
	}
}
