package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/audit"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/blank"
	"waymark/workflows"
)

// nobody is a host that executes no run.
type nobody struct{}

func (nobody) Executes(context.Context, string) *bool   { return new(bool) }
func (nobody) Continues(context.Context, string) bool   { return false }
func (nobody) Reach(context.Context) (*Executor, error) { return nil, nil }
func (nobody) Auditor(context.Context) (*audit.Auditor, error) {
	return nil, &Error{Kind: Unavailable, Message: "nobody has the payloads"}
}
func (nobody) Deposit(context.Context, bool) (*Deposit, error) {
	return nil, &Error{Kind: Unavailable, Message: "nobody has the payloads"}
}
func (nobody) Session(context.Context, Purpose) (*Session, error) {
	return nil, &Error{Kind: Unavailable, Message: "nobody executes runs"}
}

// held is a host whose state folder another process uses, which executes none of these runs.
type held struct{ nobody }

func (held) Executes(context.Context, string) *bool {
	executes := true
	return &executes
}

// TestAbandoned: a run waits for nobody if its process is gone, also if another one uses the state folder.
func TestAbandoned(t *testing.T) {
	for name, host := range map[string]Host{"nobody": nobody{}, "another": held{}} {
		require.True(t, New(fiveRuns(t), "memory", host).abandoned(t.Context(), "r1"), name)
	}
}

// busy is a host whose process executes every run, each in this view.
type busy struct {
	nobody
	view workflows.View
}

func (busy) Executes(context.Context, string) *bool {
	works := true
	return &works
}

func (b busy) Reach(context.Context) (*Executor, error) {
	return &Executor{Connection: &Connection{Temporal: answering{view: b.view}}, Process: 1}, nil
}

// answering is the server of a process that executes every run.
type answering struct {
	sdk.Client
	view workflows.View
}

func (answering) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{Identity: "1@a"}}}, nil
}

func (answering) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
	}, nil
}

func (a answering) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(a.view)
	return sdk.NewValue(payloads), err
}

func (answering) UpdateWorkflow(context.Context, sdk.UpdateWorkflowOptions) (sdk.WorkflowUpdateHandle, error) {
	return nil, temporal.NewApplicationError("it is about to end", "")
}

func (busy) Session(context.Context, Purpose) (*Session, error) {
	return nil, &Error{Kind: Busy, Message: "process 1 executes runs"}
}

func (answering) Close() {}

func requireKind(t *testing.T, want Kind, err error) {
	t.Helper()
	failed, ok := errors.AsType[*Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, want, failed.Kind)
}

// fiveRuns returns a log with the runs r0 to r4, begun in this order; r4 is complete, and all others go on.
func fiveRuns(t *testing.T) *landscape.Log {
	t.Helper()
	moment := time.Unix(0, 0)
	log := landscape.New(blank.New(t), func() time.Time { moment = moment.Add(time.Second); return moment })
	for i := range 5 {
		s := landscapetest.Scene{Run: fmt.Sprint("r", i), Chunks: 2, ChunkRows: 10}
		if i == 4 {
			require.NoError(t, s.Play(t.Context(), log))
			continue
		}
		require.NoError(t, s.Begin(t.Context(), log))
	}
	return log
}

func TestRuns(t *testing.T) {
	c := New(fiveRuns(t), "memory", nobody{})
	runs, total, err := c.Runs(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 5, total)
	require.Equal(t, []string{"r4", "r3"}, []string{runs[0].ID, runs[1].ID})
	require.Nil(t, runs[0].Alive, "it is complete")
	require.False(t, runs[0].Dead())
	require.True(t, runs[1].Dead())
	took, known := runs[0].Took()
	require.True(t, known)
	require.InDelta(t, took.Seconds(), runs[0].Seconds, 0)
	_, known = runs[1].Took()
	require.False(t, known)
	all, _, err := c.Runs(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, all, 5)
}

func TestFind(t *testing.T) {
	c := New(fiveRuns(t), "memory", nobody{})
	for word, want := range map[string]string{"r3": "r3", pipeline.LastRun: "r4"} {
		run, err := c.Find(t.Context(), word)
		require.NoError(t, err)
		require.Equal(t, want, run.ID)
	}
	_, err := c.Find(t.Context(), "r")
	requireKind(t, Invalid, err)
	_, err = c.Find(t.Context(), "x")
	requireKind(t, NotFound, err)
	require.ErrorIs(t, err, landscape.ErrNotFound)
	require.EqualError(t, err, `no run "x" is recorded in memory`)
	_, err = New(landscape.New(blank.New(t), nil), "memory", nobody{}).Find(t.Context(), pipeline.LastRun)
	requireKind(t, NotFound, err)
}

