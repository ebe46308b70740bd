package client

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waymark/activities/bundle"
	"waymark/audit"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/worker"
)

// Deposit is what versions of pipelines are made with, and kept in.
type Deposit struct {
	Payloads *payload.Store
	Planner  worker.Planner
	Code     string // of this build of the program
}

// DeployRequest says what to deploy. Its Why is the message of the version.
type DeployRequest struct {
	By
	File   string            // of the document; with Source only its name
	Source []byte            // the document itself; nil to read the File
	Files  map[string][]byte // with Source: what the document is compiled with, such as lookup tables, by path; each must be used
	Params map[string]string // values to check it with, of parameters that have no default; they are not part of the version
	To     string            // the environment; empty for the default one
	// May returns why the deployer may have nothing to do with a pipeline of this name: with the document's own, or one
	// that it follows. nil for whom that is not limited.
	May func(pipeline string) error
	// Trying is called before the records of a run are sent through the version: its error ends the deployment. nil for
	// nothing.
	Trying func(run string) error
	// Try is how many of the last complete runs have their source records sent through the version, to say what is
	// other; 0 for none.
	Try int
	// Anyway is why a document is deployed that has schedules and cannot run twice, or whose runs cannot succeed as
	// things are; empty to refuse it.
	Anyway string
	DryRun bool // say what would happen, and change nothing
}

// Deployed says what became of a deployment.
type Deployed struct {
	Pipeline    string            `json:"pipeline"`
	Environment string            `json:"environment"` // in which it is deployed
	Version     int64             `json:"version"`
	Bundle      string            `json:"bundle_sha256"`
	New         bool              `json:"new"`     // the version was not there before
	Changed     bool              `json:"changed"` // it was not current before
	Before      int64             `json:"before"`  // the version that was current; 0 for none
	DryRun      bool              `json:"dry_run,omitempty"`
	Files       []bundle.File     `json:"files"`
	Commit      string            `json:"git_commit,omitempty"` // of who deployed the version first
	Dirty       bool              `json:"git_dirty,omitempty"`
	Preflight   Preflight         `json:"preflight"`          // what the worker found that looked
	Trials      []audit.Trial     `json:"trials,omitempty"`   // of runs that were tried, the last first
	Warnings    []DocumentProblem `json:"warnings,omitempty"` // what a later run may meet; the version is deployed
	Adopted
}

// Deploy makes a version of a pipeline of the file of a document and the files that it is compiled with, and makes it the current one of an
// environment. Equal bytes are the same version; who deploys what is current changes nothing. The error is an *Error of kind Invalid if the document has problems,
// also those that it has only as a deployed one, which has no folder and is run again and again by its schedules, or if a worker could not read its sources or write to its sinks; of kind Conflict if the pipeline is retired there.
func (c *Client) Deploy(ctx context.Context, r DeployRequest) (_ *Deployed, err error) {
	defer c.edge(ctx, &err)
	where, err := environmentNamed(r.To)
	if err != nil {
		return nil, err
	}
	deposit, err := c.host.Deposit(ctx, true)
	if err != nil {
		return nil, err
	}
	values, err := c.log.LastEnvironment(ctx, where)
	if err != nil {
		return nil, err
	}
	doc, err := compileToDeploy(deposit.Planner, r, values)
	if err != nil {
		return nil, err
	}
	made, err := bundleOf(doc)
	if err != nil {
		return nil, err
	}
	for path := range r.Files {
		if made.Files[path] == nil {
			return nil, invalid(fmt.Sprintf("%s uses no file %q: leave it out, or write its path as the document does", r.File, path))
		}
	}
	if doc, err = compileBundle(deposit.Planner, made, r.File, doc.Params, values); err != nil {
		return nil, err
	}
	if err = mayFollow(r.May, doc.Name(), doc.Plan.Document.Pipeline.Triggers); err != nil {
		return nil, err
	}
	if err = c.comesBack(ctx, where, r.File, doc.Name(), doc.Plan.Document.Pipeline.Triggers); err == nil && r.Anyway == "" {
		err = c.fits(ctx, where, doc, made)
	}
	if err != nil {
		return nil, err
	}
	manifest := made.Manifest()
	by := r.or(c.Actor)
	if r.Anyway != "" {
		by.Why = strings.TrimSpace(by.Why + " (anyway: " + r.Anyway + ")")
	}
	version := landscape.PipelineVersion{
		Pipeline: doc.Name(), Bundle: string(manifest.Digest()), Actor: by.Actor, Message: by.Why, Code: deposit.Code, Host: HostName(),
	}
	if r.Source == nil {
		if version.Folder, err = filepath.Abs(filepath.Dir(r.File)); err != nil {
			return nil, err
		}
		version.Commit, version.Dirty = gitOrigin(ctx, version.Folder, manifest)
	}
	preflight, err := c.preflight(ctx, deposit, made, doc, where)
	if err == nil && r.Anyway == "" {
		err = preflight.refuse(r.File)
	}
	if err != nil {
		return nil, err
	}
	warnings, err := c.warningsOf(ctx, doc.Plan.Document)
	if err != nil {
		return nil, err
	}
	trials, err := c.try(ctx, deposit.Planner, r, made, doc, values)
	if err != nil {
		return nil, err
	}
	deployed, adopted, err := c.deploy(ctx, deposit, made, where, version, r.DryRun)
	if err != nil {
		return nil, registryError(where, version.Pipeline, err)
	}
	if !r.DryRun && preflight.held() {
		if later, err := c.preflight(ctx, deposit, made, doc, where); err == nil && later.Skipped == "" {
			preflight = later // the version is deployed, whatever that found
		}
	}
	return &Deployed{
		Adopted:  adopted,
		Pipeline: version.Pipeline, Environment: where, Version: deployed.Version, Bundle: version.Bundle, New: deployed.New, Changed: deployed.Became, Before: deployed.Before,
		Preflight: preflight, DryRun: r.DryRun, Files: manifest.Files, Commit: deployed.Commit, Dirty: deployed.Dirty, Warnings: warnings, Trials: trials,
	}, nil
}

