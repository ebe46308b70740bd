// Package resumepoint finds out from the landscape how far a run is: the state in which its workflow continues, and the
// order in which its chunks went through the steps. It knows nothing of Temporal.
package resumepoint

import (
	"context"
	"fmt"

	"waymark/landscape"
)

// Find returns the state in which the run continues: what is recorded, counted in the order in which the run did it, up
// to the first piece of work that is not complete. The run may go on meanwhile. The error is a *DivergedError if the
// landscape contradicts itself.
func Find(ctx context.Context, log *landscape.Reader, run string, plan Plan) (State, error) {
	return whole(ctx, log, run, func() (State, error) {
		recorded, err := read(ctx, log, run, plan)
		if err != nil {
			return State{}, err
		}
		return recorded.stand(plan)
	})
}

// DivergedError says that what is recorded contradicts itself, or the history of the run's workflow. Nothing may be
// written then.
type DivergedError struct{ Message string }

// Error returns the message.
func (e *DivergedError) Error() string { return "STATE_DIVERGED: " + e.Message }

// Diverged returns a *DivergedError.
func Diverged(format string, args ...any) error { return &DivergedError{fmt.Sprintf(format, args...)} }
