package workflows

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// desk answers questions about a run and takes orders to it, from before the run is opened. An order that comes before it is known who obeys
// waits until that is.
type desk struct {
	run    string
	to     taker  // nil while the run is being opened
	closed error  // why nobody ever obeys; nil while somebody does, or may
	why    string // the same for questions
	ended  string // what became of a run that did not begin; empty if it did, or may
}

// taker obeys orders: a run that waits for places, or one that has begun.
type taker interface {
	view() View
	refuses(name string) error // why an order of this name is not obeyed now; nil if it is
	obey(ctx workflow.Context, name string, command Command) error
}

// close refuses all orders from now on, also those that wait: no run begins. The first cause counts.
func (d *desk) close(cause error) {
	if d.closed != nil {
		return
	}
	d.closed = failure(cmp.Or(kind(cause), activities.TypeOrderRefused), "run %s did not begin: %s", d.run, reason(cause))
	d.why = activities.BeforeRun(reason(cause))
}

// listen answers questions and takes orders from now on.
func (d *desk) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, func() (View, error) { return d.view(), nil }); err != nil {
		return err
	}
	for _, name := range []string{PauseUpdate, ContinueUpdate, CancelUpdate} {
		take := func(ctx workflow.Context, command Command) error { return d.take(ctx, name, command) }
		err := workflow.SetUpdateHandlerWithOptions(ctx, name, take, workflow.UpdateHandlerOptions{
			Validator: func(command Command) error {
				if err := d.refuses(name); err != nil {
					return err
				}
				return command.validate(name)
			},
			Description: "puts the order on record, then obeys it",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *desk) view() View {
	if d.to == nil || d.ended != "" {
		return View{Run: d.run, Workflow: WorkflowID(d.run), Status: cmp.Or(d.ended, accepted), Reason: d.why}
	}
	return d.to.view()
}

func (d *desk) refuses(name string) error {
	if d.closed != nil || d.to == nil {
		return d.closed
	}
	return d.to.refuses(name)
}

// take has an order obeyed. One that had to wait may be refused only now.
func (d *desk) take(ctx workflow.Context, name string, command Command) (err error) {
	defer stopped(&err)
	if d.to == nil {
		if err := workflow.Await(ctx, func() bool { return d.to != nil || d.closed != nil }); err != nil {
			return err
		}
		if err := d.refuses(name); err != nil {
			return err
		}
	}
	return d.to.obey(ctx, name, command)
}
