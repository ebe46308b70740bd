package activities

import (
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// Types of the errors that no retry cures. Workflows may test them; they are written in histories: never rename one.
const (
	TypeDocument    = "DocumentInvalid" // the pipeline document has problems
	TypeSource      = "SourceUnusable"  // the source cannot be read as declared
	TypeTarget      = "TargetRefused"   // the sink's target must not be written
	TypeRow         = "RowFailed"       // a row was rejected where the document says fail
	TypeCorrupt     = "PayloadCorrupt"  // a payload is not what its name promises
	TypeMissing     = "PayloadMissing"  // a payload that the record refers to is not there
	TypeDiverged    = "RecordDiverged"  // a repeat brought something else than what is recorded
	TypeImbalance   = "RunUnbalanced"   // rows are not accounted for
	TypeBlocked     = "EffectBlocked"   // a target cannot tell what happened: a person must decide
	TypePolicy      = "PolicyNotPassed" // a policy keeps the run from publishing its outputs: a person must decide
	TypePlanChanged = "PlanChanged"     // the document compiles to another plan than the run's
	TypeUnknownRun  = "RunUnknown"      // the landscape has no such run
	TypeReadOnly    = "RecordReadOnly"  // the landscape cannot be written
	TypeFull        = "BarrierFull"     // a barrier would have to hold more rows than it may

	TypeStateDiverged = "StateDiverged"   // workflow history and record contradict each other
	TypeSuperseded    = "RunSuperseded"   // the run was resumed after this attempt began
	TypeNotResumable  = "RunNotResumable" // a run that is complete, or was ended permanently
	TypeSealBroken    = "SealBroken"      // the records of the run are not those that its last seal binds
	TypeSourceChanged = "SourceChanged"   // a source is no longer what it was when the run began
	TypeNotRetryable  = "NotRetryable"    // records of the parent cannot be retried
	TypeElsewhere     = "RunElsewhere"    // the run's files are not those that this worker sees
	TypeInput         = "InputInvalid"    // the workflow's input makes no sense
	TypeNoPipeline    = "NoPipeline"      // no such pipeline is deployed, or it has no such version
	TypeRetired       = "Retired"         // nothing may start: the pipeline is retired
	TypeExists        = "RunExists"       // the run is recorded, and the execution has no right to work for it; its details are a Found
)

// TypeCancelled is the type of the Problem with which a workflow ends that was cancelled in Temporal. Stored; never rename.
const TypeCancelled = "RunCancelled"

// Types of refusals of orders. Stored; never rename one.
const (
	TypeCommand        = "CommandInvalid" // the order makes no sense
	TypeCommandRefused = "CommandRefused" // the run does not obey it now, or ever
)

// Types of refusals of starts alone. Stored; never rename one.
const (
	TypeQueueFull    = "QueueFull"    // the run may not wait for places
	TypeQueueTimeout = "QueueTimeout" // or not any longer
	TypeHolderGone   = "HolderGone"   // a run that nobody executes holds its places, or comes before it
	TypeSlotNotOver  = "SlotNotOver"  // the slot that it would fill is neither over nor due
)

// Refusals of starts that are no error's type. Stored; never rename one.
const (
	RefusalService = "ServiceFailed"  // an error without a type: a service stayed broken
	RefusalClosed  = "WorkflowClosed" // the workflow, or the process, ended before the run began
)

// final carries an error that no retry cures together with its type.
type final struct {
	kind string
	error
}

func (f final) Unwrap() error { return f.error }

// takesNewRun ends the message of an error whose cure changes what the run began with, and so the reason of the run. It stands in landscapes
// and histories: never rename it.
const takesNewRun = " (the cure takes a new run)"

// NeedsNewRun reports whether what cures the reason of a run that failed changes what it began with.
func NeedsNewRun(reason string) bool { return strings.HasSuffix(reason, takesNewRun) }

// BeforeRun returns the message of an error, for when no run began and any run will be a new one.
func BeforeRun(message string) string { return strings.TrimSuffix(message, takesNewRun) }

// message returns the text of an error, and whether its cure takes a new run: the error knows. What policies say is the same for every sink.
func message(err error) string {
	if policy, ok := errors.AsType[*PolicyError](err); ok {
		return policy.Error()
	}
	var cured interface {
		error
		NewRun() bool
	}
	if errors.As(err, &cured) && cured.NewRun() {
		return err.Error() + takesNewRun
	}
	return err.Error()
}

// toTemporal marks the errors that no retry cures; all others are left to the retry policy.
func toTemporal(err error) error {
	if err == nil {
		return nil
	}
	kind := finalKind(err)
	if kind == "" {
		return err
	}
	var detail any = problemOf(kind, err)
	if exists, ok := errors.AsType[*ExistsError](err); ok {
		detail = existing{problemOf(kind, err), exists.Found}
	} else if batch, ok := errors.AsType[*BatchError](err); ok {
		detail = failing{problemOf(kind, err), batch.Failed}
	}
	return temporal.NewNonRetryableApplicationError(message(err), kind, nil, detail)
}

// FailedOf returns the indexes of the pieces of a Batch that failed with an error of the activity; nil if the error does not say.
func FailedOf(err error) (failed []int) {
	if batch, ok := errors.AsType[*BatchError](err); ok {
		return batch.Failed
	}
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || !application.HasDetails() {
		return nil
	}
	var pieces failing
	if application.Details(&pieces) != nil {
		return nil
	}
	return pieces.Failed
}

func finalKind(err error) string {
	var (
		marked    final
		problems  pipeline.Problems
		source    *plugin.SourceError
		retry     *NotRetryableError
		target    *plugin.TargetError
		row       *engine.FailedError
		diverged  *landscape.DivergedError
		imbalance *landscape.ImbalanceError
		full      *barrier.FullError
		ended     *landscape.NotResumableError
		unsealed  *landscape.UnsealableError
		part      *engine.UnfinishedError
		exists    *ExistsError
		invalid   *recompute.InvalidError
		state     *resumepoint.DivergedError
		policy    *PolicyError
		needs     *landscape.NeedsOrderError
	)
	switch {
	case errors.As(err, &exists):
		return TypeExists
	case errors.As(err, &marked):
		return marked.kind
	case errors.As(err, &problems) && problems.Given(), errors.Is(err, payload.ErrBadKey): // which only an input has
		return TypeInput
	case errors.As(err, &problems):
		return TypeDocument
	case errors.As(err, &retry):
		return TypeNotRetryable
	case errors.As(err, &source):
		return TypeSource
	case errors.As(err, &target), errors.As(err, &part):
		return TypeTarget
	case errors.As(err, &row):
		return TypeRow
	case errors.Is(err, payload.ErrCorrupt):
		return TypeCorrupt
	case errors.Is(err, payload.ErrNotFound):
		return TypeMissing
	case errors.As(err, &diverged), errors.As(err, &invalid):
		return TypeDiverged
	case errors.As(err, &imbalance):
		return TypeImbalance
	case errors.As(err, &policy):
		return TypePolicy
	case errors.As(err, &full):
		return TypeFull
	case errors.As(err, &state):
		return TypeStateDiverged
	case errors.As(err, &ended):
		return TypeNotResumable
	case errors.As(err, &unsealed):
		return TypeSealBroken
	case errors.Is(err, landscape.ErrSuperseded), errors.Is(err, landscape.ErrEnded), errors.Is(err, landscape.ErrCalledOff):
		return TypeSuperseded
	case errors.As(err, &needs):
		return TypeCommandRefused
	case errors.Is(err, landscape.ErrQueueFull):
		return TypeQueueFull
	case errors.Is(err, landscape.ErrQueueTimeout):
		return TypeQueueTimeout
	case errors.Is(err, landscape.ErrBlocked):
		return TypeBlocked
	case errors.Is(err, landscape.ErrNotFound):
		return TypeUnknownRun
	case errors.Is(err, landscape.ErrReadOnly):
		return TypeReadOnly
	}
	return ""
}
