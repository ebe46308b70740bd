// Package graphs is the oracle of whole graphs: an interpreter that says what a document makes of rows, and random documents
// and rows to ask it about.
//
// The interpreter is naive, so that it can be checked by reading. It knows nothing of lanes, passes, folds or activities: a
// token is a struct that walks from node to node until it ends, a coalesce is a list of what happened to branches, a
// barrier is a list of what it holds. It shares with the engine only the values (package row), the document (package
// pipeline) and the evaluation of expressions (package expr). A file for each concern:
//
//	graph.go      who takes whose rows
//	interpret.go  the order of everything: chunks, turns, folds
//	walk.go       a token on its way, and how it ends
//	steps.go      what a step does to one row
//	join.go       when a coalesce decides
//	merge.go      what it makes of the branches
//	fork.go       forks, and coalesces within a chunk's turn
//	held.go       coalesces that wait for branches of several turns
//	gather.go     aggregates, sorts, deduplication by the last
//	expand.go     expansions
//	order.go      keys of groups, and which row comes first
//	compute.go    aggregate functions
//	eval.go       expressions
//	read.go       source files → records
//	result.go     what a run leaves; text.go: the same as text
//	random*.go    documents and rows
//
// Expressions are compiled without the graph's types: a field that a source declares has that kind wherever a row has it,
// and every other field is typed by its value. Documents for the interpreter therefore keep the kinds of declared fields.
package graphs
