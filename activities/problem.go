package activities

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"waymark/engine"
	"waymark/pipeline"
	"waymark/plugin"
)

// Problem says to programs what the message of a failure says to people: it is the first of the failure's details, an object as of RFC 9457. Its
// keys are read by programs; never rename one.
type Problem struct {
	Type   string         `json:"type"` // of the failure
	Title  string         `json:"title"`
	Code   string         `json:"code"`   // a stored word: of the source, target or row, else the Type
	Detail string         `json:"detail"` // the message, or its beginning
	Errors []ProblemError `json:"errors,omitempty"`
	Cure   string         `json:"cure,omitempty"`
	Run    string         `json:"run,omitempty"`    // that stopped, if the workflow waited for a run that somebody else requested
	Status string         `json:"status,omitempty"` // of that
}

// ProblemError is one of several things that are wrong with an input or a document.
type ProblemError struct {
	Pointer string `json:"pointer"` // JSON Pointer into the input or the document
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// What a Problem has at most: it travels through workflow history beside the message.
const (
	maxDetailBytes   = 2_000
	maxProblemErrors = 10
)

// problemKinds are the titles and cures of failures by type: those of this package, and of package workflows.
var problemKinds = map[string][2]string{
	TypeDocument:       {"The pipeline document has problems", "run waymark validate, which names every problem"},
	TypeSource:         {"A source cannot be read as declared", "correct the source or the document"},
	TypeTarget:         {"A target must not be written", "check the target, or give the sink another one"},
	TypeRow:            {"A row was refused where the document says fail", "correct the row or the document, then start over: waymark status says how"},
	TypeCorrupt:        {"A payload is not what its name promises", "restore the payload store, then continue with waymark resume"},
	TypeMissing:        {"A payload is missing", "restore the payload store, then continue with waymark resume"},
	TypeDiverged:       {"A repeat gave another result than the recorded one", "restore what changed, then continue with waymark resume"},
	TypeImbalance:      {"Rows are not accounted for", "verify the run with waymark verify, which says where"},
	TypeBlocked:        {"A target cannot tell what reached it", "waymark effects names the commands that decide; then continue with waymark resume"},
	TypePolicy:         {"A policy of the run did not pass", "waymark status shows the policies and names the commands that help"},
	TypePlanChanged:    {"The document now compiles to another plan", "restore what changed, or start over with waymark resume --fork"},
	TypeUnknownRun:     {"The run is not recorded", "run waymark runs, which lists the recorded runs"},
	TypeReadOnly:       {"The record cannot be written", "make it writable, then continue with waymark resume"},
	TypeFull:           {"A step would have to keep too many rows", "give it a trigger or a timeout, then start over: waymark status says how"},
	TypeStateDiverged:  {"The workflow's history contradicts the record", "continue from the record with waymark resume"},
	TypeSuperseded:     {"Another execution resumed the run", "none needed: the other one continues"},
	TypeNotResumable:   {"The run cannot be resumed", "the detail says why"},
	TypeSealBroken:     {"The run's records are not those that were sealed when it ended", "verify the run with waymark verify, which names them"},
	TypeSourceChanged:  {"A source has changed since the run began", "restore it, or start over with waymark resume --fork"},
	TypeNotRetryable:   {"The refused rows cannot be retried", "the detail says which rows can"},
	TypeElsewhere:      {"The worker does not see the run's files", "start a worker that sees them"},
	TypeInput:          {"The input is invalid", "correct the input, and start again"},
	TypeCommand:        {"The order is invalid", "correct the order, and send it again"},
	TypeCommandRefused: {"The run cannot obey the order", "the detail says why"},
	TypeCancelled:      {"The workflow was cancelled in Temporal", "continue the run, if it began, with waymark resume"},
	TypeNoPipeline:     {"No such pipeline is deployed", "deploy it with waymark deploy, or name one that the workflow ListPipelines lists"},
	TypeRetired:        {"The pipeline is retired: no run of it may start", "let it run again with waymark restore"},
	TypeExists:         {"A run with this id exists", "none, if it is the run that you want; otherwise start with another id, or without one"},
	TypeQueueFull:      {"The queue is full", "start again when fewer runs wait: waymark queue lists them"},
	TypeQueueTimeout:   {"The run waited for places for as long as it may", "start again when places are free: waymark queue lists who waits for them"},
	TypeHolderGone:     {"A run that nobody executes holds the places", "continue that run, which the detail names, with waymark serve"},
	TypeSlotNotOver:    {"The slot is not over yet", "start it when the slot is over; or leave out for and give the parameters themselves, as such a run fills no slot"},
	"NoWorker":         {"No worker that sees the run's files was available", "start one there, or one that sees the same files with --files"},
	"KeyReused":        {"The key belongs to a run with another input", "use another key"},
	"RunFailed":        {"The run stopped before it was complete", "waymark status says why, and how to continue"},
}

// ProblemOf returns the Problem of a failure of the type, with the message.
func ProblemOf(kind, message string, errs ...ProblemError) Problem {
	words := problemKinds[kind]
	detail := BeforeRun(message)
	if len(detail) > maxDetailBytes {
		detail = strings.ToValidUTF8(detail[:maxDetailBytes], "") + "…"
	}
	return Problem{Type: kind, Title: words[0], Code: kind, Detail: detail, Errors: errs[:min(len(errs), maxProblemErrors)], Cure: words[1]}
}

// keyError is about the value of a key of an input.
type keyError struct {
	key string
	error
}

func (e keyError) Unwrap() error { return e.error }

// problemAt returns what is wrong with a document, or with what was given for a run of it.
func problemAt(kind string, p pipeline.Problem) ProblemError {
	switch {
	case kind == TypeInput && p.Input == pipeline.NoSlot:
		return ProblemError{Pointer: p.Input, Code: CodeMissing, Detail: p.Message}
	case kind == TypeInput:
		return ProblemError{Pointer: p.Input, Code: codeInvalid, Detail: p.Message}
	}
	return ProblemError{Pointer: pointer(p.Path), Code: kind, Detail: fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)}
}

