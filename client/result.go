package client

import (
	"errors"
	"time"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// Result is what became of a run, in figures.
type Result struct {
	Type        string                `json:"type"` // always run_result
	Run         string                `json:"run"`
	Pipeline    string                `json:"pipeline"`
	Status      pipeline.RunStatus    `json:"status"` // of a run that did not begin: what became of its request, such as refused
	Rows        int64                 `json:"rows_read"`
	Quarantined int64                 `json:"rows_quarantined"`
	Refused     int64                 `json:"rows_refused"` // the quarantined ones, and those that a sink got or that were discarded
	Filtered    int64                 `json:"rows_filtered"`
	Discarded   int64                 `json:"rows_discarded"`
	Seconds     float64               `json:"seconds"`
	Sinks       map[string]SinkResult `json:"sinks"`            // by name; not nil
	Error       string                `json:"error,omitempty"`  // why the run is not complete
	Code        Code                  `json:"code,omitempty"`   // of the error, if this execution has no recorded end
	Cure        Cure                  `json:"cure,omitempty"`   // of that error, if there is one
	Reason      string                `json:"reason,omitempty"` // of a run that is skipped or superseded: it did not begin, and that is no error
}

// SinkResult is what became of the output of a sink.
type SinkResult struct {
	Rows   int64  `json:"rows"`
	Path   string `json:"path,omitempty"` // empty if it is not published
	SHA256 string `json:"sha256,omitempty"`
}

// Result returns what became of the run in figures; nil if what is recorded is not about this execution. A run whose end could not be
// recorded has failed, or was interrupted.
func (e *Execution) Result(end *Ending, o *Outcome) *Result {
	if o.Err != nil && o.Status == nil && o.Run.ID != "" {
		return nil
	}
	result := &Result{Type: "run_result", Run: e.Run, Pipeline: e.Pipeline, Status: pipeline.Failed, Seconds: o.Took.Seconds(), Sinks: map[string]SinkResult{}}
	if o.Status != nil {
		result.count(o.Status)
	}
	switch {
	case o.Err != nil && o.Err.Code == RunSkipped:
		result.Status, result.Reason = end.Result.Status, end.Result.Reason
	case o.Err != nil:
		result.Status, result.Error, result.Code, result.Cure = pipeline.Failed, o.Err.Message, o.Err.Code, o.Err.Cure
		if o.Start != "" {
			result.Status = pipeline.RunStatus(o.Start)
		}
		if o.Status != nil && (end.Interrupted || end.Gone) {
			result.Status = pipeline.Interrupted
		}
	case !Complete(o.Run.Status):
		result.Error = o.Run.Reason
	}
	return result
}

// ResultOf returns what became of a recorded run, in figures, to somebody who has followed it for this long.
func ResultOf(status *Status, took time.Duration) *Result {
	result := &Result{Type: "run_result", Seconds: took.Seconds(), Sinks: map[string]SinkResult{}}
	result.count(status)
	if !Complete(status.Status) {
		result.Error = status.Reason
	}
	return result
}

// NotBegun is the Result of a request for a run that failed before there was an Execution: the run has the id and is of the pipeline, as far as
// they are known.
func NotBegun(run, name string, err error) *Result {
	result := &Result{Type: "run_result", Run: run, Pipeline: name, Status: pipeline.Failed, Sinks: map[string]SinkResult{}, Error: err.Error()}
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return result
	}
	result.Code, result.Cure = known.Code, known.Cure
	switch known.Kind {
	case Invalid, NotFound, Conflict, Busy:
		result.Status = pipeline.RunStatus(landscape.StartRefused)
	}
	return result
}

// count takes over the figures of a recorded run.
func (r *Result) count(status *Status) {
	r.Run, r.Pipeline, r.Status = status.ID, status.Pipeline, status.Status
	r.Rows, r.Quarantined, r.Refused = status.Rows, status.Quarantined, status.Failed
	r.Filtered, r.Discarded = status.Filtered, status.Discarded
	for _, sink := range status.Sinks {
		r.Sinks[sink.Sink] = SinkResult{sink.Finalized, sink.Path, sink.SHA256}
	}
}

// Printed reports whether the run writes rows to standard output, and which file has them: empty until the run is complete.
func (o *Outcome) Printed() (file string, prints bool, err error) {
	description, err := PlanOf(o.Run)
	if err != nil {
		return "", false, err
	}
	name := printer(description)
	for _, sink := range o.Status.Sinks {
		if sink.Sink == name && Complete(o.Run.Status) {
			file = sink.Path
		}
	}
	return file, name != "", nil
}

// printer returns the name of the sink that writes to standard output; empty if none does.
func printer(description plan.Description) string {
	for _, node := range description.Nodes {
		if node.Kind == plan.Sink && node.Location == pipeline.Stdio {
			return node.Name
		}
	}
	return ""
}

// Detached is a run that was started and is not followed.
type Detached struct {
	Type     string `json:"type"` // always run_started
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Queue    string `json:"queue"` // of the workers that execute it
}

// Detached says where the run is that is not followed.
func (e *Execution) Detached() Detached {
	return Detached{"run_started", e.Run, e.Workflow, e.session.Queue}
}
