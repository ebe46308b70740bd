// Package recompute makes again what a run made, from what it recorded, and puts what the engine gives into the landscape's words. The
// activities that record a run, and whoever checks its record, share it. It knows nothing of Temporal.
package recompute

import "waymark/plan"

// Planner compiles documents on this machine, with this machine's environment variables and secrets.
type Planner interface {
	// Plan compiles a document. Equal requests give equal plans as long as environment variables, secrets, and the tables
	// that the request does not hold stay as they are. The error is pipeline.Problems if the document is at fault.
	Plan(request plan.Request) (*plan.Plan, error)
}
