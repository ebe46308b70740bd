package activities

import (
	"encoding/json"
	"fmt"

	"waymark/landscape"
	"waymark/plan"
)

// Request returns what a run was compiled from, as on record. tables are the contents of its lookup tables by node.
func Request(run landscape.Run, tables map[string][]byte) (plan.Request, error) {
	request := plan.Request{File: run.Pipeline + ".yaml", Folder: run.BaseDir, Document: []byte(run.Document), Tables: tables}
	if err := json.Unmarshal([]byte(run.Params), &request.Params); err != nil {
		return request, fmt.Errorf("the parameters on record cannot be read: %w", err)
	}
	description, err := described(run)
	request.Beside = description.Beside
	return request, err
}
