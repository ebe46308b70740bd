package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"waymark/landscape"
)

// What began a run, as its record says. Stored; never rename.
const (
	TriggerCLI      = "cli"      // a person at the command line
	TriggerLibrary  = "library"  // a Go program that uses package client
	TriggerAPI      = "api"      // somebody through the HTTP API
	TriggerSchedule = "schedule" // a schedule of Temporal
	TriggerArrival  = "arrival"  // a trigger of the document, because files arrived
	TriggerWorkflow = "workflow" // a workflow of another program
	TriggerTemporal = "temporal" // anybody else who may start workflows
)

// Waymark is the actor of what the engine does by itself, because a document says so. Stored; never rename.
const Waymark = "waymark"

// Identity returns the name by which Temporal knows who starts a run through a door of this program, TriggerCLI, TriggerLibrary or TriggerAPI: it
// says who did. Stored in histories; never rename.
func Identity(door, user, host string) string { return identityOf(door) + user + "@" + host }

func identityOf(door string) string { return "waymark-" + door + ":" }

// doorOf returns the door and the user of an identity; no door for an identity that none of ours has.
func doorOf(identity string) (door, user string) {
	for _, door := range []string{TriggerCLI, TriggerLibrary, TriggerAPI} {
		user, ours := strings.CutPrefix(identity, identityOf(door))
		if at := strings.LastIndexByte(user, '@'); ours && at > 0 {
			return door, user[:at]
		} else if ours {
			return door, user
		}
	}
	return "", identity
}

// origin is what Temporal knows of how an execution began. An input says nothing of it: anybody could have written that.
type origin struct {
	landscape.Execution
	asker     string // who asked the schedule for the run; empty if it fired
	arrived   string // id of the trigger at which files arrived; empty if the run is not for any
	first     string // run id of the first execution of the workflow
	asked     string // id of the workflow that was started for the run; its own if no other was
	continues string // run id of the execution that continued itself as this one; empty if none did
	reset     bool   // somebody reset the workflow to an event of an earlier execution
	again     bool   // it is not the first execution of what was started: a reset, or a retry that the starter asked for
	started   time.Time
}

// who returns who started the execution, and what made them: for people, as far as Temporal can tell.
func (o *origin) who() (actor, trigger string) {
	door, user := doorOf(o.Identity)
	switch {
	case o.again || o.continues != "": // Temporal does not say who wanted that; it was not who started the one before
		return TriggerTemporal, TriggerTemporal
	case o.arrived != "":
		return ArrivalActor(o.arrived), TriggerArrival
	case o.Schedule != "":
		return cmp.Or(o.asker, "schedule "+o.Schedule), TriggerSchedule
	case o.Parent != "":
		return "workflow " + o.Parent, TriggerWorkflow
	case door != "":
		trigger = door
	default:
		trigger = TriggerTemporal
	}
	switch {
	case o.Principal != "":
		actor = o.Principal
	case user != "":
		actor = user
	default:
		actor = TriggerTemporal
	}
	return actor, trigger
}

// askOrigin asks Temporal how the execution that the activity belongs to began. One of another program is refused.
func (a *Activities) askOrigin(ctx context.Context) (*origin, error) {
	info := activity.GetInfo(ctx)
	me := &common.WorkflowExecution{WorkflowId: info.WorkflowExecution.ID, RunId: info.WorkflowExecution.RunID}
	event, err := firstEvent(ctx, me)
	if err != nil {
		return nil, fmt.Errorf("how workflow %s began: %w", me.GetWorkflowId(), err)
	}
	start := event.GetWorkflowExecutionStartedEventAttributes()
	if err := a.served(me.GetWorkflowId(), start.GetTaskQueue().GetName(), info.TaskQueue); err != nil {
		return nil, err
	}
	o := &origin{
		Execution: landscape.Execution{Execution: me.GetRunId(), Workflow: me.GetWorkflowId(), Namespace: info.Namespace},
		asked:     me.GetWorkflowId(), first: cmp.Or(start.GetFirstExecutionRunId(), me.GetRunId()),
		reset: start.GetOriginalExecutionRunId() != me.GetRunId(), started: event.GetEventTime().AsTime(),
	}
	o.again = o.reset || start.GetAttempt() > 1
	if start.GetInitiator() == enums.CONTINUE_AS_NEW_INITIATOR_WORKFLOW {
		o.continues = start.GetContinuedExecutionRunId()
	}
	return o, o.trace(ctx, event)
}

