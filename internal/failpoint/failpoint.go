// Package failpoint marks the moments at which a process may die. In a normal build its functions do nothing and cost
// nothing. Built with the tag failpoints, the environment says what happens there: see ParsePlan.
//
// A moment has a name, such as `payload.renamed`: a place and the step that has just been made.
package failpoint

import "errors"

// ErrUnknown is what Hit returns where a plan says that a sink's target cannot tell what reached it.
var ErrUnknown = errors.New("failpoint: the target cannot tell")

// Check is the moment at which a sink's target is asked what reached it, and the only one that may be unknown.
const Check = "sink.part.check"
