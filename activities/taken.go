package activities

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// codeTargetRefused is that of a target to which a run must not write. Stored; never rename it.
const codeTargetRefused = "TARGET_REFUSED"

// publications remember which run published last at each place, and under each name that leads to the latest output, so
// that the record is read once by a process, and then from where it was read to. Without it, all is read again.
type publications struct {
	mu    sync.Mutex
	until landscape.Micros
	by    map[string]landscape.ArtifactRecord
}

// publishedAgain is how far back publications are read again: clocks of other machines may be behind by so much.
const publishedAgain = landscape.Micros(60_000_000)

// at returns the last publication at a place that is known by now; known is false if there is none.
func (p *publications) at(
	ctx context.Context, log *landscape.Reader, place string,
) (last landscape.ArtifactRecord, known bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		p.by = map[string]landscape.ArtifactRecord{}
	}
	err = log.PublishedSince(ctx, p.until-publishedAgain, func(record landscape.ArtifactRecord) {
		p.until = max(p.until, record.Published)
		p.by[placeOf(record.Path)] = record
		if record.Latest != "" {
			p.by[placeOf(record.Latest)] = record
		}
	})
	last, known = p.by[placeOf(place)]
	return last, known, err
}

// placeOf names a place as other names of the same do: a path without symbolic links on the way to it, or a URL without
// slashes at its end.
func placeOf(name string) string {
	if isURL(name) {
		name, _, _ = strings.Cut(name, " at ") // the endpoint of a bucket, which publications do not name
		return strings.TrimRight(name, "/")
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(folder, filepath.Base(name))
	}
	return filepath.Clean(name)
}

func isURL(place string) bool { return strings.Contains(place, "://") }

// placesOf returns what a run replaces when it publishes: its outputs, and the names that lead to the latest ones.
func placesOf(compiled *plan.Plan) []string {
	places := targetsOf(compiled)
	for _, i := range compiled.Sinks() {
		pointed, ok := compiled.Nodes[i].Sink.(plugin.Pointed)
		if !ok {
			continue
		}
		if latest := pointed.Latest(); latest != nil {
			places = append(places, latest.String())
		}
	}
	return places
}

// taken refuses a deployed version that writes to what another deployed pipeline published last, unless that one is
// retired: the deployer of one need not have anything to do with the other. Documents of the operator, which
// have no version, write where they like.
func (a *Activities) taken(ctx context.Context, compiled *plan.Plan) error {
	for _, place := range placesOf(compiled) {
		last, known, err := a.publications.at(ctx, a.log.Reader, place)
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		owner, where, err := a.owner(ctx, last)
		if err != nil {
			return err
		}
		if owner != "" && owner != compiled.Document.Pipeline.Name {
			return &plugin.TargetError{Code: codeTargetRefused, Target: place, Message: fmt.Sprintf(
				"the pipeline %s, which is deployed in %s, publishes there: write to another place, or retire that one first "+
					"(waymark retire %[1]s --environment %[2]s --why TEXT)", owner, where)}
		}
	}
	return nil
}

// owner returns which deployed pipeline a publication is of, and in which environment; empty if it is of none, or not
// of this machine.
func (a *Activities) owner(
	ctx context.Context, last landscape.ArtifactRecord,
) (pipeline, environment string, err error) {
	run, err := a.log.Run(ctx, last.Run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return "", "", nil
	case err != nil:
		return "", "", err
	case run.Version == 0 || !isURL(last.Path) && run.Host != a.host:
		return "", "", nil
	}
	_, err = a.log.Startable(ctx, run.Environment, run.Pipeline, 0)
	_, retired := errors.AsType[*landscape.RetiredError](err)
	if retired || errors.Is(err, landscape.ErrNotFound) {
		return "", "", nil
	}
	return run.Pipeline, run.Environment, err
}
