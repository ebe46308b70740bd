package client

import (
	"slices"

	"waymark/landscape"
	"waymark/plugin/file"
)

// Staged is what a run wrote for a sink and did not publish.
type Staged struct {
	Sink  string `json:"sink"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// StagedOf returns what lies staged for the sinks of a run that is not complete, and that this machine sees; nil if
// nothing does. The error is that of a plan on record that cannot be read.
func StagedOf(run landscape.Run) ([]Staged, error) {
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

// deleted returns what lay staged for a run, as StagedOf said, and does so no more; nil if that cannot be seen.
func deleted(before []Staged, run landscape.Run) []Staged {
	left, err := StagedOf(run)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(before, func(output Staged) bool {
		return slices.ContainsFunc(left, func(l Staged) bool { return l.Path == output.Path })
	})
}
