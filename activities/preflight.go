package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waymark/activities/bundle"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// PreflightInput names a version that is about to be deployed.
type PreflightInput struct {
	Bundle      string            `json:"bundle_sha256"` // in the payload store
	Environment string            `json:"environment"`
	Params      map[string]string `json:"params,omitempty"` // values to check it with
}

// Preflight is what a run of a version would find where it was looked.
type Preflight struct {
	Host  string        `json:"host"`  // on which was looked
	Looks []PlaceLooked `json:"looks"` // sources, then sinks, in the order of the document, then triggers that lack a secret; empty, not nil, if the document has Problems
	// Problems are those of the document as it is on this host: a secret that is not there, a network or a folder that is not allowed.
	Problems []string `json:"problems,omitempty"`
}

// PlaceLooked is a source, a sink or a trigger that was looked at.
type PlaceLooked struct {
	Node    string    `json:"node"`
	Kind    string    `json:"kind"` // source, sink or trigger
	State   LookState `json:"state"`
	Message string    `json:"message,omitempty"` // why it is not as it should be
}

// LookState says how a source, a sink or a trigger was found.
type LookState string

// The states of a source, a sink or a trigger.
const (
	LookReady  LookState = "ready"
	LookLater  LookState = "later"  // there is nothing to read yet, an output stands there already, or a secret is missing: that may be otherwise when a run begins
	LookHeld   LookState = "held"   // only a secret that leaves once the deployment is recorded would have shown more
	LookFaulty LookState = "faulty" // no run could read or write it
)

// lookTimeout is how long it may take to look at one source or sink.
const lookTimeout = 15 * time.Second

// Preflight looks, from this host, at the places that a version would read and write, with the secrets and the rights of this process. It leaves nothing behind.
func (a *Activities) Preflight(ctx context.Context, in PreflightInput) (Preflight, error) {
	found, err := a.preflight(ctx, in)
	return found, toTemporal(err)
}

func (a *Activities) preflight(ctx context.Context, in PreflightInput) (found Preflight, err error) {
	b, err := bundle.Get(ctx, a.payloads, payload.Digest(in.Bundle))
	if err != nil {
		return found, fmt.Errorf("the version that is to be deployed: %w", err)
	}
	values, err := a.log.LastEnvironment(ctx, in.Environment)
	if err != nil {
		return found, err
	}
	request := plan.Request{
		File: b.Name, Document: b.Source, Params: in.Params, Deployed: true, Files: b.Files, ValuesOf: values.Label(),
		Standing: plan.Proposed,
	}
	if request.Values, err = values.Values(); err != nil {
		return found, err
	}
	compiled, err := a.planner.Plan(request)
	if err == nil {
		compiled, err = a.ofRecord(ctx, in, request, compiled)
	}
	if problems := (pipeline.Problems)(nil); errors.As(err, &problems) {
		host, _ := HostName()
		found = Preflight{Host: host, Looks: []PlaceLooked{}}
		for _, problem := range problems {
			found.Problems = append(found.Problems, problem.String())
		}
		return found, nil
	}
	if err != nil {
		return found, err
	}
	found = Look(ctx, compiled)
	found.Looks = append(found.Looks, a.lookAtSecrets(compiled)...)
	if err := a.taken(ctx, compiled); errors.As(err, new(*plugin.TargetError)) {
		found.Problems = append(found.Problems, err.Error())
	} else if err != nil {
		return found, err
	}
	return found, nil
}

// ofRecord compiles a version again with what it may do once it is recorded, if it is.
func (a *Activities) ofRecord(
	ctx context.Context, in PreflightInput, request plan.Request, compiled *plan.Plan,
) (*plan.Plan, error) {
	versions, err := a.log.Versions(ctx, compiled.Document.Pipeline.Name)
	is := func(v landscape.PipelineVersion) bool { return v.Bundle == in.Bundle }
	if err != nil || !slices.ContainsFunc(versions, is) {
		return compiled, err
	}
	request.Standing = plan.Recorded
	return a.planner.Plan(request)
}

// lookAtSecrets returns the triggers whose deliveries this process could not verify. They may be taken elsewhere, or the secrets come later: so that keeps nobody from deploying.
func (a *Activities) lookAtSecrets(compiled *plan.Plan) (looks []PlaceLooked) {
	for _, trigger := range compiled.Document.Pipeline.Triggers {
		if trigger.Value.HTTP == nil {
			continue
		}
		if err := recompute.CheckSecrets(a.planner, compiled.Document.Pipeline.Name, *trigger.Value.HTTP); err != nil {
			message := "deliveries cannot be verified here: " + strings.ReplaceAll(err.Error(), "\n", "; ")
			looks = append(looks, PlaceLooked{Node: trigger.Name, Kind: "trigger", State: LookLater, Message: message})
		}
	}
	return looks
}

