package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"waymark/activities/bundle"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
)

// RedeployRequest says what is to become of a deployed pipeline. Its Why must not be empty.
type RedeployRequest struct {
	By
	Pipeline    string // its name; for Promote also NAME@VERSION
	Environment string // in which that happens; empty for the default one
	From        string // for Promote: the environment in which the version is current, or was; empty for the default one
	// May is that of a DeployRequest.
	May     func(pipeline string) error
	Version int64 // for Rollback: the one to return to; 0 for the one before the current one
}

// Redeployed says what became of a RedeployRequest.
type Redeployed struct {
	Redeployment
	Changed bool `json:"changed"` // the request did something; else what it asks for was so already
	Adopted
}

// Promote makes a version that is deployed in one environment the current one in another. The error is an *Error of kind NotFound if it never was
// deployed there, and Conflict if the pipeline is retired in either, or the document refers to values that only the first one has; of kind Invalid if schedules that were made by command there do not fit it.
func (c *Client) Promote(ctx context.Context, r RedeployRequest) (_ *Redeployed, err error) {
	defer c.edge(ctx, &err)
	name, version, err := landscape.ParseVersion(r.Pipeline)
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	from, err := environmentNamed(r.From)
	if err != nil {
		return nil, err
	}
	if from == cmp.Or(r.Environment, landscape.DefaultEnvironment) {
		return nil, invalid("a version is promoted from one environment to another one: name two; a rollback returns to an older one")
	}
	r.Pipeline, r.Version = name, version
	return c.redeploy(ctx, r, func(order landscape.Deployment) (landscape.Redeployed, error) {
		if err := c.mayPromote(ctx, from, order); err != nil {
			return landscape.Redeployed{}, err
		}
		done, err := c.log.Promote(ctx, from, order, c.mayBecomeCurrent(ctx, order, r.May))
		if errors.Is(err, landscape.ErrNotFound) {
			err = registryError(from, name, err)
		}
		return done, err
	})
}

// mayPromote refuses to promote a version into an environment that lacks values which it has where it comes from.
func (c *Client) mayPromote(ctx context.Context, from string, order landscape.Deployment) error {
	found, err := c.log.Startable(ctx, from, order.Pipeline, order.Version)
	if err != nil {
		return registryError(from, order.Pipeline, err)
	}
	before, err := c.values(ctx, from)
	if err != nil || len(before) == 0 {
		return err
	}
	after, err := c.values(ctx, order.Environment)
	if err != nil {
		return err
	}
	deposit, err := c.host.Deposit(ctx, false)
	if err != nil {
		return err
	}
	b, err := bundle.Get(ctx, deposit.Payloads, payload.Digest(found.Bundle))
	if err != nil {
		return err
	}
	for _, name := range variablesOf(b) {
		_, had := before[name]
		if _, has := after[name]; had && !has {
			message := fmt.Sprintf("%s refers to ${%s}: %s has a value for it, and %s has none", versionName(found.Pipeline, found.Version), name, from, order.Environment)
			return &Error{Kind: Conflict, Code: ValuesMissing, Message: message, Cure: SetValues}
		}
	}
	return nil
}

// values returns the values of an environment.
func (c *Client) values(ctx context.Context, environment string) (map[string]string, error) {
	last, err := c.log.LastEnvironment(ctx, environment)
	if err != nil {
		return nil, err
	}
	return last.Values()
}

// variablesOf returns the names of the values that the document of a bundle refers to as ${NAME}.
func variablesOf(b bundle.Bundle) (names []string) {
	doc := anywhere(b, nil)
	if doc == nil {
		return nil
	}
	for _, r := range doc.References {
		if r.Kind == pipeline.EnvReference {
			names = append(names, r.Name)
		}
	}
	return names
}

// anywhere loads the document of a bundle with any values for what it refers to, which are of no concern; nil if it cannot be loaded.
func anywhere(b bundle.Bundle, params map[string]string) *pipeline.Document {
	doc, _ := pipeline.Load(b.Name, b.Source, pipeline.Environment{
		Params: params, FingerprintKey: []byte{0},
		Env:    func(string) (string, bool) { return "x", true },
		Secret: func(string, string) (string, error) { return "x", nil },
	})
	return doc
}

