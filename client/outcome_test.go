package client

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
)

// TestOutcomeWithoutARecordedEnd: each way in which an execution can lack one has its kind of error.
func TestOutcomeWithoutARecordedEnd(t *testing.T) {
	log := fiveRuns(t)
	refused := temporal.NewApplicationError("no such parameter", activities.TypeInput)
	for name, test := range map[string]struct {
		run   string
		epoch int64
		queue string
		end   Ending
		want  Error
	}{
		"stopped before it began":  {run: "new", end: Ending{Interrupted: true}, want: Error{Kind: Interrupted, Code: Stopped, Message: "stopped before the run began; nothing was read or written"}},
		"failed before it began":   {run: "new", end: Ending{Err: errors.New("no disk")}, want: Error{Kind: Failed, Code: RunFailed, Message: "no disk"}},
		"refused by workers":       {run: "new", queue: "q", end: Ending{Err: refused}, want: Error{Kind: Invalid, Code: InvalidInput, Message: "no such parameter"}},
		"recorded elsewhere":       {run: "new", queue: "q", want: Error{Kind: Failed, Code: RunFailed, Cure: NameLandscape, Message: "its workflow ended, and memory has no run new: do the workers keep their record elsewhere?"}},
		"not resumed":              {run: "r0", epoch: 1, end: Ending{Err: errors.New("no disk")}, want: Error{Kind: Failed, Code: RunFailed, Run: "r0", Message: "run r0 could not be resumed: no disk"}},
		"its end is not recorded":  {run: "r0", end: Ending{Err: errors.New("read-only")}, want: Error{Kind: Failed, Code: OutcomeNotRecorded, Cure: DiagnoseAndResume, Run: "r0", Message: "the run's end could not be recorded: read-only"}},
		"stopped and not recorded": {run: "r0", end: Ending{Interrupted: true}, want: Error{Kind: Interrupted, Code: Stopped, Cure: DiagnoseAndResume, Run: "r0", Message: "the run's end could not be recorded"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Execution{Run: test.run, session: &Session{Log: log, Place: "memory", Queue: test.queue}}
			e.inEpoch(test.epoch)
			outcome, err := e.Outcome(t.Context(), &test.end)
			require.NoError(t, err)
			require.NotNil(t, outcome.Err)
			outcome.Err.Err = nil
			require.Equal(t, test.want, *outcome.Err)
		})
	}
}

// TestOutcomeOfOtherEpochs: a run that another process resumed is not this execution's any more.
func TestOutcomeOfOtherEpochs(t *testing.T) {
	log := fiveRuns(t)
	require.NoError(t, log.StopRun(t.Context(), "r0", pipeline.Interrupted, "power"))
	require.NoError(t, log.Resume(t.Context(), landscape.Resumption{Run: "r0", Epoch: 1, Claim: "c"}))
	e := &Execution{Run: "r0", session: &Session{Log: log}}
	outcome, err := e.Outcome(t.Context(), &Ending{})
	require.NoError(t, err)
	require.Equal(t, Busy, outcome.Err.Kind)
	require.Equal(t, RunSuperseded, outcome.Err.Code)
	require.Equal(t, ShowStatus, outcome.Err.Cure)
	require.Nil(t, outcome.Status)
}

// TestRecordedOutcome: a complete run has figures and no error.
func TestRecordedOutcome(t *testing.T) {
	e := &Execution{Run: "r4", session: &Session{Log: fiveRuns(t)}}
	outcome, err := e.Outcome(t.Context(), &Ending{})
	require.NoError(t, err)
	require.Nil(t, outcome.Err)
	require.EqualValues(t, 20, outcome.Status.Rows)
}