// ArrivalActor is who asks for the runs of a trigger. Stored; never change it.
func ArrivalActor(trigger string) string { return "trigger " + trigger }

// originOf is askOrigin for a run that may be one of a slot, or of what arrived: the record of its schedule or trigger says so.
func (a *Activities) originOf(ctx context.Context, in OpenInput) (*origin, error) {
	from, err := a.askOrigin(ctx)
	if err != nil {
		return nil, err
	}
	if from.arrived, err = a.log.TriggerOfRun(ctx, in.Run); err != nil {
		return nil, err
	}
	slot, err := a.slotOf(ctx, in)
	if err != nil || slot == nil {
		return from, err
	}
	from.Schedule = slot.Schedule
	if slot.Request == "" {
		return from, nil
	}
	request, err := a.log.SlotRequest(ctx, slot.Request)
	from.asker = request.Actor
	return from, err
}

// trace finds out who started the execution that began with the event. One that a run without an id has started for itself was started by
// who started that.
func (o *origin) trace(ctx context.Context, event *history.HistoryEvent) error {
	start := event.GetWorkflowExecutionStartedEventAttributes()
	if parent := start.GetParentWorkflowExecution(); parent.GetWorkflowId() != "" {
		before, err := firstEvent(ctx, parent)
		if gone := (*serviceerror.NotFound)(nil); errors.As(err, &gone) {
			o.Parent = parent.GetWorkflowId()
			return nil
		}
		if err != nil {
			return err
		}
		if before.GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() != activity.GetInfo(ctx).WorkflowType.Name {
			o.Parent = parent.GetWorkflowId()
			return nil
		}
		o.asked = parent.GetWorkflowId()
		return o.trace(ctx, before)
	}
	o.Identity, o.Principal = start.GetIdentity(), event.GetPrincipal().GetName()
	if schedule := start.GetSearchAttributes().GetIndexedFields()["TemporalScheduledById"]; schedule != nil {
		return converter.GetDefaultDataConverter().FromPayload(schedule, &o.Schedule) // never encrypted
	}
	return nil
}

type serviceKey struct{}

// WithService returns a context in which activities ask this service of Temporal, and not that of their worker: as the
// BackgroundActivityContext of an environment that has no server.
func WithService(ctx context.Context, service workflowservice.WorkflowServiceClient) context.Context {
	return context.WithValue(ctx, serviceKey{}, service)
}

func serviceOf(ctx context.Context) workflowservice.WorkflowServiceClient {
	if service, ok := ctx.Value(serviceKey{}).(workflowservice.WorkflowServiceClient); ok {
		return service
	}
	return activity.GetClient(ctx).WorkflowService()
}

// firstEvent returns the event with which an execution began, which of a reset one is that of the execution that was reset.
func firstEvent(ctx context.Context, execution *common.WorkflowExecution) (*history.HistoryEvent, error) {
	answer, err := serviceOf(ctx).GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: activity.GetInfo(ctx).Namespace, Execution: execution, MaximumPageSize: 1,
	})
	if err != nil {
		return nil, err
	}
	events := answer.GetHistory().GetEvents()
	if len(events) == 0 || events[0].GetWorkflowExecutionStartedEventAttributes() == nil {
		return nil, fmt.Errorf("the history of workflow %s does not say how it began", execution.GetWorkflowId())
	}
	return events[0], nil
}
