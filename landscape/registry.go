package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DefaultEnvironment is the environment of who names none. Stored; never rename.
const DefaultEnvironment = "default"

// Bundle is what a version of a pipeline consists of: a document and the files that it is compiled with. All of them, and the manifest that
// lists them, are payloads.
type Bundle struct {
	SHA256   string `db:"bundle_sha256,key"` // of the manifest, lower-case hex
	Document string `db:"document_sha256"`   // of the document, lower-case hex
	Manifest string `db:"manifest"`          // JSON
	Files    int64  `db:"files"`             // with the document
	Bytes    int64  `db:"bytes"`             // of the files
}

// Table returns bundles.
func (Bundle) Table() string { return "bundles" }

// PipelineVersion is one version of a pipeline.
type PipelineVersion struct {
	Pipeline string `db:"pipeline,key"`
	Version  int64  `db:"version,key"`   // from 1; set by Log
	Bundle   string `db:"bundle_sha256"` // a pipeline has a bundle once
	Actor    string `db:"actor"`         // who deployed it first
	Message  string `db:"message"`       // what that said of it
	Code     string `db:"code"`          // of the program that compiled it
	Host     string `db:"host"`          // where its files were
	Folder   string `db:"folder"`        // there; its document never looks there again
	Commit   string `db:"git_commit"`    // of the folder's work tree; empty if it is not in one
	Dirty    bool   `db:"git_dirty"`     // some file of the bundle is not as the commit has it
	Created  Micros `db:"created_us"`    // set by Log
}

// Table returns pipeline_versions.
func (PipelineVersion) Table() string { return "pipeline_versions" }

// DeploymentAction is how a version became current. Stored; never rename one.
type DeploymentAction string

// The actions.
const (
	Deploy   DeploymentAction = "deploy"   // somebody deployed its files
	Promote  DeploymentAction = "promote"  // it was current in another environment
	Rollback DeploymentAction = "rollback" // it was current here before
	Retire   DeploymentAction = "retire"   // it stays the current one, and nothing starts
	Restore  DeploymentAction = "restore"  // it stays the current one, and runs may start again
)

// Deployment says that a version is current in an environment, until the next one does.
type Deployment struct {
	Environment string           `db:"environment,key"`
	Pipeline    string           `db:"pipeline,key"`
	Seq         int64            `db:"seq,key"` // from 0; set by Log
	Action      DeploymentAction `db:"action"`
	Version     int64            `db:"version"`
	Before      int64            `db:"other_version"` // that was current before; 0 for none; set by Log
	Actor       string           `db:"actor"`
	Why         string           `db:"why"`
	At          Micros           `db:"at_us"` // set by Log
}

// Table returns deployments.
func (Deployment) Table() string { return "deployments" }

// Retired reports whether no run of the pipeline may start in the environment, if the deployment is the last one there.
func (d Deployment) Retired() bool { return d.Action == Retire }

// Deployed says what became of a deployment.
type Deployed struct {
	PipelineVersion
	New    bool  // the version was not there before
	Became bool  // it was not current before
	Before int64 // the version that was current; 0 for none
}

// Deploy makes a version of a pipeline of a bundle, unless one has that bundle already, and makes it current in the environment, unless it is:
// who deploys what is current changes nothing. The files of the bundle, and its manifest, are payloads by then. The error wraps a *RetiredError
// if the pipeline is retired there.
func (l *Log) Deploy(ctx context.Context, environment string, bundle Bundle, version PipelineVersion) (Deployed, error) {
	version.Bundle = bundle.SHA256
	var deployed Deployed
	err := settle(Deployment{}.Table(), func() error {
		return settle(version.Table(), func() (err error) {
			deployed, err = l.deploy(ctx, environment, bundle, version)
			return err
		})
	})
	if err != nil {
		return Deployed{}, fmt.Errorf("deploy %s: %w", version.Pipeline, err)
	}
	return deployed, nil
}

