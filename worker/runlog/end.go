package runlog

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"

	"waymark/activities"
)

// ClientOptions lets workers of a client record what was logged about a run before they record its end: so the seal of the run binds it.
func (k *Keeper) ClientOptions(o *client.Options) {
	o.Interceptors = append(o.Interceptors, &ends{keeper: k})
}

type ends struct {
	interceptor.InterceptorBase
	keeper *Keeper
}

// InterceptActivity is called for each activity.
func (e *ends) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &ending{keeper: e.keeper}
	i.Next = next
	return i
}

type ending struct {
	interceptor.ActivityInboundInterceptorBase
	keeper *Keeper
}

// ExecuteActivity lets the activity be done. What cannot be recorded before the end is recorded after it.
func (e *ending) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if len(in.Args) == 1 {
		switch of := in.Args[0].(type) {
		case activities.FinishInput:
			_ = e.keeper.record(ctx, of.Run, true)
		case activities.StopInput:
			_ = e.keeper.record(ctx, of.Run, true)
		}
	}
	return e.Next.ExecuteActivity(ctx, in)
}
