package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/activities"
	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// Pipeline is a deployed pipeline, or one of its versions.
type Pipeline struct {
	Pipeline    string                     `json:"pipeline"`
	Version     int64                      `json:"version"`
	Environment string                     `json:"environment"`       // of all up to Deployer
	Current     int64                      `json:"current"`           // the version that is current there
	Retired     bool                       `json:"retired,omitempty"` // no run of it starts there
	Action      landscape.DeploymentAction `json:"action"`            // what happened last there
	Changed     Time                       `json:"changed"`           // when that was
	Actor       string                     `json:"actor"`             // who did that
	Why         string                     `json:"why,omitempty"`
	Deployed    Time                       `json:"deployed"`      // when Current became current, whether it was retired or restored since or not
	Deployer    string                     `json:"deployer"`      // who did that
	Bundle      string                     `json:"bundle_sha256"` // of the version, as all that follows
	Document    string                     `json:"document_sha256"`
	Created     Time                       `json:"created"`
	Author      string                     `json:"author"` // who deployed it first
	Message     string                     `json:"message,omitempty"`
	Code        string                     `json:"code"` // of the program that compiled it
	Host        string                     `json:"host"` // where its files were
	Folder      string                     `json:"folder"`
	Commit      string                     `json:"git_commit,omitempty"`
	Dirty       bool                       `json:"git_dirty,omitempty"` // some file is not as the commit has it
	Files       []bundle.File              `json:"files"`
	Bytes       int64                      `json:"bytes"`
}

// PipelineDocument is the document of a version, as it was written.
type PipelineDocument struct {
	Pipeline string                     `json:"pipeline"`
	Version  int64                      `json:"version"`
	File     string                     `json:"file"`
	Document string                     `json:"document"`
	Params   []activities.PipelineParam `json:"params"`
}

// Redeployment is one time that a version became current, or was retired or restored.
type Redeployment struct {
	Pipeline    string                     `json:"pipeline"`
	Environment string                     `json:"environment"`
	Seq         int64                      `json:"seq"`
	Action      landscape.DeploymentAction `json:"action"`
	Version     int64                      `json:"version"`
	Before      int64                      `json:"before"` // the version that was current; 0 for none
	Actor       string                     `json:"actor"`
	Why         string                     `json:"why,omitempty"`
	At          Time                       `json:"at"`
	Bundle      string                     `json:"bundle_sha256,omitempty"`
	Commit      string                     `json:"git_commit,omitempty"`
	Dirty       bool                       `json:"git_dirty,omitempty"`
}

// Pipelines returns the pipelines that are deployed in an environment, by name, each in its current version; it is empty, not nil, if there is
// none. An empty name is that of the default environment, here and below.
func (c *Client) Pipelines(ctx context.Context, environment string) ([]Pipeline, error) {
	return c.PipelinesAfter(ctx, environment, DeployedPage{})
}