// Rollback makes an older version of a pipeline current again. A second rollback goes one version further back. The error is an *Error of kind
// NotFound if there is no such version, and Conflict if the pipeline is retired, or no other version was current before; of kind Invalid if schedules
// that were made by command do not fit it.
func (c *Client) Rollback(ctx context.Context, r RedeployRequest) (_ *Redeployed, err error) {
	defer c.edge(ctx, &err)
	return c.redeploy(ctx, r, func(order landscape.Deployment) (landscape.Redeployed, error) {
		return c.log.Rollback(ctx, order, c.mayBecomeCurrent(ctx, order, r.May))
	})
}

// Retire ends that runs of a pipeline start in an environment. What runs continues, and may be resumed. The error is an *Error of kind NotFound if the
// pipeline is not deployed there.
func (c *Client) Retire(ctx context.Context, r RedeployRequest) (_ *Redeployed, err error) {
	defer c.edge(ctx, &err)
	return c.redeploy(ctx, r, func(order landscape.Deployment) (landscape.Redeployed, error) { return c.log.Retire(ctx, order) })
}

// Unretire lets runs of a retired pipeline start again, of the version that was current. Its errors are those of Retire; it is of kind Invalid if what the
// pipeline publishes would come back to it by triggers that others have by now.
func (c *Client) Unretire(ctx context.Context, r RedeployRequest) (_ *Redeployed, err error) {
	defer c.edge(ctx, &err)
	return c.redeploy(ctx, r, func(order landscape.Deployment) (landscape.Redeployed, error) {
		if err := c.mayRestore(ctx, order, r.May); err != nil {
			return landscape.Redeployed{}, err
		}
		return c.log.Restore(ctx, order)
	})
}

// redeploy has the landscape do what the request says.
func (c *Client) redeploy(ctx context.Context, r RedeployRequest, do func(order landscape.Deployment) (landscape.Redeployed, error)) (*Redeployed, error) {
	if err := r.giveWhy(); err != nil {
		return nil, err
	}
	where, err := environmentNamed(r.Environment)
	if err != nil {
		return nil, err
	}
	by := r.or(c.Actor)
	done, err := do(landscape.Deployment{Environment: where, Pipeline: r.Pipeline, Version: r.Version, Actor: by.Actor, Why: by.Why})
	if err != nil {
		return nil, registryError(where, r.Pipeline, err)
	}
	redeployed := &Redeployed{Redeployment: redeploymentOf(done.Deployment, landscape.PipelineVersion{}), Changed: done.Changed}
	redeployed.Adopted, err = c.adoptSchedules(ctx, where, done.Pipeline)
	return redeployed, err
}

// environmentNamed returns the name of an environment: the default one for an empty name.
func environmentNamed(name string) (string, error) {
	name = cmp.Or(name, landscape.DefaultEnvironment)
	if err := landscape.CheckEnvironment(name); err != nil {
		return "", &Error{Kind: Invalid, Code: InvalidOption, Message: err.Error(), Err: err}
	}
	return name, nil
}

// startError is registryError for a start in this process, which knows no documents of a folder by their names, as workers do.
func startError(environment, name string, err error) error {
	_, known := errors.AsType[*landscape.VersionError](err)
	err = registryError(environment, name, err)
	if said, ok := errors.AsType[*Error](err); ok && said.Code == PipelineNotFound && !known {
		said.Cure = DeployOrServe
	}
	return err
}

// registryError says why something cannot be done with a pipeline that is deployed in an environment.
func registryError(environment, name string, err error) error {
	unknown, known := errors.AsType[*landscape.VersionError](err)
	retired, ended := errors.AsType[*landscape.RetiredError](err)
	_, said := errors.AsType[*Error](err)
	switch {
	case said:
		return err
	case ended:
		return &Error{Kind: Conflict, Code: PipelineRetired, Message: retired.Error(), Cure: RestorePipeline, Err: err}
	case known && unknown.Exists:
		return &Error{Kind: NotFound, Code: PipelineNotFound, Message: unknown.Error(), Cure: PromoteVersion, Err: err}
	case known:
		return &Error{Kind: NotFound, Code: PipelineNotFound, Message: unknown.Error(), Cure: ListPipelines, Err: err}
	case errors.Is(err, landscape.ErrNothingBefore):
		return &Error{Kind: Conflict, Code: NothingBefore, Message: fmt.Sprintf("pipeline %s: %v", name, landscape.ErrNothingBefore), Cure: ListPipelines, Err: err}
	case errors.Is(err, landscape.ErrNotFound):
		unknown := &landscape.NotDeployedError{Environment: environment, Pipeline: name}
		return &Error{Kind: NotFound, Code: PipelineNotFound, Message: unknown.Error(), Cure: ListPipelines, Err: err}
	}
	return err
}
