package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// filesName is the name of the files that this machine sees, as its workers call them.
func (c *config) filesName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // as in package activities
	}
	return cmp.Or(c.files, host)
}

// sees reports whether this machine sees the files of the run.
func (a *app) sees(run landscape.Run) bool { return !a.onCluster() || run.Host == a.filesName() }

// needsFiles reports whether only who sees the files of this machine can execute the plan.
func needsFiles(compiled *plan.Plan) bool {
	for i := range compiled.Nodes {
		node := &compiled.Nodes[i]
		if node.Table != nil {
			return true
		}
		for _, place := range []any{node.Source, node.Sink} {
			if local, is := place.(plugin.OnHost); is && local.OnHost() {
				return true
			}
		}
	}
	return false
}

// writesFiles reports whether a sink of the run is a file, or a folder of files.
func writesFiles(run landscape.Run) (bool, error) {
	var description plan.Description
	if err := json.Unmarshal([]byte(run.Plan), &description); err != nil {
		return false, fmt.Errorf("run %s: the plan on record: %w", run.ID, err)
	}
	for _, node := range description.Nodes {
		if node.Location != "" && !strings.Contains(node.Location, "://") {
			return true, nil
		}
	}
	return false, nil
}