func (l *Log) deploy(ctx context.Context, environment string, bundle Bundle, version PipelineVersion) (Deployed, error) {
	deployed, err := l.planned(ctx, environment, version)
	if err != nil || !deployed.Became {
		return deployed, err
	}
	deployed.stamp(l.now())
	last, err := l.lastDeployment(ctx, environment, version.Pipeline)
	if err != nil {
		return deployed, err
	}
	row := Deployment{
		Environment: environment, Pipeline: version.Pipeline, Action: Deploy, Version: deployed.Version, Actor: version.Actor, Why: version.Message, At: l.now(),
	}
	if last != nil {
		row.Seq, row.Before = last.Seq+1, last.Version
	}
	deployed.Before = row.Before
	tx := Tx{Insert: []Record{bundle}}
	if deployed.New {
		tx.Insert = append(tx.Insert, deployed.PipelineVersion)
	}
	tx.Insert = append(tx.Insert, row, row.event())
	return deployed, l.plain.Commit(ctx, tx)
}

func (d *Deployed) stamp(now Micros) {
	if d.New {
		d.Created = now
	}
}

// PlanDeploy says what Deploy would do, and does nothing.
func (r *Reader) PlanDeploy(ctx context.Context, environment string, version PipelineVersion) (Deployed, error) {
	return r.planned(ctx, environment, version)
}

func (r *Reader) planned(ctx context.Context, environment string, version PipelineVersion) (Deployed, error) {
	last, err := r.lastDeployment(ctx, environment, version.Pipeline)
	if err == nil && last != nil && last.Retired() {
		err = &RetiredError{*last}
	}
	if err != nil {
		return Deployed{}, err
	}
	versions, err := r.Versions(ctx, version.Pipeline) // in one read: so that a new number and an old bundle exclude each other
	if err != nil {
		return Deployed{}, err
	}
	version.Version = int64(len(versions)) + 1
	deployed := Deployed{PipelineVersion: version, New: true}
	for _, known := range versions {
		if known.Bundle == version.Bundle {
			deployed = Deployed{PipelineVersion: known}
		}
	}
	if last != nil {
		deployed.Before = last.Version
	}
	deployed.Became = deployed.Before != deployed.Version
	return deployed, nil
}

// Versions returns the versions of a pipeline, the first first; nil if there is none.
func (r *Reader) Versions(ctx context.Context, pipeline string) ([]PipelineVersion, error) {
	return Select[PipelineVersion](ctx, r.from, pipeline)
}

// Version returns a version of a pipeline. The error wraps ErrNotFound if there is none.
func (r *Reader) Version(ctx context.Context, pipeline string, version int64) (PipelineVersion, error) {
	return get[PipelineVersion](ctx, r.from, pipeline, version)
}

// Bundle returns the bundle with this SHA-256. The error wraps ErrNotFound if there is none.
func (r *Reader) Bundle(ctx context.Context, sha256 string) (Bundle, error) {
	return get[Bundle](ctx, r.from, sha256)
}

// VersionsOf returns the version that each of some deployments is about, by pipeline. They are of different pipelines.
func (r *Reader) VersionsOf(ctx context.Context, deployments []Deployment) (map[string]PipelineVersion, error) {
	prefixes := make([][]any, len(deployments))
	for i, d := range deployments {
		prefixes[i] = []any{d.Pipeline, d.Version}
	}
	versions := map[string]PipelineVersion{}
	return versions, eachOf(ctx, r, prefixes, Query{}, func(v PipelineVersion) { versions[v.Pipeline] = v })
}

// Bundles returns some bundles by their SHA-256; those that are not recorded are left out.
func (r *Reader) Bundles(ctx context.Context, sha256 []string) (map[string]Bundle, error) {
	return byID(ctx, r, sha256, Query{}, func(b Bundle) string { return b.SHA256 })
}