// deploy stores the bundle and then the version, or only looks what would happen. It returns what becomes of schedules.
func (c *Client) deploy(
	ctx context.Context, deposit *Deposit, made bundle.Bundle, where string, version landscape.PipelineVersion, dry bool,
) (deployed landscape.Deployed, adopted Adopted, err error) {
	if dry {
		if deployed, err = c.log.PlanDeploy(ctx, where, version); err == nil {
			adopted, err = c.toAdopt(ctx, where, version.Pipeline, made)
		}
		return deployed, adopted, err
	}
	if err := bundle.Put(ctx, deposit.Payloads, made); err != nil {
		return deployed, adopted, err
	}
	manifest := made.Manifest()
	deployed, err = c.log.Deploy(ctx, where, landscape.Bundle{
		SHA256: version.Bundle, Document: string(payload.Of(made.Source)), Manifest: string(manifest.JSON()), Files: int64(len(manifest.Files)), Bytes: manifest.Bytes(),
	}, version)
	if err != nil {
		return deployed, adopted, err
	}
	adopted, err = c.adoptSchedules(ctx, where, version.Pipeline)
	return deployed, adopted, err
}

// compileToDeploy compiles the file of a document with the values of an environment; one that is about slots, for any of them.
func compileToDeploy(planner worker.Planner, r DeployRequest, values landscape.Environment) (*Document, error) {
	slot := SlotOf{Next: time.Now()}
	if r.Source != nil {
		doc := &Document{File: r.File, Source: r.Source, Params: r.Params, values: values, bundle: bundle.Bundle{Name: filepath.Base(r.File), Source: r.Source, Files: r.Files}}
		if err := doc.about(slot); err != nil {
			return nil, err
		}
		request := plan.Request{Deployed: true, Files: r.Files, Standing: plan.Proposed}
		if err := doc.compileAs(planner, request); err != nil {
			return nil, err
		}
		return doc, doc.admitted(planner)
	}
	doc, err := OpenFor(r.File, r.Params, slot)
	if err != nil {
		return nil, err
	}
	doc.values, doc.standing = values, plan.Proposed
	return doc, doc.compileToBegin(planner)
}

// bundleOf returns the document with the files that it was compiled with, and those that have values of its schedules.
func bundleOf(doc *Document) (bundle.Bundle, error) {
	b := bundle.Bundle{Name: filepath.Base(doc.File), Source: doc.Source, Files: map[string][]byte{}}
	for i := range doc.Plan.Nodes {
		if table := doc.Plan.Nodes[i].Table; table != nil {
			b.Files[table.Path] = table.Content
		}
	}
	table, err := doc.timetable()
	if err != nil {
		return b, err
	}
	for _, path := range table.Files() {
		if b.Files[path], err = doc.sideFile(path); err != nil {
			return b, err
		}
	}
	return b, nil
}

// compileBundle compiles the document of a bundle as a deployed one: with the files of the bundle, and no folder. file names it in messages.
func compileBundle(planner worker.Planner, b bundle.Bundle, file string, params map[string]string, values landscape.Environment) (*Document, error) {
	doc := &Document{File: file, Source: b.Source, Params: params, values: values}
	return doc, doc.compileAs(planner, plan.Request{Deployed: true, Files: b.Files, Standing: plan.Proposed})
}

// onlyOnce are the sinks of a document that stop its second run.
func onlyOnce(doc *pipeline.Document) (problems pipeline.Problems) {
	for _, entry := range doc.Pipeline.Sinks {
		format, target := targetOf(entry.Value)
		path := pipeline.Key("sinks", entry.Name) + "." + format + ".path"
		if format == "" || target.Overwrite || target.Path == pipeline.Stdio || doc.Varies(path) {
			continue
		}
		problems = append(problems, doc.Problem(path, "%s", "the output has the same name in every run, and the sink does not say overwrite: "+
			"the second run stops with TARGET_EXISTS; put a parameter into the path, or write overwrite: true"))
	}
	return problems
}

