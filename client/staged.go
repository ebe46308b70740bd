package client

import (
	"waymark/landscape"
	"waymark/plugin/file"
)

// Staged is what a run wrote for a sink and did not publish.
type Staged struct {
	Sink  string `json:"sink"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// staged returns what lies staged for the sinks of a run that is not complete; nil if nothing does.
func staged(run landscape.Run) ([]Staged, error) {
	if Complete(run.Status) {
		return nil, nil
	}
	description, err := PlanOf(run)
	if err != nil {
		return nil, err
	}
	var found []Staged
	for _, node := range description.Nodes {
		if node.Location == "" {
			continue
		}
		if path, bytes, there := file.Staged(node.Location, run.ID); there {
			found = append(found, Staged{node.Name, path, bytes})
		}
	}
	return found, nil
}
