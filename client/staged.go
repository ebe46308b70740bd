package client

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"

	"waymark/engine/plan"
	"waymark/landscape"
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
	var description plan.Description
	if err := json.Unmarshal([]byte(run.Plan), &description); err != nil {
		return nil, fmt.Errorf("run %s: the plan on record: %w", run.ID, err)
	}
	var found []Staged
	for _, node := range description.Nodes {
		if node.Location == "" {
			continue
		}
		path := stagingOf(node.Location, run.ID)
		if bytes, there := bytesBelow(path); there {
			found = append(found, Staged{node.Name, path, bytes})
		}
	}
	return found, nil
}

// stagingOf returns where a file sink stages what a run writes. Source: docs/sinks.md.
func stagingOf(location, run string) string {
	return filepath.Join(filepath.Dir(location), "."+filepath.Base(location)+"."+run+".partial")
}

// bytesBelow returns the length of the file, or of all files in the folder, and whether there is one. What cannot be looked
// at does not count.
func bytesBelow(path string) (total int64, there bool) {
	_ = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be looked at does not count
		}
		there = true
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total, there
}
