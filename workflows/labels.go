package workflows

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/internal/temporal/attributes"
	"waymark/internal/temporal/belonging"
	"waymark/landscape"
	"waymark/pipeline"
)

// What Temporal shows of a run follows from its record, and not the other way round: it is for people and queries. A
// namespace need not have the search attributes. To set one that it does not have would keep the workflow from
// continuing, so each is set only if an activity found just before that it is there.

var (
	pipelineKey    = temporal.NewSearchAttributeKeyKeyword(attributes.Pipeline)
	environmentKey = temporal.NewSearchAttributeKeyKeyword(attributes.Environment)
	statusKey      = temporal.NewSearchAttributeKeyKeyword(attributes.Status)
	triggerKey     = temporal.NewSearchAttributeKeyKeyword(attributes.Trigger)
	tagsKey        = temporal.NewSearchAttributeKeyKeywordList(attributes.Tags)
	readKey        = temporal.NewSearchAttributeKeyInt64(attributes.RowsRead)
	refusedKey     = temporal.NewSearchAttributeKeyInt64(attributes.RowsRefused)
)

// shown sets search attributes: each that the namespace has.
type shown struct {
	has     []string
	updates []temporal.SearchAttributeUpdate
}

func (s *shown) add(name string, update temporal.SearchAttributeUpdate) {
	if slices.Contains(s.has, name) {
		s.updates = append(s.updates, update)
	}
}

func (s *shown) word(key temporal.SearchAttributeKeyKeyword, value string) {
	if value != "" {
		s.add(key.GetName(), key.ValueSet(attributes.Value(value)))
	}
}

func (s *shown) set(ctx workflow.Context) {
	if len(s.updates) == 0 {
		return
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, s.updates...); err != nil {
		workflow.GetLogger(ctx).Error("search attributes cannot be set", "error", err)
	}
}

// showRun shows of which pipeline a run is, who wants it, and its state. From then on the workflow belongs to the landscape of the worker that said so.
func showRun(ctx workflow.Context, run string, labels activities.Labels, status string) {
	s := shown{has: labels.Attributes}
	s.run(run, labels, status)
	s.set(ctx)
	belonging.Set(ctx, labels.Landscape)
	note(ctx, run, labels)
}

// note keeps what is known of a run in its workflow's memo: nothing, if its record could not be asked.
func note(ctx workflow.Context, run string, labels activities.Labels) {
	if labels.Trigger == "" {
		return
	}
	memo := Memo{
		Run: run, Pipeline: labels.Pipeline, Environment: labels.Environment, Version: labels.Version, Document: labels.Document, Trigger: labels.Trigger,
		Actor: labels.Actor, Landscape: labels.Landscape,
	}
	if err := workflow.UpsertMemo(ctx, map[string]any{MemoKey: memo}); err != nil {
		workflow.GetLogger(ctx).Error("the memo cannot be set", "error", err)
	}
}

func (s *shown) run(run string, labels activities.Labels, status string) {
	s.word(pipelineKey, labels.Pipeline)
	s.word(environmentKey, labels.Environment)
	s.word(triggerKey, labels.Trigger)
	s.word(statusKey, status)
	tags := []string{attributes.TagRun + attributes.Value(run)}
	if labels.Document != "" {
		tags = append(tags, attributes.TagDocument+labels.Document)
	}
	if labels.Version != 0 {
		tags = append(tags, attributes.TagVersion+strconv.FormatInt(labels.Version, 10))
	}
	if labels.Actor != "" {
		tags = append(tags, attributes.TagActor+attributes.Value(labels.Actor))
	}
	s.add(attributes.Tags, tagsKey.ValueSet(tags))
}

// showStatus shows that a run is in another state.
func showStatus(ctx workflow.Context, labels activities.Labels, status string) {
	s := shown{has: labels.Attributes}
	s.word(statusKey, status)
	s.set(ctx)
}

// showEnd shows how a run ended.
func showEnd(ctx workflow.Context, labels activities.Labels, status string, result RunResult) {
	s := shown{has: labels.Attributes}
	s.word(statusKey, status)
	s.rows(result)
	s.set(ctx)
}

func (s *shown) rows(result RunResult) {
	s.add(attributes.RowsRead, readKey.ValueSet(result.Rows))
	s.add(attributes.RowsRefused, refusedKey.ValueSet(result.Refused))
}

// showStart shows of a workflow that starts another one for its run what that one shows: at its beginning as far as it
// is known, and when the run has ended.
func showStart(ctx workflow.Context, in RunInput, start func(*proxy, workflow.Context) (RunResult, error)) (RunResult, error) {
	p := newProxy(in)
	if err := p.listen(ctx); err != nil {
		return RunResult{}, err
	}
	showRun(ctx, in.Run, labelStart(ctx, in), string(pipeline.Running))
	result, err := start(p, ctx)
	if workflow.IsContinueAsNewError(err) {
		return result, cmp.Or(awaitHandlers(ctx), err)
	}
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	labels := labelStart(ctx, in)
	status := endOf(labels, err)
	if problem, ok := cancelledBeneath(err); ok {
		result.Reason, err = problem.Detail, temporal.NewCanceledError(problem)
	}
	p.end(ctx, cmp.Or(status, string(result.Status), string(pipeline.Failed)), result, err)
	if handled := awaitHandlers(ctx); err == nil {
		err = handled
	}
	s := shown{has: labels.Attributes}
	s.run(in.Run, labels, status)
	if err == nil && result.Run == in.Run { // one that it joined shows its own
		s.rows(result)
	}
	s.set(ctx)
	return result, err
}

// labelAttempts bounds for how long a run waits for what Temporal is to show of its start: not at all, if that cannot
// be found out.
const labelAttempts = 2

// labelStart returns what Temporal is to show of a workflow that starts another one for its run; nothing if that cannot
// be found out.
func labelStart(ctx workflow.Context, in RunInput) activities.Labels {
	policy := *retryPolicy()
	policy.MaximumAttempts = labelAttempts
	ctx = workflow.WithRetryPolicy(withActivity(ctx, "what Temporal shows of the start"), policy)
	var labelled activities.Labelled
	if err := workflow.ExecuteActivity(ctx, act.LabelStart, activities.LabelInput{Run: in.Run, Pipeline: in.Pipeline}).Get(ctx, &labelled); err != nil {
		workflow.GetLogger(ctx).Warn("what Temporal is to show of the start is unknown", "run", in.Run, "error", err)
	}
	return labelled.Labels
}

// endOf returns how a start ended: refused if the run is not the one that was asked for, else as its record says.
func endOf(labels activities.Labels, err error) string {
	if k := kind(err); k == activities.TypeExists || k == TypeKeyReused {
		return attributes.Refused
	}
	switch {
	case err != nil && labels.Status == string(pipeline.Running): // its workflow was closed, and that is not recorded yet
		return string(pipeline.Interrupted)
	case err != nil && labels.Status == string(landscape.StartWaiting): // the same
		return attributes.Refused
	}
	return labels.Status
}

// cancelledBeneath returns the Problem of the workflow of a run that was cancelled in Temporal: by whom, and why.
func cancelledBeneath(err error) (problem activities.Problem, ok bool) {
	var canceled *temporal.CanceledError
	if _, beneath := errors.AsType[*temporal.ChildWorkflowExecutionError](err); !beneath || !errors.As(err, &canceled) {
		return problem, false
	}
	return problem, canceled.HasDetails() && canceled.Details(&problem) == nil && problem.Type == activities.TypeCancelled
}
