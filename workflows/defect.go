package workflows

import (
	"fmt"
	"runtime"

	"waymark/activities"
)

// What a workflow is told by activities, and by the execution that it continues, comes from other processes: one that
// does not belong there can answer anything. What makes no sense stops the run, which can be resumed from its record.
// Without this, Temporal would give the task to workers again and again, and the run would neither continue nor end.

// stopped turns a panic of workflow code about a value that makes no sense into an error. It is deferred. Other panics
// are those of Temporal's SDK: by them it says that the code and the history contradict each other, and such a task
// waits for a worker with the right code.
func stopped(err *error) {
	switch cause := recover().(type) {
	case nil:
	case runtime.Error:
		*err = nonsense("%v", cause)
	case *senseless:
		*err = nonsense("%s", cause.text)
	default:
		panic(cause)
	}
}

// senseless is the panic about a name that the plan of the run does not have.
type senseless struct{ text string }

// nonsense is the error about what the workflow was told and cannot be.
func nonsense(format string, args ...any) error {
	return failure(activities.TypeStateDiverged, "what a worker answered, or an earlier execution handed on, cannot "+
		"be that of the run: %s; see that only workers of this landscape poll the task queue",
		fmt.Sprintf(format, args...))
}
