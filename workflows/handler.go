package workflows

import (
	"cmp"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
)

// commandHandler answers questions about a run and takes commands to it, from before the run is opened. A command that
// arrives before the run is open waits until it is.
type commandHandler struct {
	run    string
	to     commandTarget // nil while the run is being opened
	closed error         // why no command is obeyed any more; nil before that
	why    string        // the same for questions
	ended  string        // how a run ended that did not begin; empty if it did, or may
}

// commandTarget obeys commands: a run that waits for places, or one that has begun.
type commandTarget interface {
	view() View
	refuses(name string) error // why a command of this name is not obeyed now; nil if it is
	obey(ctx workflow.Context, name string, command Command) error
}

// close refuses all commands from now on, also those that wait: no run begins. The first cause counts.
func (h *commandHandler) close(cause error) {
	if h.closed != nil {
		return
	}
	h.closed = failure(cmp.Or(kind(cause), activities.TypeCommandRefused), "run %s did not begin: %s", h.run, reason(cause))
	h.why = activities.BeforeRun(reason(cause))
}

// listen answers questions and takes commands from now on.
func (h *commandHandler) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, ProgressQuery, func() (View, error) { return h.view(), nil }); err != nil {
		return err
	}
	for _, name := range []string{PauseUpdate, ContinueUpdate, CancelUpdate} {
		take := func(ctx workflow.Context, command Command, _ converter.RawValue) error {
			return h.handle(ctx, name, command)
		}
		err := workflow.SetUpdateHandlerWithOptions(ctx, name, take, workflow.UpdateHandlerOptions{
			Validator: func(command Command, second converter.RawValue) error {
				command.faults.more(second)
				if err := h.refuses(name); err != nil {
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

func (h *commandHandler) view() View {
	if h.to == nil || h.ended != "" {
		return View{Run: h.run, Workflow: WorkflowID(h.run), Status: cmp.Or(h.ended, accepted), Reason: h.why}
	}
	return h.to.view()
}

func (h *commandHandler) refuses(name string) error {
	if h.closed != nil || h.to == nil {
		return h.closed
	}
	return h.to.refuses(name)
}

// handle has a command obeyed. One that had to wait may be refused only now.
func (h *commandHandler) handle(ctx workflow.Context, name string, command Command) (err error) {
	defer stopped(&err)
	if h.to == nil {
		if err := workflow.Await(ctx, func() bool { return h.to != nil || h.closed != nil }); err != nil {
			return err
		}
		if err := h.refuses(name); err != nil {
			return err
		}
	}
	return h.to.obey(ctx, name, command)
}