// CodeMissing is the code of a ProblemError about a value that is not there. Programs read it; never rename it.
const CodeMissing = "missing"

// codeInvalid is the code of a ProblemError about a value that cannot be used. Programs read it; never rename it.
const codeInvalid = "invalid"

// problemOf returns the Problem of an error that no retry cures.
func problemOf(kind string, err error) Problem {
	var found []ProblemError
	if problems, ok := errors.AsType[pipeline.Problems](err); ok {
		for _, p := range problems[:min(len(problems), maxProblemErrors)] {
			found = append(found, problemAt(kind, p))
		}
	}
	if about, ok := errors.AsType[keyError](err); ok {
		found = append(found, ProblemError{Pointer: Pointer(about.key), Code: codeInvalid, Detail: about.Error()})
	}
	if found == nil && kind == TypeInput { // about the input as a whole
		found = append(found, ProblemError{Code: codeInvalid, Detail: err.Error()})
	}
	problem := ProblemOf(kind, message(err), found...)
	if source, ok := errors.AsType[*plugin.SourceError](err); ok {
		problem.Code = source.Code
	} else if target, ok := errors.AsType[*plugin.TargetError](err); ok {
		problem.Code = target.Code
	} else if row, ok := errors.AsType[*engine.FailedError](err); ok {
		problem.Code = row.Code
	}
	return problem
}

var step = regexp.MustCompile(`[^.\[\]]+`)

// pointer returns the JSON Pointer of a path such as steps[2].routes.
func pointer(path string) string {
	var b strings.Builder
	for _, name := range step.FindAllString(path, -1) {
		b.WriteString(Pointer(name))
	}
	return b.String()
}

// Pointer returns the JSON Pointer of the key of an object.
func Pointer(key string) string {
	return "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// existing is the detail of a failure about a run that is recorded: who reads a Found, and who reads a Problem, find it.
type existing struct {
	Problem
	Found
}

// failing is the detail of a failure of pieces of a batch.
type failing struct {
	Problem
	Failed []int `json:"failed"`
}
