package activities

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// publication is the last one at a place.
type publication struct {
	landscape.ArtifactRecord
	at string
}

// near returns the last publications that are known by now at a place, on the way to it, such as a folder of parts of
// which it would be one, and below it.
func (p *publications) near(
	ctx context.Context, log *landscape.Reader, place string,
) (found []publication, err error) {
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
	at := placeOf(place)
	if last, known := p.by[at]; known {
		found = append(found, publication{last, at})
	}
	if isURL(at) { // each run has a folder of its own below a prefix, and writes over nothing in others
		return found, err
	}
	for folder := filepath.Dir(at); folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if last, known := p.by[folder]; known {
			found = append(found, publication{last, folder})
		}
	}
	for below, last := range p.by {
		if !strings.HasPrefix(below, at+string(filepath.Separator)) {
			continue
		}
		if _, gone := os.Lstat(below); gone == nil {
			found = append(found, publication{last, below})
		}
	}
	return found, err
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

// taken refuses a deployed version that writes to what another pipeline published last, unless that one is retired, or
// its document is served no more: the deployer of one need not have anything to do with the other. Documents of the
// operator, which have no version, write where they like.
func (a *Activities) taken(ctx context.Context, compiled *plan.Plan) error {
	for _, place := range placesOf(compiled) {
		found, err := a.publications.near(ctx, a.log.Reader, place)
		if err != nil {
			return err
		}
		for _, last := range found {
			owner, err := a.owner(ctx, last.ArtifactRecord)
			if err != nil {
				return err
			}
			if owner == nil || owner.name == compiled.Document.Pipeline.Name {
				continue
			}
			where := "there"
			if last.at != placeOf(place) {
				where = "at " + last.at
			}
			return &plugin.TargetError{Code: codeTargetRefused, Target: place, Message: fmt.Sprintf(
				"the pipeline %s, which is %s, publishes %s: write to another place, or %s",
				owner.name, owner.standing, where, owner.cure)}
		}
	}
	return nil
}

// publisher is a pipeline to which a place belongs.
type publisher struct {
	name, standing string
	cure           string // so that it belongs to it no more
}

// owner returns which pipeline a publication is of; nil if it is of none, or not of this machine.
func (a *Activities) owner(ctx context.Context, last landscape.ArtifactRecord) (*publisher, error) {
	run, err := a.log.Run(ctx, last.Run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return nil, nil //nolint:nilnil // as the comment says
	case err != nil:
		return nil, err
	case !isURL(last.Path) && run.Host != a.host:
		return nil, nil //nolint:nilnil // as above
	case run.Version == 0:
		if server, is := a.planner.(server); !is || !server.Serves(run.Pipeline, run.BaseDir) {
			return nil, nil //nolint:nilnil // as above
		}
		return &publisher{run.Pipeline, "served from " + run.BaseDir, "move its document out of there first"}, nil
	}
	_, err = a.log.Startable(ctx, run.Environment, run.Pipeline, 0)
	_, retired := errors.AsType[*landscape.RetiredError](err)
	if retired || errors.Is(err, landscape.ErrNotFound) {
		return nil, nil //nolint:nilnil // as above
	}
	cure := fmt.Sprintf("retire that one first (waymark retire %s --environment %s --why TEXT)",
		run.Pipeline, run.Environment)
	return &publisher{run.Pipeline, "deployed in " + run.Environment, cure}, err
}

// server is what a Planner may be as well: one that knows the documents that its process serves.
type server interface {
	// Serves reports whether a pipeline of the name is served, as a document in this folder.
	Serves(name, folder string) bool
}
