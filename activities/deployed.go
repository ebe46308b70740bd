package activities

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/bundle"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// registered turns an input that names a pipeline, or a version of one, into one with the document of that version. It returns false if no
// pipeline with the name is deployed in the landscape: then a worker may have a file of this name.
func (a *Activities) registered(ctx context.Context, in OpenInput) (OpenInput, bool, error) {
	name, version, err := landscape.ParseVersion(in.Pipeline)
	if err != nil {
		return in, false, nil //nolint:nilerr // the name of a file is checked where that is looked for
	}
	found, err := a.log.Startable(ctx, landscape.DefaultEnvironment, name, version)
	unknown, retired := (*landscape.VersionError)(nil), (*landscape.RetiredError)(nil)
	switch {
	case errors.As(err, &retired):
		return in, false, final{TypeRetired, err}
	case errors.As(err, &unknown):
		return in, false, final{TypeInput, err}
	case errors.Is(err, landscape.ErrNotFound) && version == 0:
		return in, false, nil
	case errors.Is(err, landscape.ErrNotFound):
		return in, false, final{TypeInput, fmt.Errorf("no pipeline named %q is deployed in the record: waymark deploy does that", name)}
	case err != nil:
		return in, false, err
	}
	stored, err := a.log.Bundle(ctx, found.Bundle)
	if err != nil {
		return in, false, err
	}
	manifest, err := bundle.Parse([]byte(stored.Manifest))
	in.Document, in.File, in.Version, in.Bundle = stored.Document, manifest.Document, found.Version, found.Bundle
	return in, true, err
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
	request.Deployed, request.Files = true, b.Files
	return nil
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
