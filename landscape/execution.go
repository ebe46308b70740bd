package landscape

import "context"

// Execution is a workflow execution that works for a run in one of its epochs, and what Temporal knows of how it began.
type Execution struct {
	Run       string `db:"run_id,key"`
	Epoch     int64  `db:"epoch,key"`
	Seq       int64  `db:"seq,key"`   // from 0, which began the epoch; each of the others continues the one before as new
	Execution string `db:"execution"` // Temporal's run id
	Workflow  string `db:"workflow"`  // its id
	Namespace string `db:"namespace"`
	Identity  string `db:"identity"`    // what the client that started it calls itself
	Principal string `db:"principal"`   // as whom the cluster authenticated that client; empty if it does not
	Parent    string `db:"parent"`      // id of the workflow of another program that started it; empty if none did
	Schedule  string `db:"schedule"`    // id of the schedule that started it; empty if none did
	At        Micros `db:"at_us,first"` // set by Log
}

// Executions returns the executions that work for a run in an epoch, in the order in which one continued the other.
func (r *Reader) Executions(ctx context.Context, run string, epoch int64) ([]Execution, error) {
	return Select[Execution](ctx, r.from, run, epoch)
}

// ContinueAs records the execution that continues the one before. Repeating it changes nothing; the error is a *DivergedError if
// another one has its place.
func (l *Log) ContinueAs(ctx context.Context, e Execution) error {
	e.At = l.now()
	return l.insert(ctx, e)
}
