package activities

import (
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
)

// What anybody at Temporal may do to activities is bounded by who asks: a workflow of this program, which executes on
// the queue of its workers. Somebody who has work done there by a worker of their own can do all that a worker can.

// NotAsked is the error of an activity that no workflow of its program asked for: no retry cures that. asker is the
// type of the workflow that did; empty if none did.
func NotAsked(activity, belongs, asker string) error {
	by := "something that is not a workflow"
	if asker != "" {
		by = fmt.Sprintf("a workflow of the type %.64q", asker)
	}
	message := fmt.Sprintf("activity %s is a part of the workflow %s, and %s scheduled it: start %[2]s",
		activity, belongs, by)
	return temporal.NewNonRetryableApplicationError(message, TypeInput, nil, ProblemOf(TypeInput, message))
}

// common returns the queue of the workflows for which this process works; asked is the one from which it has the
// activity.
func (a Affinity) common(asked string) string {
	if a.FilesQueue == "" { // it has one queue
		return asked
	}
	return strings.TrimSuffix(a.FilesQueue, "@"+a.Files)
}

// served requires that the workflow that asks executes where this program's workers execute workflows. One of the same
// type on another queue is another program.
func (a *Activities) served(workflow, queue, asked string) error {
	if common := a.affinity.common(asked); queue != "" && queue != common {
		return final{TypeInput, fmt.Errorf("workflow %s executes on the task queue %.64q, "+
			"whose workers are not those of %s: start the run on %[3]s", workflow, queue, common)}
	}
	return nil
}

// orders are the names of the updates by which a run gets orders.
var orders = []string{"pause", "continue", "cancel"}

// handsOn requires that what is handed on is an order to a run.
func (in HandOnInput) handsOn() error {
	run, is := strings.CutPrefix(in.Workflow, WorkflowID(""))
	if !is || run == "" || !slices.Contains(orders, in.Name) {
		err := fmt.Errorf("update %.64q of workflow %.64q is not an order to a run", in.Name, in.Workflow)
		return final{TypeInput, err}
	}
	return nil
}
