package activities

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"waymark/activities/bundle"
	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// registered turns an input that names a pipeline, or a version of one, into one with the document of that version. It returns false if no
// pipeline with the name is deployed in the landscape: then a worker may have a file of this name.
func (a *Activities) registered(ctx context.Context, in OpenInput) (OpenInput, bool, error) {
	name, version, err := landscape.ParseVersion(in.Pipeline)
	if err != nil && strings.Contains(in.Pipeline, "@") {
		return in, false, final{TypeInput, err}
	}
	if err != nil {
		return in, false, nil //nolint:nilerr // the name of a file is checked where that is looked for
	}
	environment := a.environment(in)
	found, err := a.log.Startable(ctx, environment, name, version)
	unknown, retired := (*landscape.VersionError)(nil), (*landscape.RetiredError)(nil)
	if errors.As(err, &retired) {
		found, err = a.before(ctx, in, retired, cmp.Or(version, retired.Version))
	}
	switch {
	case errors.As(err, &retired):
		return in, false, final{TypeRetired, err}
	case errors.As(err, &unknown):
		return in, false, final{TypeNoPipeline, err}
	case errors.Is(err, landscape.ErrNotFound) && version == 0 && in.Environment == "":
		return in, false, nil
	case errors.Is(err, landscape.ErrNotFound):
		return in, false, final{TypeNoPipeline, &landscape.NotDeployedError{Environment: environment, Pipeline: name}}
	case err != nil:
		return in, false, err
	}
	stored, err := a.log.Bundle(ctx, found.Bundle)
	if err != nil {
		return in, false, err
	}
	values, err := a.log.LastEnvironment(ctx, environment)
	if err != nil {
		return in, false, err
	}
	in.Environment, in.EnvironmentSeq = environment, values.Seq
	manifest, err := bundle.Parse([]byte(stored.Manifest))
	in.Document, in.File, in.Version, in.Bundle = stored.Document, manifest.Document, found.Version, found.Bundle
	return in, true, err
}

// before returns the version of a run that a schedule began before the pipeline was retired, and that waits for a place
// since. Of any other run the error is retired.
func (a *Activities) before(
	ctx context.Context, in OpenInput, retired *landscape.RetiredError, version int64,
) (landscape.PipelineVersion, error) {
	slot, err := a.slotOf(ctx, in)
	if err != nil || slot == nil {
		return landscape.PipelineVersion{}, cmp.Or[error](err, retired)
	}
	start, err := a.log.LastStart(ctx, in.Run)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && start.Accepted >= retired.At {
		return landscape.PipelineVersion{}, retired
	}
	if err != nil {
		return landscape.PipelineVersion{}, err
	}
	return a.log.Version(ctx, retired.Pipeline, version)
}

// environment returns the environment in which the pipeline is looked for that an input names; that of the input if it names none.
func (a *Activities) environment(in OpenInput) string {
	if in.Pipeline == "" {
		return in.Environment
	}
	return cmp.Or(in.Environment, a.ownEnvironment())
}

// ownEnvironment returns the environment of the starts that name none.
func (a *Activities) ownEnvironment() string {
	return cmp.Or(a.affinity.Environment, landscape.DefaultEnvironment)
}

// version adds to a request what the version has that an input is a run of. The files must be those of the version.
func (a *Activities) version(ctx context.Context, in OpenInput, request *plan.Request) error {
	if in.Version == 0 {
		return nil
	}
	b, err := bundle.Get(ctx, a.payloads, payload.Digest(in.Bundle))
	if err != nil {
		return fmt.Errorf("version %d of the pipeline of run %s: %w", in.Version, in.Run, err)
	}
	values, err := a.log.Environment(ctx, in.Environment, in.EnvironmentSeq)
	if err != nil {
		return err
	}
	request.Deployed, request.Files, request.ValuesOf = true, b.Files, values.Label()
	// That the version is one of the document's pipeline is for ofVersion to see, before anything is done.
	if bytes.Equal(request.Document, b.Source) {
		request.Standing = plan.Recorded
	}
	request.Values, err = values.Values()
	return err
}

// ofVersion refuses a run that says it is of a version, and is not.
func (a *Activities) ofVersion(ctx context.Context, in OpenInput, compiled *plan.Plan) error {
	if in.Version == 0 {
		return nil
	}
	name := compiled.Document.Pipeline.Name
	found, err := a.log.Version(ctx, name, in.Version)
	if errors.Is(err, landscape.ErrNotFound) || err == nil && found.Bundle != in.Bundle {
		return final{TypeInput, fmt.Errorf("bundle %s is not version %d of the pipeline %s", in.Bundle, in.Version, name)}
	}
	return err
}

// CompileVersion compiles a version of a pipeline with what this process knows, as a run of it in an environment would have it that began now. params are the
// texts of its parameters.
func CompileVersion(
	ctx context.Context, log *landscape.Reader, payloads *payload.Store, planner recompute.Planner, environment string, version landscape.PipelineVersion, params map[string]string,
) (*plan.Plan, error) {
	b, err := bundle.Get(ctx, payloads, payload.Digest(version.Bundle))
	if err != nil {
		return nil, fmt.Errorf("version %d of %s: %w", version.Version, version.Pipeline, err)
	}
	values, err := log.LastEnvironment(ctx, environment)
	if err != nil {
		return nil, err
	}
	request := plan.Request{
		File: b.Name, Document: b.Source, Params: params, Deployed: true, Files: b.Files, ValuesOf: values.Label(),
		Standing: plan.Recorded,
	}
	if request.Values, err = values.Values(); err != nil {
		return nil, err
	}
	return planner.Plan(request)
}
