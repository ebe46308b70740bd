// Package failpoint marks the moments at which a process may die. In a normal build its functions do nothing and cost
// nothing. Built with the tag failpoints, the environment says what happens there: see ParsePlan.
//
// A moment has a name, such as `payload.renamed`: a place and the step that has just been made.
package failpoint