func TestStatus(t *testing.T) {
	log := fiveRuns(t)
	complete, err := New(log, "memory", nobody{}).Status(t.Context(), "r4")
	require.NoError(t, err)
	require.EqualValues(t, 20, complete.Rows)
	require.EqualValues(t, 20, complete.Passed)
	require.NotEmpty(t, complete.Sinks)
	require.Empty(t, complete.Advice.Cures)
	require.Equal(t, []string{landscapetest.Source}, complete.Sources())

	dead, err := New(log, "memory", nobody{}).Status(t.Context(), "r0")
	require.NoError(t, err)
	require.Equal(t, []Cure{Resume}, dead.Advice.Cures)

	going, err := New(log, "memory", busy{view: workflows.View{}}).Status(t.Context(), "r0")
	require.NoError(t, err)
	require.Empty(t, going.Advice.Cures)
	require.Nil(t, going.Paused)

	require.NoError(t, log.RecordAction(t.Context(), "r0", landscape.VerbPause, "ann", "lunch"))
	paused, err := New(log, "memory", held{}).Status(t.Context(), "r0") // nobody is asked
	require.NoError(t, err)
	require.NotNil(t, paused.Paused)
	require.Equal(t, "ann: lunch", paused.Paused.Actor+": "+paused.Paused.Why)
	require.Equal(t, []Cure{Resume}, paused.Advice.Cures)
}

func TestAdviceAfterFailure(t *testing.T) {
	log := fiveRuns(t)
	rows := landscape.RowsText([]plugin.RequestRows{{Source: "orders", Rows: 1}})
	require.NoError(t, log.Accept(t.Context(), landscape.Start{
		Run: "asked", Pipeline: "orders", Params: `{}`, Actor: "shop", Trigger: activities.TriggerAPI,
		Workflow: "run-asked", Rows: rows,
	}))
	require.NoError(t, landscapetest.Scene{Run: "asked"}.Begin(t.Context(), log))
	var arrived, retry, forked, asked landscape.Run
	arrived.Trigger, asked.ID = activities.TriggerArrival, "asked"
	retry.Link, forked.Link = landscape.RetryLink, landscape.ForkLink
	for other, run := range map[Cure]landscape.Run{GiveUp: arrived, CancelFinal: retry, Fork: forked, SendAgain: asked} {
		for reason, want := range map[string][]Cure{
			"source in: EMPTY_SOURCE: in.csv (the cure takes a new run)": {other},
			"sink out: TARGET_GONE: the disk is away":                    {Mend},
			"sink out: TARGET_CHANGED: it has 7 bytes instead of 9":      {Restore, other},
		} {
			want = slices.DeleteFunc(want, func(c Cure) bool { return c == CancelFinal && len(want) > 1 })
			run.Reason = reason
			cures, err := New(log, "memory", nobody{}).afterFailure(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, want, cures, "%s: %s", other, reason)
		}
	}
	require.NoError(t, log.StopRun(t.Context(), "r0", pipeline.Failed, "sink out: TARGET_GONE: the disk is away"))
	status, err := New(log, "memory", nobody{}).Status(t.Context(), "r0")
	require.NoError(t, err)
	require.Equal(t, []Cure{Mend}, status.Advice.Cures)
}

// TestAdviceAfterBlocked: a policy can be waived, and another run can do the work with a mended document. None can for
// one that retries rows.
func TestAdviceAfterBlocked(t *testing.T) {
	policies := []Policy{
		{Name: "few refused", Gate: pipeline.GatePublish, Result: landscape.PolicyFailed}, {Name: "many", Gate: pipeline.GateWarn, Result: landscape.PolicyFailed},
		{Name: "waived", Gate: pipeline.GatePublish, Result: landscape.PolicyWaived}, {Name: "asked", Gate: pipeline.GatePublish},
		{Name: pipeline.SignOffPolicy + "owner", Gate: pipeline.GatePublish, Result: landscape.PolicyFailed},
	}
	for _, other := range []Cure{Fork, GiveUp, SendAgain} {
		advice := waivable(policies, other)
		require.Equal(t, Advice{Cures: []Cure{WaivePolicy, other}, Policies: []string{"few refused"}}, advice)
	}
	require.Equal(t, []Cure{WaivePolicy}, waivable(policies, CancelFinal).Cures)
}

