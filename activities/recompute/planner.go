// Package recompute computes again what a run computed, from what it recorded, and translates the engine's results into rows of the
// landscape. The activities that record a run and the audit that verifies the record share it. It does not depend on Temporal.
package recompute

import "waymark/engine/plan"

// Planner compiles documents on this machine, with this machine's environment variables and secrets.
type Planner interface {
	// Plan compiles a document. Equal requests give equal plans as long as environment variables, secrets, and the tables
	// that the request does not hold stay as they are. The error is pipeline.Problems if the document is at fault.
	Plan(request plan.Request) (*plan.Plan, error)
}
