// Package workflows holds the deterministic half of a run: which chunk is read next, what may run side by side, where
// each sink's parts belong, and what happens when something fails. Everything that touches the world is an activity.
package workflows

import "waymark/activities"

// Names under which other programs start, find and ask runs. Stored in histories and in people's schedules; never
// rename.
const (
	// RunPipelineName is the workflow type of a run.
	RunPipelineName = "RunPipeline"
	// ListPipelinesName is the workflow type that lists the pipelines.
	ListPipelinesName = "ListPipelines"
	// PreflightName is the workflow type that looks at what a version would read and write.
	PreflightName = "Preflight"
	// TaskQueue is the queue that workers listen on unless they are told otherwise.
	TaskQueue = "waymark"
	// ProgressQuery returns a View.
	ProgressQuery = "progress"
	// PauseUpdate, with an Order, lets a run begin nothing new until ContinueUpdate.
	PauseUpdate = "pause"
	// ContinueUpdate, with an Order, lets a paused run go on.
	ContinueUpdate = "continue"
	// CancelUpdate, with an Order, stops a run.
	CancelUpdate = "cancel"
)

// WorkflowID returns the id of the workflow that executes a run.
func WorkflowID(run string) string { return activities.WorkflowID(run) }

// ProcessQueue returns the task queue of a run that a process executes which has a Temporal server of its own. Every
// run has its own, so that a process works on the runs that it was asked for: with one queue for all, the next process
// would silently continue whatever an interrupted one left.
func ProcessQueue(run string) string { return TaskQueue + "-" + run }

// The activities by name: methods of a nil pointer, of which only the names are used.
var act *activities.Activities
