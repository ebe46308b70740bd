// Package belonging lets work that goes through Temporal carry the id of the landscape to which it belongs, so that a worker with another landscape
// leaves it to others. What carries none belongs to the landscape of the worker that begins it.
package belonging

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// header is the key of the header that has the id, which is not encrypted. Stored in histories; never rename.
const header = "waymark-landscape"

type key struct{}

// With returns a context for clients and activities whose work belongs to the landscape with the id.
func With(ctx context.Context, id string) context.Context {
	if id == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, id)
}

// of returns the id of the landscape to which the work in a context belongs; "" if it says none.
func of(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// holder has the id of the landscape to which a workflow belongs: one for all of its contexts.
type holder struct{ id string }

// Set says to which landscape a workflow belongs, as soon as that is known: what it schedules from then on does. It does nothing if its worker
// has no Propagator.
func Set(ctx workflow.Context, id string) {
	if held, ok := ctx.Value(key{}).(*holder); ok && id != "" {
		held.id = id
	}
}

// Propagator is what clients and workers need so that work carries the id.
type Propagator struct{}

var _ workflow.ContextPropagator = Propagator{}

// Inject writes the id that the context of a client has.
func (Propagator) Inject(ctx context.Context, to workflow.HeaderWriter) error {
	return write(to, of(ctx))
}

// InjectFromWorkflow writes the id that a workflow has.
func (Propagator) InjectFromWorkflow(ctx workflow.Context, to workflow.HeaderWriter) error {
	if held, ok := ctx.Value(key{}).(*holder); ok {
		return write(to, held.id)
	}
	return nil
}

// Extract reads the id for an activity.
func (Propagator) Extract(ctx context.Context, from workflow.HeaderReader) (context.Context, error) {
	return With(ctx, read(from)), nil
}

// ExtractToWorkflow reads the id for a workflow. An order or a query that comes to it changes nothing.
func (Propagator) ExtractToWorkflow(ctx workflow.Context, from workflow.HeaderReader) (workflow.Context, error) {
	if _, ok := ctx.Value(key{}).(*holder); ok {
		return ctx, nil
	}
	return workflow.WithValue(ctx, key{}, &holder{read(from)}), nil
}

func write(to workflow.HeaderWriter, id string) error {
	if id == "" {
		return nil
	}
	value, err := converter.GetDefaultDataConverter().ToPayload(id)
	if err == nil {
		to.Set(header, value)
	}
	return err
}

// read returns the id that a header has. Something else than an id, which anybody who starts workflows may write, is none.
func read(from workflow.HeaderReader) (id string) {
	value, ok := from.Get(header)
	if !ok || converter.GetDefaultDataConverter().FromPayload(value, &id) != nil {
		return ""
	}
	return id
}

// Guard keeps work of other landscapes from the activities of a worker: it goes back, and another worker gets it.
type Guard struct {
	interceptor.WorkerInterceptorBase
	ID    string                         // of the worker's landscape
	Other func(workflow string, e error) // is told of each task that goes back, by the id of its workflow
}

// InterceptActivity is called for each activity.
func (g *Guard) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &guarded{interceptor.ActivityInboundInterceptorBase{Next: next}, g}
}

type guarded struct {
	interceptor.ActivityInboundInterceptorBase
	guard *Guard
}

// ExecuteActivity fails for work of another landscape, so that it is tried again.
func (a *guarded) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if id := of(ctx); id != "" && id != a.guard.ID {
		err := &OtherError{ID: a.guard.ID, Of: id}
		a.guard.Other(activity.GetInfo(ctx).WorkflowExecution.ID, err)
		return nil, err
	}
	return a.Next.ExecuteActivity(ctx, in)
}

// OtherError says that work belongs to another landscape than that of the worker to which it came.
type OtherError struct{ ID, Of string }

// Error names both.
func (e *OtherError) Error() string {
	return fmt.Sprintf("the run is recorded in the landscape %s, and this worker has the landscape %s: workers of a queue must all have the same", e.Of, e.ID)
}
