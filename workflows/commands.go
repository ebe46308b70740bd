package workflows

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/pipeline"
)

// Command is a command to a running run, from a person or a program.
type Command struct {
	Actor string `json:"actor"`
	Why   string `json:"why"`
	// As is how a run that is cancelled ends: pipeline.Cancelled, the default, or pipeline.Interrupted.
	As pipeline.RunStatus `json:"as,omitempty"`
	// Final says that nobody may resume the cancelled run. What it staged is removed.
	Final bool `json:"final,omitempty"`

	faults faults // what is wrong with the order as it was written
}

// maxOrderBytes bounds an order: it travels through workflow history several times.
const maxOrderBytes = 64 << 10

// UnmarshalJSON reads an order, and keeps what is wrong with it: the sender gets a message.
func (c *Command) UnmarshalJSON(text []byte) error {
	*c = Command{}
	if len(text) > maxOrderBytes {
		says := fmt.Sprintf("the order has %d bytes: write at most %d", len(text), maxOrderBytes)
		c.faults.values = []fault{{"", codeInvalid, says}}
		return nil
	}
	return c.faults.read(commandForm, "", text, reflect.ValueOf(c).Elem())
}

// validate returns why nobody obeys the order of this name; nil if somebody does.
func (c *Command) validate(name string) error {
	wrong := slices.Concat(c.faults.values, c.faults.keys)
	if len(c.faults.values) == 0 {
		if strings.TrimSpace(c.Actor) == "" {
			wrong = append(wrong, fault{"/actor", codeMissing, "the order does not say who gives it: actor"})
		}
		if strings.TrimSpace(c.Why) == "" {
			wrong = append(wrong, fault{"/why", codeMissing, "the order does not say why, for the record: why"})
		}
		if name != CancelUpdate && (c.As != "" || c.Final) {
			wrong = append(wrong, fault{"", codeInvalid, "as and final are for cancel"})
		}
		if !slices.Contains([]pipeline.RunStatus{"", pipeline.Cancelled, pipeline.Interrupted}, c.As) {
			wrong = append(wrong, fault{"/as", codeInvalid, fmt.Sprintf("the order's as is %.64q: write %s or %s", c.As, pipeline.Cancelled, pipeline.Interrupted)})
		}
		if c.Final && c.As == pipeline.Interrupted {
			wrong = append(wrong, fault{"/final", codeInvalid, "a run that is interrupted can be resumed: it is not final"})
		}
	}
	if wrong == nil {
		return nil
	}
	return faulty(activities.TypeCommand, wrong)
}

// cancelGrace is how long work in flight when a run is cancelled may take to be finished. Whatever is not is done again
// when the run is resumed.
const cancelGrace = time.Second

// refused rejects an order that makes sense.
func refused(format string, args ...any) error {
	return failure(activities.TypeCommandRefused, format, args...)
}

// Sentence says for the record who cancelled the run, and why.
func (c Command) Sentence() string {
	word := "cancelled"
	if c.As == pipeline.Interrupted {
		word = "interrupted"
	}
	return fmt.Sprintf("%s by %s: %s", word, cmp.Or(c.Actor, "somebody"), cmp.Or(c.Why, "no reason given"))
}

// verb is the word for the order, which was given under the name, in the record.
func (c Command) verb(name string) string {
	switch {
	case c.Final:
		return activities.CancelForGood
	case c.As == pipeline.Interrupted:
		return activities.Interrupt
	default:
		return name
	}
}

// refuses all orders that come too late.
func (f *flow) refuses(string) error {
	switch {
	case f.cancelled != nil:
		return refused("run %s is being stopped: %s", f.id, f.cancelled.Sentence())
	case f.publishing:
		return refused("everything went through the steps, and the outputs are being published: the run ends by itself")
	}
	return nil
}

// idle reports whether what an order of this name asks for is so already.
func (f *flow) idle(name string) bool {
	return name == PauseUpdate && f.state.Paused != nil || name == ContinueUpdate && f.state.Paused == nil
}

// obey puts an order on record before it counts. An order that asks for what is so already changes nothing, and is not
// recorded.
func (f *flow) obey(ctx workflow.Context, name string, command Command) error {
	if f.idle(name) {
		return nil
	}
	action := activities.ActionInput{
		Run: f.id, Epoch: f.state.Epoch, Verb: command.verb(name), Actor: command.Actor, Why: command.Why, At: workflow.Now(ctx).UnixMicro(),
	}
	var labelled activities.Labelled
	summary := fmt.Sprintf("record: %s by %s", name, command.Actor)
	schedule := func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(ctx, act.RecordAction, action)
	}
	if err := local(ctx, summary, act.RecordAction, action, &labelled, schedule); err != nil {
		return err
	}
	switch name {
	case PauseUpdate:
		f.state.Paused = &command
	case ContinueUpdate:
		f.state.Paused = nil
	case CancelUpdate:
		f.cancel(ctx, command)
	}
	showStatus(ctx, labelled.Labels, f.state.status())
	f.show(ctx)
	return nil
}

// cancel stops the run. Work in flight gets some time to be finished.
func (f *flow) cancel(ctx workflow.Context, command Command) {
	command.As = cmp.Or(command.As, pipeline.Cancelled)
	f.cancelled = &command
	workflow.Go(ctx, func(ctx workflow.Context) {
		if err := workflow.Sleep(ctx, cancelGrace); err == nil {
			f.giveUp()
		}
	})
}

// awaitHandlers waits until all orders that were given are recorded.
func awaitHandlers(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
