// Package recompute computes again what a run computed, from what it recorded, and translates the engine's results into rows of the
// landscape. The activities that record a run and the audit that verifies the record share it. It does not depend on Temporal.
package recompute

import (
	"errors"
	"fmt"

	"waymark/engine/plan"
	"waymark/pipeline"
)

// Planner compiles documents on this machine, with this machine's environment variables and secrets.
type Planner interface {
	// Plan compiles a document. Equal requests give equal plans as long as environment variables, secrets, and the tables
	// that the request does not hold stay as they are. The error is pipeline.Problems if the document is at fault.
	Plan(request plan.Request) (*plan.Plan, error)
}

// secrets is what a Planner may be as well: one with the secrets of its machine, by which it is known who posts to
// triggers. Its errors name the secret and the cure, and never hold a value.
type secrets interface {
	Bound(pipeline, name string) (string, error)
}

// admitter is what a Planner may be as well: one that knows of which documents no run may begin.
type admitter interface {
	Admits(document *pipeline.Document) error
}

// Admits refuses a document of which no run may begin. The error is pipeline.Problems.
func Admits(planner Planner, compiled *plan.Plan) error {
	if a, is := planner.(admitter); is {
		return a.Admits(compiled.Document)
	}
	return nil
}

// CheckSecrets says which secrets of an http trigger of a pipeline are missing on this machine, or can verify nothing;
// nil if all can, or if the planner has no secrets.
func CheckSecrets(planner Planner, of string, t pipeline.HTTPTrigger) (wrong error) {
	keeper, is := planner.(secrets)
	if !is {
		return nil
	}
	for _, name := range t.Secrets() {
		secret, err := keeper.Bound(of, name)
		if err == nil {
			if err = t.CheckSecret(secret); err != nil {
				err = fmt.Errorf("secret %s: %w", name, err)
			}
		}
		wrong = errors.Join(wrong, err)
	}
	return wrong
}
