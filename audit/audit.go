// Package audit asks the record: the story of one row, and whether everything on record is still true. It reads the
// landscape, the payload store, the published files, and source files that are still there, and writes nothing.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waymark/activities"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
)

// Auditor answers questions about runs. It is not safe for concurrent use.
type Auditor struct {
	log      *landscape.Log
	payloads *payload.Store
	planner  activities.Planner
	last     struct { // the chunk that was looked at last
		pack  string
		chunk *plugin.Chunk
	}
}

// New returns an Auditor.
func New(log *landscape.Log, payloads *payload.Store, planner activities.Planner) *Auditor {
	return &Auditor{log: log, payloads: payloads, planner: planner}
}

// plan compiles the run's document as it is on record. The second result says why that is not possible on this machine,
// or that the result is another plan than the run's; then what needs computing cannot be told.
func (a *Auditor) plan(run landscape.Run) (*plan.Plan, string) {
	var params map[string]string
	if err := json.Unmarshal([]byte(run.Params), &params); err != nil {
		return nil, fmt.Sprintf("the parameters on record cannot be read: %v", err)
	}
	compiled, err := a.planner.Plan(documentName, run.BaseDir, []byte(run.Document), params)
	if err != nil {
		return nil, fmt.Sprintf("the document on record does not compile here%s: %v", needs(run, nil), err)
	}
	if digest := compiled.Digest(); digest != run.PlanSHA256 {
		return nil, fmt.Sprintf("the document on record compiles to plan %.12s here, the run's was %.12s%s", digest, run.PlanSHA256, needs(run, compiled))
	}
	return compiled, ""
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

// source returns the name of the run's source: the one that is named, or the only one.
func (a *Auditor) source(ctx context.Context, run, name string) (string, error) {
	sources, err := a.log.Sources(ctx, run)
	if err != nil {
		return "", err
	}
	for _, source := range sources {
		if source.Source == name || name == "" && len(sources) == 1 {
			return source.Source, nil
		}
	}
	if name == "" {
		return "", &QuestionError{fmt.Sprintf("run %s has %d sources: name one with --source", run, len(sources))}
	}
	return "", &QuestionError{fmt.Sprintf("run %s has no source named %q", run, name)}
}