// PipelinesAfter is Pipelines for a part of the list.
func (c *Client) PipelinesAfter(ctx context.Context, environment string, page DeployedPage) (list []Pipeline, err error) {
	defer c.edge(ctx, &err)
	if environment, err = environmentNamed(environment); err != nil {
		return nil, err
	}
	current, err := c.log.CurrentVersions(ctx, environment)
	if err != nil {
		return nil, err
	}
	current = slices.DeleteFunc(current, func(d landscape.Deployment) bool {
		return d.Pipeline <= page.After || !page.has(d.Pipeline)
	})
	if page.Limit > 0 {
		current = current[:min(page.Limit, len(current))]
	}
	versions, err := c.log.VersionsOf(ctx, current)
	if err != nil {
		return nil, err
	}
	digests := make([]string, 0, len(current))
	for _, v := range versions {
		digests = append(digests, v.Bundle)
	}
	bundles, err := c.log.Bundles(ctx, digests)
	if err != nil {
		return nil, err
	}
	list = make([]Pipeline, len(current))
	for i, deployment := range current {
		v := versions[deployment.Pipeline]
		if list[i], err = c.pipelineOf(ctx, deployment, v, bundles[v.Bundle]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Pipeline returns what word names: NAME for the version of a pipeline that is current in an environment, or NAME@VERSION for any version of one that
// is deployed there. The error is an *Error of kind NotFound if there is none, and of kind Invalid if the word is neither.
func (c *Client) Pipeline(ctx context.Context, environment, word string) (p Pipeline, err error) {
	defer c.edge(ctx, &err)
	return c.findPipeline(ctx, environment, word)
}

func (c *Client) findPipeline(ctx context.Context, environment, word string) (Pipeline, error) {
	environment, err := environmentNamed(environment)
	if err != nil {
		return Pipeline{}, err
	}
	name, version, err := landscape.ParseVersion(word)
	if err != nil {
		return Pipeline{}, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	current, err := c.log.Current(ctx, environment, name)
	if err != nil {
		return Pipeline{}, registryError(environment, name, err)
	}
	p, err := c.pipeline(ctx, current, cmp.Or(version, current.Version))
	if errors.Is(err, landscape.ErrNotFound) {
		err = registryError(environment, name, &landscape.VersionError{Pipeline: name, Version: version, Current: current.Version})
	}
	return p, err
}

// pipeline returns a version of the pipeline that a deployment is about.
func (c *Client) pipeline(ctx context.Context, current landscape.Deployment, version int64) (Pipeline, error) {
	v, err := c.log.Version(ctx, current.Pipeline, version)
	if err != nil {
		return Pipeline{}, err
	}
	stored, err := c.log.Bundle(ctx, v.Bundle)
	if err != nil {
		return Pipeline{}, err
	}
	return c.pipelineOf(ctx, current, v, stored)
}

// pipelineOf is pipeline for a version and a bundle that were read.
func (c *Client) pipelineOf(
	ctx context.Context, current landscape.Deployment, v landscape.PipelineVersion, stored landscape.Bundle,
) (Pipeline, error) {
	deployed, err := c.deployment(ctx, current)
	if err != nil {
		return Pipeline{}, err
	}
	manifest, err := bundle.Parse([]byte(stored.Manifest))
	return Pipeline{
		Pipeline: v.Pipeline, Version: v.Version, Environment: current.Environment, Current: current.Version, Retired: current.Retired(),
		Action: current.Action, Changed: Time(current.At), Actor: current.Actor, Why: current.Why, Deployed: Time(deployed.At), Deployer: deployed.Actor,
		Bundle: v.Bundle, Document: stored.Document, Created: Time(v.Created), Author: v.Actor, Message: v.Message, Code: v.Code,
		Host: v.Host, Folder: v.Folder, Commit: v.Commit, Dirty: v.Dirty, Files: manifest.Files, Bytes: stored.Bytes,
	}, err
}

// deployment returns the deployment by which the version became current of which the last one may say that its pipeline was retired or restored.
func (c *Client) deployment(ctx context.Context, last landscape.Deployment) (landscape.Deployment, error) {
	kept := func(d landscape.Deployment) bool {
		return d.Action == landscape.Retire || d.Action == landscape.Restore
	}
	if !kept(last) {
		return last, nil
	}
	history, err := c.log.Deployments(ctx, last.Environment, last.Pipeline)
	for _, d := range slices.Backward(history) {
		if !kept(d) {
			return d, err
		}
	}
	return last, err
}

// PipelineDocument returns the document of the version that word names, as Pipeline does, and the parameters that it declares.
func (c *Client) PipelineDocument(ctx context.Context, environment, word string) (_ *PipelineDocument, err error) {
	defer c.edge(ctx, &err)
	p, err := c.findPipeline(ctx, environment, word)
	if err != nil {
		return nil, err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Get(ctx, deposit.Payloads, payload.Digest(p.Bundle))
	if err != nil {
		return nil, err
	}
	doc, _ := pipeline.Load(b.Name, b.Source, pipeline.Environment{}) // what its references lead to is not known here
	return &PipelineDocument{Pipeline: p.Pipeline, Version: p.Version, File: b.Name, Document: string(b.Source), Params: activities.ParamsOf(doc)}, nil
}

// PipelineHistory returns how versions of a pipeline became current in an environment, the last first. The error is an *Error of kind NotFound if no pipeline with
// this name is deployed there.
func (c *Client) PipelineHistory(ctx context.Context, environment, name string) (history []Redeployment, err error) {
	defer c.edge(ctx, &err)
	if environment, err = environmentNamed(environment); err != nil {
		return nil, err
	}
	deployments, err := c.log.Deployments(ctx, environment, name)
	if err == nil && deployments == nil {
		err = registryError(environment, name, landscape.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	versions, err := c.log.Versions(ctx, name)
	if err != nil {
		return nil, err
	}
	byNumber := map[int64]landscape.PipelineVersion{}
	for _, v := range versions {
		byNumber[v.Version] = v
	}
	for i := len(deployments) - 1; i >= 0; i-- {
		history = append(history, redeploymentOf(deployments[i], byNumber[deployments[i].Version]))
	}
	return history, nil
}

func redeploymentOf(d landscape.Deployment, v landscape.PipelineVersion) Redeployment {
	return Redeployment{
		Pipeline: d.Pipeline, Environment: d.Environment, Seq: d.Seq, Action: d.Action, Version: d.Version, Before: d.Before, Actor: d.Actor, Why: d.Why,
		At: Time(d.At), Bundle: v.Bundle, Commit: v.Commit, Dirty: v.Dirty,
	}
}

func versionName(pipeline string, version int64) string {
	return fmt.Sprintf("%s@%d", pipeline, version)
}
