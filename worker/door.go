package worker

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/workflows"
	"waymark/workflows/slots"
)

// door lets activities work for the workflows of this program alone. Anybody who reaches Temporal may schedule an
// activity by its name, from a workflow of another type or without any, with every input: what one is asked makes
// sense only from the workflow that decides it.
type door struct {
	interceptor.WorkerInterceptorBase
}

// guarded returns options of a worker whose activities have the door before them.
func guarded(o worker.Options) worker.Options {
	o.Interceptors = append([]interceptor.WorkerInterceptor{&door{}}, o.Interceptors...)
	return o
}

// InterceptActivity puts the door before an activity.
func (*door) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	opened := &opened{}
	opened.Next = next
	return opened
}

// opened is an activity behind the door.
type opened struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity refuses what no workflow of this program asks for. No retry cures that.
func (o *opened) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	var asker string
	if info.WorkflowType != nil {
		asker = info.WorkflowType.Name
	}
	if name := info.ActivityType.Name; asker != askerOf(name) {
		return nil, activities.NotAsked(name, askerOf(name), asker)
	}
	return o.Next.ExecuteActivity(ctx, in)
}

// askerOf returns the type of the workflow that schedules the activity with this name: no other one may. All that are
// not listed are parts of a run.
func askerOf(name string) string {
	switch name {
	case "ListPipelines":
		return workflows.ListPipelinesName
	case "Preflight":
		return workflows.PreflightName
	case slots.TurnName:
		return slots.FiredName
	default:
		return workflows.RunPipelineName
	}
}