// Current returns the last deployment of a pipeline in an environment. The error wraps ErrNotFound if there is none.
func (r *Reader) Current(ctx context.Context, environment, pipeline string) (Deployment, error) {
	last, err := r.lastDeployment(ctx, environment, pipeline)
	if err == nil && last == nil {
		err = fmt.Errorf("deployment of %s: %w", pipeline, ErrNotFound)
	}
	if err != nil {
		return Deployment{}, err
	}
	return *last, nil
}

// Deployments returns the deployments of a pipeline in an environment, the first first; nil if there is none.
func (r *Reader) Deployments(ctx context.Context, environment, pipeline string) ([]Deployment, error) {
	return Select[Deployment](ctx, r.from, environment, pipeline)
}

// CurrentVersions returns the last deployment of every pipeline in an environment, by name; nil if there is none.
func (r *Reader) CurrentVersions(ctx context.Context, environment string) ([]Deployment, error) {
	return lastOfEach(ctx, r.from, Deployment.place, environment)
}

// AllCurrentVersions returns the last deployment of every pipeline in every environment, by environment and name; nil if there is none.
func (r *Reader) AllCurrentVersions(ctx context.Context) ([]Deployment, error) {
	return lastOfEach(ctx, r.from, Deployment.place)
}

// place is what a deployment deploys to: a pipeline in an environment.
func (d Deployment) place() [2]string { return [2]string{d.Environment, d.Pipeline} }

// Startable returns the version of a pipeline that a start in an environment means: this one, or the current one if it is 0. The error wraps
// ErrNotFound if no pipeline with this name is deployed there; it is a *VersionError if the version is not, and a *RetiredError if nothing may start.
func (r *Reader) Startable(ctx context.Context, environment, pipeline string, version int64) (PipelineVersion, error) {
	current, err := r.Current(ctx, environment, pipeline)
	switch {
	case err != nil:
		return PipelineVersion{}, err
	case current.Retired():
		return PipelineVersion{}, &RetiredError{current}
	case version == 0:
		version = current.Version
	}
	return r.deployedIn(ctx, environment, pipeline, version)
}

// deployedIn returns a version that is or was current in an environment. If it never was, the error is a *VersionError, or wraps ErrNotFound if no
// version of the pipeline was.
func (r *Reader) deployedIn(ctx context.Context, environment, pipeline string, version int64) (PipelineVersion, error) {
	history, err := r.Deployments(ctx, environment, pipeline)
	if err == nil && history == nil {
		err = fmt.Errorf("deployment of %s: %w", pipeline, ErrNotFound)
	}
	if err != nil {
		return PipelineVersion{}, err
	}
	found, err := r.Version(ctx, pipeline, version)
	there := slices.ContainsFunc(history, func(d Deployment) bool { return d.Version == version })
	if errors.Is(err, ErrNotFound) || err == nil && !there {
		last := history[len(history)-1]
		return PipelineVersion{}, &VersionError{Pipeline: pipeline, Version: version, Exists: err == nil, Environment: environment, Current: last.Version}
	}
	return found, err
}

// lastDeployment returns the last deployment of a pipeline; nil if there is none.
func (r *Reader) lastDeployment(ctx context.Context, environment, pipeline string) (*Deployment, error) {
	return lastOf[Deployment](ctx, r.from, environment, pipeline)
}

// ParseVersion reads NAME or NAME@VERSION; the version is 0 if none is named.
func ParseVersion(word string) (pipeline string, version int64, err error) {
	pipeline, number, named := strings.Cut(word, "@")
	if named {
		version, err = strconv.ParseInt(number, 10, 64)
	}
	if named && pipeline != "" && (err != nil || version < 1) {
		return "", 0, fmt.Errorf("%.100q names no version of %s: what follows the @ is a number from 1; `waymark pipelines history NAME` lists the versions", word, pipeline)
	}
	if pipeline == "" {
		return "", 0, fmt.Errorf("%.100q names no pipeline: write NAME, or NAME@VERSION with a version from 1", word)
	}
	return pipeline, version, nil
}