// Look looks at the sources and the sinks of a compiled document, several side by side.
func Look(ctx context.Context, compiled *plan.Plan) Preflight {
	host, _ := HostName()
	triggers := map[string]*pipeline.ArrivalTrigger{}
	for i, trigger := range compiled.Document.Pipeline.Triggers {
		triggers[trigger.Value.Source] = &compiled.Document.Pipeline.Triggers[i].Value
	}
	var nodes []*plan.Node
	for i := range compiled.Nodes {
		if node := &compiled.Nodes[i]; node.Source != nil {
			nodes = append(nodes, node)
		}
	}
	for _, i := range compiled.Sinks() {
		nodes = append(nodes, &compiled.Nodes[i])
	}
	found := Preflight{Host: host, Looks: make([]PlaceLooked, len(nodes))}
	for i, err := range inParallel(len(nodes), func(i int) error {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		found.Looks[i] = lookAt(ctx, nodes[i], triggers[nodes[i].Name])
		return nil
	}) {
		if err != nil {
			kind := string(nodes[i].Kind)
			found.Looks[i] = PlaceLooked{Node: nodes[i].Name, Kind: kind, State: LookFaulty, Message: err.Error()}
		}
	}
	return found
}

// lookAt looks at a source, which may have a trigger, or at a sink.
func lookAt(ctx context.Context, node *plan.Node, trigger *pipeline.ArrivalTrigger) PlaceLooked {
	look := PlaceLooked{Node: node.Name, Kind: "source", State: LookReady}
	var err error
	if node.Source != nil {
		err = inspect(ctx, node.Source, trigger)
	} else {
		look.Kind, err = "sink", probe(ctx, node)
	}
	if err != nil {
		look.State, look.Message = LookFaulty, strings.TrimPrefix(strings.TrimSpace(err.Error()), look.Kind+" "+look.Node+": ")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		look.Message = fmt.Sprintf("no answer within %v", lookTimeout)
	}
	switch {
	case isHeld(err):
		look.State = LookHeld
	case mayChange(err):
		look.State = LookLater
	}
	return look
}

// mostHeads is how many files of a source are opened at most.
const mostHeads = 20

// inspect finds out whether a run could read a source: what there is, and whether the first files begin as the document says. Where files or rows arrive, or rows come with a request,
// there may be none yet.
func inspect(ctx context.Context, source plugin.Source, trigger *pipeline.ArrivalTrigger) error {
	var info plugin.SourceInfo
	var err error
	watched, is := source.(plugin.Watched)
	_, requestable := source.(plugin.Requestable)
	table, grows := source.(plugin.Growing)
	switch {
	case is && (requestable || trigger != nil):
		info.Files, _, err = watched.Look(ctx) // what is left out keeps no other file from arriving
	case grows && trigger != nil && trigger.Rows != nil:
		one := *trigger.Rows
		one.Most = 1
		_, err = table.Grown(ctx, one, nil)
	default:
		info, err = source.Stat(ctx)
	}
	checker, can := source.(plugin.HeadChecker)
	if err != nil || !can {
		return err
	}
	for _, file := range info.Files[:min(len(info.Files), mostHeads)] {
		if err := checker.CheckHead(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// probe finds out whether a sink could write. A target that cannot be probed is ready.
func probe(ctx context.Context, node *plan.Node) error {
	encoder, err := node.Encoder()
	if err != nil {
		return err
	}
	if latest := latestOf(node); latest != nil {
		if err := latest.Check(ctx); err != nil {
			return err
		}
	}
	if target, can := node.Sink.Target("preflight").(plugin.Prober); can {
		return target.Probe(ctx, encoder.Header())
	}
	return nil
}

// isHeld reports whether an error is about a secret that may not leave yet.
func isHeld(err error) bool {
	const held = "SECRET_HELD"
	source, target := (*plugin.SourceError)(nil), (*plugin.TargetError)(nil)
	return errors.As(err, &source) && source.Code == held || errors.As(err, &target) && target.Code == held
}

// mayChange reports whether an error is about what lies there now, and not about whether it can be reached.
func mayChange(err error) bool {
	source, target := (*plugin.SourceError)(nil), (*plugin.TargetError)(nil)
	switch {
	case errors.As(err, &source):
		return slices.Contains([]string{"NOT_FOUND", "EMPTY_SOURCE", "SOURCE_CHANGED"}, source.Code)
	case errors.As(err, &target):
		return target.Code == "TARGET_EXISTS"
	}
	return false
}
