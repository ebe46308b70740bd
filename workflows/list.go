package workflows

import (
	"reflect"
	"slices"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// ListInput asks which pipelines can be started by name.
type ListInput struct {
	activities.ListInput

	faults faults // what is wrong with the input as it was written
}

var listForm = form{"input", `{} or {"after": "NAME"}`, "after"}

// UnmarshalJSON reads an input, and keeps what is wrong with it.
func (in *ListInput) UnmarshalJSON(text []byte) error {
	*in = ListInput{}
	return in.faults.read(listForm, "", text, reflect.ValueOf(in).Elem())
}

// ListPipelines is a workflow of one activity, for programs that know of Waymark what Temporal tells them: it lists the
// pipelines that can be started by name, with their parameters.
func ListPipelines(ctx workflow.Context, in ListInput, second converter.RawValue) (list activities.PipelineList, err error) {
	in.faults.more(second)
	if wrong := slices.Concat(in.faults.values, in.faults.keys); len(wrong) > 0 {
		return list, invalid(wrong)
	}
	policy := *retryPolicy()
	policy.MaximumAttempts = refusalAttempts
	ctx = workflow.WithRetryPolicy(withActivity(ctx, "list the pipelines"), policy)
	err = workflow.ExecuteActivity(ctx, act.ListPipelines, in.ListInput).Get(ctx, &list)
	return list, err
}
