package activities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"waymark/activities/resumepoint"
	"waymark/internal/temporal/attributes"
	"waymark/landscape"
	"waymark/pipeline"
)

// Labels is what Temporal is to show of a run besides its id: no values of parameters, reasons or names of files, for it is not encrypted.
// What is not known is empty.
type Labels struct {
	// Attributes are the search attributes that the namespace has, of the right types, by name. A workflow that set another one could not
	// continue.
	Attributes  []string `json:"attributes,omitempty"`
	Pipeline    string   `json:"pipeline,omitempty"`
	Document    string   `json:"document,omitempty"` // SHA-256
	Environment string   `json:"environment,omitempty"`
	Version     int64    `json:"version,omitempty"` // of the deployed pipeline; 0 for a file
	Trigger     string   `json:"trigger,omitempty"`
	Actor       string   `json:"actor,omitempty"`
	Status      string   `json:"status,omitempty"`    // of the run's record, or attributes.Refused
	Landscape   string   `json:"landscape,omitempty"` // the id of that in which the run is recorded; "" of a process that works alone
}

// Opened is what OpenRun returns.
type Opened struct {
	resumepoint.Plan
	Labels Labels `json:"labels,omitzero"`
	Held   *Held  `json:"held,omitempty"` // why the run does not begin, or not yet; then there is no Plan

	// Overridden are, by name of a parameter, the values that the run's slot gives, where the input has another one.
	Overridden map[string]string `json:"overridden,omitempty"`
}

// Resumed is what ResumeRun returns.
type Resumed struct {
	resumepoint.State
	Labels Labels `json:"labels,omitzero"`
}

// Labelled is what activities return that only do something.
type Labelled struct {
	Labels Labels `json:"labels,omitzero"`
}

// Stopped is what StopRun returns.
type Stopped struct {
	Labelled
	// Replaced is why a run was cancelled that gave way to another one; empty if it did not.
	Replaced string `json:"replaced,omitempty"`
	Reason   string `json:"reason,omitempty"` // that is recorded, of a workflow that was cancelled in Temporal
}

// LabelInput is a start whose run is a workflow of its own.
type LabelInput struct {
	Run      string `json:"run"`
	Pipeline string `json:"pipeline,omitempty"` // as the start names it
}

// LabelStart says what Temporal is to show of the workflow that starts another one for its run: what is recorded of the run, or else of the
// start. It changes nothing.
func (a *Activities) LabelStart(ctx context.Context, in LabelInput) (Labelled, error) {
	labels, err := a.labelsOf(ctx, in.Run)
	if errors.Is(err, landscape.ErrNotFound) {
		labels, err = a.labelsAsked(ctx, in)
	}
	return Labelled{labels}, toTemporal(err)
}

// labelsAsked returns the labels of a start whose run is not recorded, or not yet.
func (a *Activities) labelsAsked(ctx context.Context, in LabelInput) (Labels, error) {
	start, err := a.log.LastStart(ctx, in.Run)
	if err == nil {
		labels := a.labelsOfStart(ctx, start)
		labels.Landscape = a.affinity.Landscape
		labels.Pipeline, _, _ = strings.Cut(in.Pipeline, "@") // without the version
		return labels, nil
	}
	if !errors.Is(err, landscape.ErrNotFound) {
		return Labels{}, err
	}
	from, err := a.askOrigin(ctx)
	if err != nil {
		return Labels{}, err
	}
	labels := a.labels(ctx)
	labels.Pipeline, labels.Landscape = in.Pipeline, a.affinity.Landscape
	labels.Actor, labels.Trigger = from.who()
	return labels, nil
}

// labels returns the search attributes that can be set now, and nothing of the run.
func (a *Activities) labels(ctx context.Context) Labels {
	operator, namespace := operatorOf(ctx), activity.GetInfo(ctx).Namespace
	if operator == nil {
		return Labels{}
	}
	names, err := a.usable.now(func() ([]string, error) {
		ctx, done := context.WithTimeout(ctx, usablePatience)
		defer done()
		names, _, err := attributes.Look(ctx, operator, namespace)
		return names, err
	})
	if err != nil {
		activity.GetLogger(ctx).Warn("search attributes are unknown, and none are set", "namespace", namespace, "error", err)
	}
	return Labels{Attributes: names}
}

// labelsOf returns the labels of a run that is recorded.
func (a *Activities) labelsOf(ctx context.Context, run string) (Labels, error) {
	on, err := a.log.Run(ctx, run)
	if err != nil {
		return Labels{}, err
	}
	labels := a.labels(ctx)
	labels.Pipeline, labels.Document, labels.Trigger, labels.Actor = on.Pipeline, on.DocumentSHA256, on.Trigger, on.Actor
	labels.Status, labels.Environment, labels.Version = string(on.Status), on.Environment, on.Version
	labels.Landscape = a.affinity.Landscape
	return labels, nil
}

// labelsOfStart returns the labels of a start of which no run came, but for its pipeline.
func (a *Activities) labelsOfStart(ctx context.Context, start landscape.Start) Labels {
	labels := a.labels(ctx)
	labels.Trigger, labels.Actor, labels.Environment = start.Trigger, start.Actor, start.Environment
	switch start.State {
	case landscape.StartRefused:
		labels.Status = attributes.Refused
	case landscape.StartCancelled:
		labels.Status = string(pipeline.Cancelled)
	case landscape.StartWaiting, landscape.StartSkipped, landscape.StartSuperseded:
		labels.Status = string(start.State)
	}
	return labels
}

// How long an answer about search attributes is believed, and how long one may take.
const (
	usableFor      = time.Minute
	usablePatience = 2 * time.Second
)

// usable remembers which search attributes the namespace of the process has. It is safe for concurrent use.
type usable struct {
	mu      sync.Mutex
	asked   time.Time // zero before the first answer
	names   []string  // of the last answer
	counted []string  // those that may be set
}

// now returns the search attributes that workflows may set, if need be by a look at those that there are; nil if that fails, and the error of the
// look. One that was registered while this process was running counts from the second look on: servers take some seconds to know it all.
func (u *usable) now(look func() ([]string, error)) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := u.asked.IsZero()
	if !first && time.Since(u.asked) < usableFor {
		return u.counted, nil
	}
	names, err := look()
	u.counted = names
	if !first {
		u.counted = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(u.names, name) })
	}
	u.names, u.asked = names, time.Now()
	return u.counted, err
}

// operatorOf returns the operator service of the worker's server; nil in an environment that has none.
func operatorOf(ctx context.Context) operatorservice.OperatorServiceClient {
	if _, without := ctx.Value(serviceKey{}).(workflowservice.WorkflowServiceClient); without {
		return nil
	}
	return activity.GetClient(ctx).OperatorService()
}
