// Package audit asks the record: the story of one row, and whether everything recorded is still true. It reads the
// landscape, the payload store, the published files, and source files that are still there, and writes nothing.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// Auditor answers questions about runs. It is not safe for concurrent use.
type Auditor struct {
	log      *landscape.Reader
	payloads *payload.Store
	planner  recompute.Planner
}

// New returns an Auditor.
func New(log *landscape.Reader, payloads *payload.Store, planner recompute.Planner) *Auditor {
	return &Auditor{log: log, payloads: payloads, planner: planner}
}

// plan compiles the run's document as it is recorded, with the lookup tables that the run kept. problem says why that is
// not possible on this machine, that the run is archived and its bundle away, or that the result is another plan than the run's; then what needs computing is unknown.
func (a *Auditor) plan(ctx context.Context, run landscape.Run) (compiled *plan.Plan, problem string, err error) {
	tables, err := a.tables(ctx, run.ID)
	switch {
	case errors.Is(err, landscape.ErrNoBundle):
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	}
	request, err := recompute.Request(ctx, a.log, run, tables)
	if err != nil {
		return nil, fmt.Sprint(err), nil
	}
	request.File = documentName
	compiled, err = a.planner.Plan(request)
	if err != nil {
		return nil, fmt.Sprintf("the document on record does not compile here%s: %v", needs(run, nil), err), nil
	}
	if digest := compiled.Digest(); digest != run.PlanSHA256 {
		return nil, fmt.Sprintf("the document on record compiles to plan %.12s here, the run's was %.12s%s", digest, run.PlanSHA256, needs(run, compiled)), nil
	}
	return compiled, "", nil
}

// tables returns the lookup tables that the run kept. If one of them is not to be had there is none: the files that they
// came from may be as they were, and the plan's digest tells.
func (a *Auditor) tables(ctx context.Context, run string) (map[string][]byte, error) {
	tables, err := recompute.Tables(ctx, a.log, a.payloads, run)
	if errors.Is(err, payload.ErrNotFound) || errors.Is(err, payload.ErrCorrupt) {
		return nil, nil //nolint:nilnil // no tables is no error
	}
	return tables, err
}

// documentName stands where messages name the document's file.
const documentName = "the document on record"

// needs names the environment variables and secrets that the document needs as they were when the run began: those that
// differ from then, or all of them if it does not compile.
func needs(run landscape.Run, compiled *plan.Plan) string {
	var then []pipeline.Reference
	if err := json.Unmarshal([]byte(run.Refs), &then); err != nil {
		return fmt.Sprintf(" (the references on record cannot be read: %v)", err)
	}
	var names []string
	for _, reference := range then {
		same := compiled != nil && slices.Contains(compiled.Document.References, reference)
		if reference.Kind != pipeline.ParamReference && !same {
			names = append(names, reference.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; it needs %s as it was when the run began", strings.Join(names, ", "))
}

// hasSink returns a *QuestionError unless the run has a sink of this name.
func (a *Auditor) hasSink(ctx context.Context, run, name string) error {
	nodes, err := a.log.Nodes(ctx, run)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(nodes, func(n landscape.Node) bool { return n.Kind == landscape.SinkNode && n.Node == name }) {
		return &QuestionError{Message: fmt.Sprintf("run %s has no sink named %q", run, name)}
	}
	return nil
}

// origin returns the name of an origin of rows: the source or barrier that is named, or else the only source.
func (a *Auditor) origin(ctx context.Context, run, name string) (string, error) {
	origins, err := a.log.Sources(ctx, run)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(origins, func(s landscape.Source) bool { return s.Source == name }) {
		return name, nil
	}
	if name != "" {
		return "", &QuestionError{Message: fmt.Sprintf("run %s has no source named %q", run, name)}
	}
	nodes, err := a.log.Nodes(ctx, run)
	if err != nil {
		return "", err
	}
	var sources []string
	for _, node := range nodes {
		if node.Kind == landscape.SourceNode {
			sources = append(sources, node.Node)
		}
	}
	if len(sources) != 1 {
		return "", &QuestionError{fmt.Sprintf("run %s has %d sources: name one", run, len(sources)), len(sources)}
	}
	return sources[0], nil
}
