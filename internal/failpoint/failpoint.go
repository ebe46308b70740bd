// Package failpoint marks the moments at which a process may die. In a normal build its functions do nothing, whatever
// the environment says. In a build that the linker armed, the environment says what happens there: see ParsePlan.
//
//	go build -ldflags '-X waymark/internal/failpoint.armed=yes' ./cmd/waymark
//
// The linker alone makes the difference, so that an armed build compiles no package a second time.
//
// A moment has a name, such as `payload.renamed`: a place and the step that has just been made.
package failpoint

import "errors"

// ErrUnknown is what Hit returns where a plan says that a sink's target cannot tell what reached it.
var ErrUnknown = errors.New("failpoint: the target cannot tell")

// Check is the moment at which a sink's target is asked what reached it, and the only one that may be unknown.
const Check = "sink.part.check"
