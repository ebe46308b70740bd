package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"waymark/payload"
	"waymark/pipeline"
)

// ListInput asks which pipelines can be started by name.
type ListInput struct {
	After string `json:"after,omitempty"` // a name: the list begins with the one after it
}

// PipelineList are pipelines that can be started by name.
type PipelineList struct {
	Pipelines []ListedPipeline `json:"pipelines"`      // by name; empty, not nil, if there is none
	Next      string           `json:"next,omitempty"` // ask for those after this one: there are more
}

// ListedPipeline is a pipeline that can be started by name.
type ListedPipeline struct {
	Pipeline  string             `json:"pipeline"`
	Version   int64              `json:"version,omitempty"` // that a run is of now; 0 for a document in the folder of the worker that made the list
	Params    []PipelineParam    `json:"params"`            // as the document has them; empty, not nil, if it declares none
	Schedules []PipelineSchedule `json:"schedules,omitempty"`
	Problem   string             `json:"problem,omitempty"` // why the document cannot be read, or that it belongs to another pipeline; then Params and Schedules are empty
}

// PipelineParam is a parameter that a document declares.
type PipelineParam struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	Required    bool    `json:"required"` // each run must give a value
	Default     *string `json:"default"`  // null if it is required
	Description string  `json:"description,omitempty"`
}

// PipelineSchedule is a schedule that a document declares, in the words of the document.
type PipelineSchedule struct {
	Name  string   `json:"name"`
	Every string   `json:"every,omitempty"` // or Cron, or Days
	Cron  string   `json:"cron,omitempty"`
	Days  []string `json:"days,omitempty"`
	At    string   `json:"at,omitempty"`
	Zone  string   `json:"zone,omitempty"`

	ForEach []string `json:"for_each,omitempty"` // the names of what slots have values of, beside their time
}

// How many pipelines a list has at most, and how many bytes of JSON before its last one: what Temporal takes is 2 MiB.
const (
	maxListed      = 100
	maxListedBytes = 256 << 10
)

// ListPipelines lists the pipelines that can be started by name: those that are deployed in its environment and not retired, and the documents in the
// folder of this worker. It changes nothing.
func (a *Activities) ListPipelines(ctx context.Context, in ListInput) (PipelineList, error) {
	list, err := a.listPipelines(ctx, in.After)
	return list, toTemporal(err)
}

func (a *Activities) listPipelines(ctx context.Context, after string) (PipelineList, error) {
	current, err := a.log.CurrentVersions(ctx, a.ownEnvironment())
	if err != nil {
		return PipelineList{}, err
	}
	deployed := map[string]int64{} // versions by name; 0 for a file
	if folder := a.affinity.Pipelines; folder != "" {
		for _, name := range deployedIn(folder) {
			deployed[name] = 0
		}
	}
	for _, deployment := range current {
		if deployed[deployment.Pipeline] = deployment.Version; deployment.Retired() {
			delete(deployed, deployment.Pipeline)
		}
	}
	list := PipelineList{Pipelines: []ListedPipeline{}}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(deployed)) {
		if name <= after || !deployedName.MatchString(name) {
			continue
		}
		if len(list.Pipelines) == maxListed || size > maxListedBytes {
			list.Next = list.Pipelines[len(list.Pipelines)-1].Pipeline
			break
		}
		listed, err := a.listed(ctx, name, deployed[name])
		if err != nil {
			return PipelineList{}, err
		}
		text, err := json.Marshal(listed)
		if err != nil {
			return PipelineList{}, err
		}
		size += len(text)
		list.Pipelines = append(list.Pipelines, listed)
	}
	return list, nil
}

func (a *Activities) listed(ctx context.Context, name string, version int64) (ListedPipeline, error) {
	file, text, err := a.documentOf(ctx, name, version)
	if err != nil && version != 0 {
		return ListedPipeline{}, fmt.Errorf("pipeline %s: %w", name, err)
	}
	return listedAs(name, version, file, text, err), nil
}

// ServedIn lists the documents of a folder that can be started by name, also those that have problems; nil if there is none.
func ServedIn(folder string) (served []ListedPipeline) {
	if folder == "" {
		return nil
	}
	names := slices.DeleteFunc(deployedIn(folder), func(name string) bool { return !deployedName.MatchString(name) })
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		file := servedFiles(folder, name)[0]
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			file = servedFiles(folder, name)[1]
			text, err = os.ReadFile(file)
		}
		served = append(served, listedAs(name, 0, filepath.Base(file), text, err))
	}
	return served
}

// listedAs describes a document that was read, or could not be.
func listedAs(name string, version int64, file string, text []byte, err error) ListedPipeline {
	var doc *pipeline.Document
	if err == nil {
		doc, err = pipeline.Load(file, text, pipeline.Environment{}) // what its references lead to is not known here
	}
	listed := ListedPipeline{Pipeline: name, Version: version, Params: ParamsOf(doc)}
	if doc == nil {
		listed.Problem = err.Error()
		return listed
	}
	if doc.Pipeline.Name != name {
		return ListedPipeline{Pipeline: name, Version: version, Params: ParamsOf(nil), Problem: misnamed(name, doc.Pipeline.Name).Error()}
	}
	for _, s := range doc.Pipeline.Schedules {
		every := s.Value.Every
		schedule := PipelineSchedule{Name: s.Name, Every: every.Word, Cron: every.Cron, Days: every.Days, At: s.Value.At, Zone: s.Value.Zone}
		for _, each := range s.Value.ForEach {
			schedule.ForEach = append(schedule.ForEach, each.Name)
		}
		listed.Schedules = append(listed.Schedules, schedule)
	}
	return listed
}

// documentOf returns the document of a version of a pipeline, or if that is 0 the one in the folder of the worker.
func (a *Activities) documentOf(ctx context.Context, name string, version int64) (file string, text []byte, err error) {
	if version == 0 {
		if file, err = a.findDeployed(name); err == nil {
			text, err = os.ReadFile(file)
		}
		return filepath.Base(file), text, err
	}
	found, err := a.log.Version(ctx, name, version)
	if err != nil {
		return "", nil, err
	}
	stored, err := a.log.Bundle(ctx, found.Bundle)
	if err == nil {
		text, err = a.payloads.Get(ctx, payload.Digest(stored.Document))
	}
	return name + ".yaml", text, err
}

// ParamsOf returns the parameters that a document declares; empty, not nil, if it declares none, or is nil.
func ParamsOf(doc *pipeline.Document) []PipelineParam {
	params := []PipelineParam{}
	if doc == nil {
		return params
	}
	for _, p := range doc.Pipeline.Params {
		params = append(params, PipelineParam{p.Name, p.Value.Type, p.Value.Default == nil, p.Value.Default, p.Value.Description})
	}
	return params
}
