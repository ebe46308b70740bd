package recompute

import (
	"context"
	"encoding/json"
	"fmt"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// Request returns what a run was compiled from, as on record, with the values that its environment had then. tables are the contents of its lookup tables by node.
func Request(ctx context.Context, log *landscape.Reader, run landscape.Run, tables map[string][]byte) (plan.Request, error) {
	request := plan.Request{
		File: run.Pipeline + ".yaml", Folder: run.BaseDir, Document: []byte(run.Document), Tables: tables,
		Deployed: run.Version > 0, Standing: plan.Recorded,
	}
	if err := json.Unmarshal([]byte(run.Params), &request.Params); err != nil {
		return request, fmt.Errorf("the parameters on record cannot be read: %w", err)
	}
	values, err := log.Environment(ctx, run.Environment, run.EnvironmentSeq)
	if err != nil {
		return request, err
	}
	if request.Values, err = values.Values(); err != nil {
		return request, err
	}
	request.ValuesOf = values.Label()
	description, err := Described(run)
	request.Beside = description.Beside
	return request, err
}

// Described returns the description of a run's plan, as on record.
func Described(run landscape.Run) (plan.Description, error) {
	var description plan.Description
	if err := json.Unmarshal([]byte(run.Plan), &description); err != nil {
		return description, fmt.Errorf("the plan of run %s on record cannot be read: %w", run.ID, err)
	}
	return description, nil
}

// Tables returns the contents of the run's lookup tables by node, as they were when the run began.
func Tables(ctx context.Context, log *landscape.Reader, payloads *payload.Store, id string) (map[string][]byte, error) {
	records, err := log.Tables(ctx, id)
	if err != nil {
		return nil, err
	}
	tables := map[string][]byte{}
	for _, record := range records {
		content, err := payloads.Get(ctx, payload.Digest(record.SHA256))
		if err != nil {
			return nil, fmt.Errorf("table %s of run %s: %w", record.Node, id, err)
		}
		tables[record.Node] = content
	}
	return tables, nil
}
