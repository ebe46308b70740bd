package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// targetExists is the code with which a name says that something else has it.
const targetExists = "TARGET_EXISTS"

// Led says whether a name leads to the output that it should lead to: latest is what landscape.Reader.LatestOutput gives. It reads only. The error
// says that the record could not be read.
func (a *Auditor) Led(ctx context.Context, latest landscape.ArtifactRecord) (Presence, error) {
	run, err := a.log.Run(ctx, latest.Run)
	if err != nil {
		return Presence{}, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return Presence{}, err
	}
	if compiled == nil {
		return Presence{Why: fmt.Sprintf("only the sink of run %s can ask %s, and %s", run.ID, latest.Latest, problem)}, nil
	}
	found := led(ctx, compiled, latest.Sink, latest)
	return found, ctx.Err()
}

// led asks the name that a sink of the plan keeps.
func led(ctx context.Context, compiled *plan.Plan, sink string, latest landscape.ArtifactRecord) Presence {
	name := pointerOf(compiled, sink)
	if name == nil || name.String() != latest.Latest {
		return Presence{Why: fmt.Sprintf("the sink %s does not keep the name %s here", sink, latest.Latest)}
	}
	to, err := name.Leads(ctx)
	fault, refused := errors.AsType[*plugin.TargetError](err)
	switch {
	case refused && fault.Code == targetExists:
		return Presence{Known: true, Why: fmt.Sprintf("%s does not lead to %s, for something else has the name: move it away, and the next run that publishes makes it", name, latest.Path)}
	case err != nil:
		return Presence{Why: err.Error()}
	case to == "":
		return Presence{Known: true, Why: fmt.Sprintf("there is no %s: the next run that publishes makes it", name)}
	case to != latest.Path && (!isFile(to) || realPath(to) != realPath(latest.Path)):
		return Presence{Known: true, Why: fmt.Sprintf("%s leads to %s, and not to %s: the next run that publishes puts it right", name, to, latest.Path)}
	}
	return Presence{There: true, Known: true}
}

// pointerOf returns the name that leads to the latest of a sink's outputs; nil if there is none.
func pointerOf(compiled *plan.Plan, sink string) plugin.Pointer {
	i := compiled.Find(sink)
	if i == plan.None {
		return nil
	}
	if pointed, ok := compiled.Nodes[i].Sink.(plugin.Pointed); ok {
		return pointed.Latest()
	}
	return nil
}

// realPath is a path without symbolic links on the way to it, as far as there is one.
func realPath(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// verifyLatest looks where the name of a published output leads. Where it should lead to the output of another run, that run is to be verified.
func (v *verification) verifyLatest(ctx context.Context, record landscape.ArtifactRecord) error {
	if record.Latest == "" || v.compiled == nil {
		return nil
	}
	latest, err := v.log.LatestOutput(ctx, record.Latest)
	if err != nil {
		return err
	}
	found := led(ctx, v.compiled, record.Sink, latest)
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := v.log.LatestOutput(ctx, record.Latest)
	switch {
	case err != nil:
		return err
	case found.There:
		v.compared(CheckedLatest, record.Sink, "%s leads to %s, which run %s published", record.Latest, latest.Path, latest.Run)
	case found.Known && now.Run == v.run.ID && concluded(v.report.Status):
		v.add(ArtifactDiffers, record.Sink, "%s", found.Why)
	case now.Run != v.run.ID:
		v.skipped(CheckedLatest, record.Sink, "it is for run %s to lead there: %s", now.Run, found.Why)
	default:
		v.skipped(CheckedLatest, record.Sink, "%s", found.Why)
	}
	return nil
}
