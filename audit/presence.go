package audit

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// Presence says whether the target of an output holds what a run published there.
type Presence struct {
	There bool   // it does, down to the last byte; of a table, the entries that the run left beside it are there
	Known bool   // whether it does could be found out
	Table bool   // it is a table: others may write there as well, and its rows are not read
	Why   string // it does not, or that is not known; empty if it does
}

// Presence looks at the target of an output. It reads only. The error says that the record could not be read.
func (a *Auditor) Presence(ctx context.Context, published landscape.ArtifactRecord) (Presence, error) {
	run, err := a.log.Run(ctx, published.Run)
	if err != nil {
		return Presence{}, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return Presence{}, err
	}
	v := &verification{Auditor: a, run: run, compiled: compiled}
	if compiled == nil && !isFile(published.Path) {
		return Presence{Why: fmt.Sprintf("only the sink of run %s can ask %s, and %s", run.ID, published.Path, problem)}, nil
	}
	wrong, differs := v.verifyArtifact(ctx, published.Artifact(), published.Sink)
	if err := ctx.Err(); err != nil || errors.Is(wrong, landscape.ErrUnavailable) {
		return Presence{}, errors.Join(err, wrong)
	}
	found := Presence{There: wrong == nil, Known: wrong == nil || differs, Table: v.isTable(published.Sink)}
	if wrong != nil {
		found.Why = wrong.Error()
	}
	return found, nil
}

// Unfit is a sink whose staged output cannot be what its run wrote, or cannot be compared.
type Unfit struct {
	Sink    string
	Changed bool // the target holds something else; otherwise that could not be found out
	Why     string
}

// CheckStages compares what a run that has not published its outputs staged for its sinks with what is recorded of it. It returns the sinks for which
// that is not the same, in document order; nil if there is none. It reads only.
func (a *Auditor) CheckStages(ctx context.Context, id string) (unfit []Unfit, err error) {
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return nil, err
	}
	if compiled == nil {
		return []Unfit{{Why: problem}}, nil
	}
	for _, i := range compiled.Sinks() {
		node := &compiled.Nodes[i]
		wrong := recompute.CheckStage(ctx, a.log, id, node)
		if wrong == nil {
			continue
		}
		if err := ctx.Err(); err != nil || errors.Is(wrong, landscape.ErrUnavailable) {
			return nil, errors.Join(err, wrong)
		}
		fault, is := errors.AsType[*plugin.TargetError](wrong)
		unfit = append(unfit, Unfit{node.Name, is && fault.Code == targetChanged, wrong.Error()})
	}
	return unfit, nil
}

// isTable reports whether the sink is known to write into a table.
func (v *verification) isTable(sink string) bool {
	if v.compiled == nil {
		return false
	}
	i := v.compiled.Find(sink)
	return i != plan.None && v.compiled.Nodes[i].Kind == plan.Sink && v.compiled.Nodes[i].Sink.Guarantee() == plugin.Transactional
}
