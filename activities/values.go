package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/activity"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// lookBack is how many runs are looked through for the last one of the same version.
const lookBack = 200

// noteValues records of a run of a version that has begun, and logs, in which values it differs from the last run of
// the version: one worker may have other values than the rest, or somebody changed one. Repeating it is harmless.
func (a *Activities) noteValues(ctx context.Context, in OpenInput, compiled *plan.Plan) error {
	ours := fromHere(compiled.Document.References)
	if in.Version == 0 || len(ours) == 0 {
		return nil
	}
	recent, err := a.log.RecentRuns(ctx, nil, lookBack)
	if err != nil {
		return err
	}
	last := slices.IndexFunc(recent, func(r landscape.RunHead) bool {
		return r.ID != in.Run && r.Pipeline == compiled.Document.Pipeline.Name && r.Version == in.Version && r.Environment == in.Environment
	})
	if last < 0 {
		return nil
	}
	before, err := a.log.Run(ctx, recent[last].ID)
	if err != nil {
		return err
	}
	var references []pipeline.Reference
	if err := json.Unmarshal([]byte(before.Refs), &references); err != nil {
		return fmt.Errorf("references of run %s: %w", before.ID, err)
	}
	names := differing(fromHere(references), ours)
	if names == nil {
		return nil
	}
	text := fmt.Sprintf("%s: other values than in run %s of the same version, which began on %s; worker %s began this one", strings.Join(names, ", "), before.ID, before.Host, a.worker)
	if len(names) == len(ours) {
		text += "; if no value was changed, the workers have several fingerprint keys"
	}
	said := "a run begins with other values than the last one of its version"
	activity.GetLogger(ctx).Info(said, "run", in.Run, "values", text)
	return a.log.RecordValues(ctx, in.Run, text)
}

// fromHere returns the fingerprints of what the process that compiles a document gives to it, by the references.
func fromHere(references []pipeline.Reference) map[string]string {
	values := map[string]string{}
	for _, r := range references {
		switch {
		case r.Fingerprint == "" || r.From != "":
		case r.Kind == pipeline.EnvReference:
			values["${"+r.Name+"}"] = r.Fingerprint
		default:
			values["${"+string(r.Kind)+":"+r.Name+"}"] = r.Fingerprint
		}
	}
	return values
}