// TestInterruptedUnnoticed holds that nobody says how long a run took whose process ended without recording it.
func TestInterruptedUnnoticed(t *testing.T) {
	log := fiveRuns(t)
	require.NoError(t, log.StopRun(t.Context(), "r0", pipeline.Interrupted, ProcessEnded))
	require.NoError(t, log.StopRun(t.Context(), "r1", pipeline.Interrupted, "interrupted by ann: lunch"))
	runs, _, err := New(log, "memory", nobody{}).Runs(t.Context(), 0)
	require.NoError(t, err)
	for _, run := range runs {
		_, known := run.Took()
		require.Equal(t, run.ID == "r1" || run.ID == "r4", known, run.ID)
	}
}

func TestTimeInJSON(t *testing.T) {
	text, err := json.Marshal(Run{Started: 1_500_000})
	require.NoError(t, err)
	require.Contains(t, string(text), `"started":"1970-01-01T00:00:01.5Z"`)
	require.NotContains(t, string(text), "finished")
	text, err = json.Marshal(Run{})
	require.NoError(t, err)
	require.Contains(t, string(text), `"started":null`)
}

// TestCancelBeforeItBegins: a start that waits is called off, with who and why; one whose run has begun is not.
func TestCancelBeforeItBegins(t *testing.T) {
	log := fiveRuns(t)
	require.NoError(t, log.Accept(t.Context(), landscape.Start{Run: "later", Pipeline: "p", Params: "{}", Workflow: "run-later"}))
	c := New(log, "memory", nobody{})
	for word, run := range map[string]string{"later": "later", "run-later": "later", "lat": "later", "nobody": "nobody"} {
		named, err := c.StartedAs(t.Context(), word)
		require.NoError(t, err)
		require.Equal(t, run, named)
	}
	_, err := c.CancelWaiting(t.Context(), "later", By{Actor: "ann"})
	requireKind(t, Invalid, err)
	cancelled, err := c.CancelWaiting(t.Context(), "later", By{Actor: "ann", Why: "not today"})
	require.NoError(t, err)
	require.True(t, cancelled)
	start, err := log.LastStart(t.Context(), "later")
	require.NoError(t, err)
	require.Equal(t, landscape.StartCancelled, start.State)
	require.Equal(t, "cancelled by ann: not today", start.Reason)
	require.ErrorIs(t, landscapetest.Scene{Run: "later", Chunks: 1, ChunkRows: 1}.Begin(t.Context(), log), landscape.ErrCalledOff)
	for _, run := range []string{"later", "r0", "nobody"} {
		cancelled, err = c.CancelWaiting(t.Context(), run, By{Actor: "ann", Why: "again"})
		require.NoError(t, err)
		require.False(t, cancelled, run)
	}
}

// ending is a host that executes no run, because it ends each before it answers.
type ending struct {
	nobody
	log *landscape.Log
}

func (e ending) Executes(ctx context.Context, run string) *bool {
	if err := e.log.StopRun(ctx, run, pipeline.Cancelled, "it was time"); err != nil {
		panic(err)
	}
	return new(bool)
}

// TestARunThatEndsIsNotDead: a run that ends while it is asked whether somebody executes it has ended, and is not one
// that was left alone.
func TestARunThatEndsIsNotDead(t *testing.T) {
	log := fiveRuns(t)
	c := New(log, "memory", ending{log: log})
	status, err := c.Status(t.Context(), "r1")
	require.NoError(t, err)
	require.Equal(t, pipeline.Cancelled, status.Status)
	require.False(t, status.Dead())
	require.NotNil(t, status.Advice.Cures)
	var seen []pipeline.RunStatus
	_, err = c.RunsAfter(t.Context(), "", func(run *Run) (bool, error) {
		require.False(t, run.Dead(), run.ID)
		seen = append(seen, run.Status)
		return true, nil
	})
	require.NoError(t, err)
	require.Equal(t, []pipeline.RunStatus{
		"completed_with_failures", "cancelled", "cancelled", "cancelled", "cancelled",
	}, seen)
}
