package pipeline

import (
	"maps"
	"slices"
)

// Reserved targets of routes and error policies. Stored; never rename.
const (
	Continue   = "continue"   // to the node that takes this one's rows
	Discard    = "discard"    // nowhere, on record
	Quarantine = "quarantine" // kept in the landscape with reason and raw bytes
	Fail       = "fail"       // the run stops
)

// Names that stand in a record where a sink's name would, for rows that no sink got. Stored; never rename.
const (
	QuarantineSink = "__quarantine__"
	DiscardSink    = "__discard__"
)

// Outcome is how a token ended. Stored; never rename.
type Outcome string

// The outcomes.
const (
	Success   Outcome = "success"
	Failure   Outcome = "failure"
	Transient Outcome = "transient"
)

// Path says by which way a token came to its outcome. It is declared by the node that ended the token, never inferred
// from the graph. Stored; never rename.
type Path string

// The paths, with the outcome each belongs to.
const (
	DefaultFlow         Path = "default_flow"          // success: reached a sink without a gate sending it there
	GateRouted          Path = "gate_routed"           // success: a gate's route led to the sink
	GateDiscarded       Path = "gate_discarded"        // success: a gate's route is discard
	FilterDropped       Path = "filter_dropped"        // success: a filter's expression was false
	OnErrorRouted       Path = "on_error_routed"       // failure: a step refused it; at on_error's sink or quarantined
	QuarantinedAtSource Path = "quarantined_at_source" // failure: the source refused it
	Unrouted            Path = "unrouted"              // failure: a gate's label has no route
	SinkDiscarded       Path = "sink_discarded"        // failure: refused, and the document says discard
	Coalesced           Path = "coalesced"             // success: became part of a merged row
	ForkParent          Path = "fork_parent"           // transient: copies of it went down the branches
	ExpandParent        Path = "expand_parent"         // transient: became the rows of its elements
	BatchConsumed       Path = "batch_consumed"        // transient: became part of a batch
	BranchNotNeeded     Path = "branch_not_needed"     // transient: a coalesce had decided without it
	Buffered            Path = "buffered"              // none yet: a barrier holds it
)

// Outcome returns the outcome that a token with this path has; "" for one that is still open.
func (p Path) Outcome() Outcome {
	switch p {
	case DefaultFlow, GateRouted, GateDiscarded, FilterDropped, Coalesced:
		return Success
	case ForkParent, ExpandParent, BatchConsumed, BranchNotNeeded:
		return Transient
	case Buffered:
		return ""
	default:
		return Failure
	}
}

// endings say what paths mean.
var endings = map[Path]string{
	DefaultFlow:         "reached its sink",
	GateRouted:          "routed to its sink",
	GateDiscarded:       "discarded by a gate",
	FilterDropped:       "dropped",
	OnErrorRouted:       "refused",
	QuarantinedAtSource: "refused when read",
	Unrouted:            "refused without a route",
	SinkDiscarded:       "refused and discarded",
	Coalesced:           "merged",
	ForkParent:          "copied into branches",
	ExpandParent:        "taken apart",
	BatchConsumed:       "taken into a batch",
	BranchNotNeeded:     "not needed by the merge",
	Buffered:            "held",
}

// Paths returns all of them, sorted.
func Paths() []Path { return slices.Sorted(maps.Keys(endings)) }

// Words says for people how a row with this path ended; no two paths have the same words. A path that is not known
// stays as it is.
func (p Path) Words() string {
	if words, known := endings[p]; known {
		return words
	}
	return string(p)
}

// When a coalesce makes one row of a row's branches. Stored; never rename.
const (
	RequireAll = "require_all" // all branches arrived
	Quorum     = "quorum"      // enough branches arrived
	BestEffort = "best_effort" // no branch is outstanding
	First      = "first"       // one branch arrived
)

// How a coalesce makes one row of several. Stored; never rename.
const (
	Union        = "union"  // the fields of all
	Nested       = "nested" // a field for each branch, which holds its row
	SelectBranch = "select" // the row of one branch
)

// What a policy that did not pass keeps a run from. Stored; never rename.
const (
	GatePublish = "publish" // its outputs are not published
	GateWarn    = "warn"    // nothing, but people are told
	GateSeal    = "seal"    // nothing
)

// RunStatus is the state of a run. Stored; never rename.
type RunStatus string

// The states of a run.
const (
	Running               RunStatus = "running"
	Completed             RunStatus = "completed"
	CompletedWithFailures RunStatus = "completed_with_failures" // every row is accounted for, some as failures
	Empty                 RunStatus = "empty"                   // the sources held no record
	Failed                RunStatus = "failed"
	Interrupted           RunStatus = "interrupted"
	Blocked               RunStatus = "blocked" // a person must decide: a sink cannot tell what happened, or a policy did not pass
	Cancelled             RunStatus = "cancelled"
)

// Complete reports whether nothing is left to do for a run with this status.
func (s RunStatus) Complete() bool { return s == Completed || s == CompletedWithFailures || s == Empty }

// Determinism says what a plugin's result depends on, and so what must be stored to reproduce it. Stored; never rename.
// There is no default: every plugin declares its own.
type Determinism string

// The grades of determinism.
const (
	Deterministic    Determinism = "deterministic"     // on its input alone
	Seeded           Determinism = "seeded"            // on its input and a recorded seed
	ReadsIO          Determinism = "reads_io"          // on what it reads outside
	WritesIO         Determinism = "writes_io"         // changes something outside
	ExternalCall     Determinism = "external_call"     // asks a service
	NonDeterministic Determinism = "non_deterministic" // cannot be said
)
