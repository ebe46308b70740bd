// Package audit asks the record: the story of one row, and whether everything on record is still true. It reads the
// landscape, the payload store and the published files, and writes nothing.
package audit

import (
	"context"
	"encoding/json"
	"fmt"

	"waymark/activities"
	"waymark/landscape"
	"waymark/payload"
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
	compiled, err := a.planner.Plan(run.Pipeline+".yaml", run.BaseDir, []byte(run.Document), params)
	if err != nil {
		return nil, fmt.Sprintf("the document on record does not compile here: %v", err)
	}
	if digest := compiled.Digest(); digest != run.PlanSHA256 {
		return nil, fmt.Sprintf("the document on record compiles to plan %.12s here, the run's was %.12s", digest, run.PlanSHA256)
	}
	return compiled, ""
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
