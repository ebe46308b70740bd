package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/temporal/attributes"
	"waymark/pipeline"
)

// scheduledStart is the search attribute by which Temporal says for which time a schedule started a workflow.
var scheduledStart = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// name gives the run an id if it has none, and reports whether it has to become a workflow of its own: under the id of runs Temporal has
// one open workflow at most, and a search for the run finds it there. A workflow that is retried or reset means the same run.
func (in *RunInput) name(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	if fired, scheduled := workflow.GetTypedSearchAttributes(ctx).GetTime(scheduledStart); scheduled && in.State == nil {
		in.Scheduled = fired.UTC().Format(time.RFC3339)
	}
	if in.Run == "" && in.Key != "" {
		in.Run = activities.RunOfKey(in.Pipeline, in.Key)
	}
	if in.State != nil || in.Resume != nil || in.Run != "" && info.WorkflowExecution.ID == WorkflowID(in.Run) {
		return false
	}
	if in.Run == "" {
		in.Run = idOf(info)
	}
	return true
}

// idOf returns the id of a run that nobody gave one.
func idOf(info *workflow.Info) string {
	if info.CronSchedule != "" {
		return info.OriginalRunID // of this time; the first is that of all times
	}
	return cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID)
}

// startNamed starts the workflow of a run that was started by another name, by a person, a program or a schedule, and waits for its end.
// If this workflow is terminated, the run continues.
func (p *proxy) startNamed(ctx workflow.Context) (RunResult, error) {
	result, err := p.startChild(ctx)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		err = failure(activities.TypeExists, "RUN_EXISTS: run %s is worked for by workflow %s, which is open: wait for its end, or give the new run another id",
			p.in.Run, p.view.Workflow)
		return result, refuse(ctx, p.in, err)
	}
	return result, err
}

func (p *proxy) startChild(ctx workflow.Context) (RunResult, error) {
	in := p.in
	options := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: WorkflowID(in.Run), WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON, WaitForCancellation: true,
		StaticSummary: Summary(in.Pipeline, in.Run), StaticDetails: Details(in.Pipeline, in.Run, in.Params), Memo: MemoOf(in.Pipeline, in.Run),
	})
	child := workflow.ExecuteChildWorkflow(options, RunPipelineName, in)
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err == nil {
		p.begin(ctx)
	}
	var result RunResult
	err := child.Get(ctx, &result)
	if closed := howClosed(err); closed != "" {
		return p.resumed(ctx, closed)
	}
	return result, err
}

// resumed waits for the end of a run whose workflow was closed, as closed says. Who resumes a run without a server closes it, and starts
// another one. As long as the record says that the run is running, somebody may.
func (p *proxy) resumed(ctx workflow.Context, closed string) (RunResult, error) {
	result, err := joined(ctx, p.in.Run)
	if kind(err) == TypeRunFailed {
		err = failure(TypeRunFailed, "run %s stopped: %s; waymark status %[1]s says how to continue", p.in.Run, closed)
	}
	return result, err
}

// howClosed says how somebody closed the workflow of a run, so that it could not say itself how it ended; empty if nobody did.
func howClosed(err error) string {
	if _, inside := errors.AsType[*temporal.ActivityError](err); inside {
		return "" // it said so
	}
	if _, timedOut := errors.AsType[*temporal.TimeoutError](err); timedOut {
		return "its workflow took longer than Temporal was told to let it"
	}
	if _, terminated := errors.AsType[*temporal.TerminatedError](err); terminated {
		return "its workflow was terminated in Temporal"
	}
	return ""
}

// beginning returns what the execution begins; nil if it continues with a run.
func (in *RunInput) beginning() *activities.OpenInput {
	if in.State != nil || in.Resume != nil {
		return nil
	}
	return &in.OpenInput
}

// refusalAttempts bounds for how long somebody waits to be told what is wrong with an input, while that cannot be recorded: a few seconds.
const refusalAttempts = 5

// refuse records that no run comes of an input, unless that was to continue with a run, and returns why, also if it cannot be recorded. The id of a
// run that makes no sense is replaced by one that Temporal knows.
func refuse(ctx workflow.Context, in RunInput, cause error) error {
	if in.beginning() == nil {
		return cause
	}
	if pipeline.CheckRunID(in.Run) != nil {
		in.Run = idOf(workflow.GetInfo(ctx))
	}
	refused := activities.RefuseInput{Begin: in.OpenInput, Refusal: kind(cause), Reason: reason(cause), Joiners: joiners(ctx, in.State)}
	policy := *retryPolicy()
	policy.MaximumAttempts = refusalAttempts
	ctx = workflow.WithRetryPolicy(withActivity(ctx, "record the refusal"), policy)
	var labelled activities.Labelled
	if err := workflow.ExecuteActivity(ctx, act.RefuseStart, refused).Get(ctx, &labelled); err != nil {
		workflow.GetLogger(ctx).Error("a refused start could not be recorded", "run", in.Run, "refusal", refused.Reason, "error", err)
	}
	showRun(ctx, in.Run, labelled.Labels, attributes.Refused)
	in.detailEnd(ctx, attributes.Refused, refused.Reason)
	return cause
}