// warningsOf says what in a document stops its second run, for which pools its runs wait until somebody gives these
// places, and which deliveries to its triggers could be lost or doubled.
func (c *Client) warningsOf(ctx context.Context, doc *pipeline.Document) (warnings []DocumentProblem, err error) {
	limits, err := c.log.Limits(ctx)
	problems := onlyOnce(doc)
	for _, pool := range doc.Pipeline.Pools {
		gate := landscape.PoolGate(pool.Name)
		if has := func(l landscape.Limit) bool { return l.Gate == gate && l.Places > 0 }; !slices.ContainsFunc(limits, has) {
			path := pipeline.Key("pools", pool.Name)
			problems = append(problems, doc.Problem(path, "the pool has no places, so no run starts: waymark limit set %s 1 --why TEXT gives it one", gate))
		}
	}
	for _, trigger := range doc.Pipeline.Triggers {
		if http := trigger.Value.HTTP; http != nil && http.LeavesOpen() != "" {
			problems = append(problems, doc.Problem(pipeline.Key("triggers", trigger.Name)+".http", "%s",
				http.LeavesOpen()))
		}
	}
	for _, p := range problems {
		warnings = append(warnings, DocumentProblem{p.File, p.Line, p.Column, p.Path, p.Message})
	}
	return warnings, err
}

// OnHost reports whether a version of a pipeline has sources or sinks that are files of the machine on which its runs work,
// or whether its document alone does not say.
func OnHost(ctx context.Context, stored *payload.Store, version landscape.PipelineVersion) (bool, error) {
	b, err := bundle.Get(ctx, stored, payload.Digest(version.Bundle))
	if err != nil {
		return false, err
	}
	doc, unclear := pipeline.Load(b.Name, b.Source, pipeline.Environment{}) // what its references lead to is not known here
	return unclear != nil || onHost(&doc.Pipeline), nil                     //nolint:nilerr // that is the answer: it may have some
}

func onHost(doc *pipeline.Pipeline) bool {
	for _, source := range doc.Sources {
		for _, path := range pathsOf(source.Value) {
			if pipeline.Scheme(path) == "" {
				return true
			}
		}
	}
	return slices.ContainsFunc(doc.Sinks, func(sink pipeline.Named[pipeline.Sink]) bool {
		format, target := targetOf(sink.Value)
		return format != "" && pipeline.Scheme(target.Path) == ""
	})
}

// pathsOf returns the path of a source of files; nil of another one.
func pathsOf(source pipeline.Source) []string {
	switch {
	case source.CSV != nil:
		return []string{source.CSV.Path}
	case source.JSONL != nil:
		return []string{source.JSONL.Path}
	case source.JSON != nil:
		return []string{source.JSON.Path}
	case source.Parquet != nil:
		return []string{source.Parquet.Path}
	}
	return nil
}

// targetOf returns the format of a sink and where it puts its output; an empty format for what is no file.
func targetOf(sink pipeline.Sink) (format string, target pipeline.FileTarget) {
	switch {
	case sink.CSV != nil:
		return "csv", sink.CSV.FileTarget
	case sink.JSONL != nil:
		return "jsonl", sink.JSONL.FileTarget
	case sink.Parquet != nil:
		return "parquet", sink.Parquet.Target()
	}
	return "", pipeline.FileTarget{}
}

// versionDocument compiles the document of a version that is deployed in an environment: NAME for the current one of a pipeline, or NAME@VERSION.
func (s *Session) versionDocument(ctx context.Context, environment, word string, params map[string]string, slot SlotOf) (*Document, error) {
	name, version, err := landscape.ParseVersion(word)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	if environment, err = environmentNamed(environment); err != nil {
		return nil, err
	}
	found, err := s.Log.Startable(ctx, environment, name, version)
	if err != nil {
		return nil, startError(environment, name, err)
	}
	doc := &Document{Params: params, standing: plan.Recorded, version: found.Version, environment: environment}
	if doc.values, err = s.Log.LastEnvironment(ctx, environment); err != nil {
		return nil, err
	}
	if doc.bundle, err = s.bundleOf(ctx, found.Pipeline, found.Version); err != nil {
		return nil, err
	}
	doc.File, doc.Source = doc.bundle.Name, doc.bundle.Source
	if doc.others, err = commandedNamed(ctx, s.Log, environment, found.Pipeline, slot.Schedule); err != nil {
		return nil, err
	}
	if err := doc.about(slot); err != nil {
		return nil, err
	}
	return doc, doc.compile(s.Planner, "")
}

// bundleOf reads the bundle of a version.
func (s *Session) bundleOf(ctx context.Context, pipeline string, version int64) (bundle.Bundle, error) {
	found, err := s.Log.Version(ctx, pipeline, version)
	if err != nil {
		return bundle.Bundle{}, err
	}
	payloads, err := s.Payloads(ctx)
	if err != nil {
		return bundle.Bundle{}, err
	}
	return bundle.Get(ctx, payloads, payload.Digest(found.Bundle))
}
