package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine/plan"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/landscape/seal"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

// OpenRun compiles the document, looks at the sources, makes the targets ready, and begins the run's record.
//
// If the document limits how many runs there are at once, and the run may not begin now, that is recorded with its start, and nothing else is
// done: Opened.Held says so. A run that is recorded is not begun a second time: the error is an *ExistsError. Who began it, and what made them, is what Temporal
// knows of that.
//
// It may run twice: the record's key is the run's id, and says which execution began it.
func (a *Activities) OpenRun(ctx context.Context, in OpenInput) (Opened, error) {
	open := func(a *Activities, ctx context.Context, in OpenInput) (opened Opened, err error) {
		if opened, err = a.openRun(ctx, in); err == nil {
			if in.Again {
				a.tellStarter(ctx, in.Run, Wait{})
			}
			opened.Labels, err = a.labelsOf(ctx, in.Run)
			return opened, err
		}
		if opened.Held, err = a.heldBy(ctx, in, err); opened.Held != nil {
			switch held := opened.Held; {
			case held.State == landscape.StartWaiting:
				a.tellStarter(ctx, in.Run, Wait{Reason: held.Reason})
			case held.Joined != "":
				a.tellStarter(ctx, in.Run, Wait{Joined: held.Joined})
			}
			opened.Labels, err = a.labelsAsked(ctx, LabelInput{Run: in.Run, Pipeline: in.Pipeline})
		}
		return opened, err
	}
	return anyAttempt(ctx, a, in.Run, 0, in, open)
}

func (a *Activities) openRun(ctx context.Context, in OpenInput) (Opened, error) {
	if err := pipeline.CheckRunID(in.Run); err != nil {
		return Opened{}, final{TypeInput, keyError{"run", err}}
	}
	from, err := a.originOf(ctx, in)
	if err == nil {
		err = a.begun(ctx, in, from)
	}
	if err == nil {
		err = a.decided(ctx, in, from)
	}
	begun := false
	if err == nil {
		begun, err = a.accept(ctx, in, from)
	}
	if err == nil {
		in, err = a.deployed(ctx, in, begun)
	}
	if err != nil {
		return Opened{}, err
	}
	in.Actor, in.Trigger = from.who()
	document, err := a.payloads.Get(ctx, payload.Digest(in.Document))
	if err != nil {
		return Opened{}, fmt.Errorf("pipeline document of run %s: %w", in.Run, err)
	}
	in, about, err := a.aboutSlot(ctx, in, cmp.Or(in.File, "the document on record"), document)
	if err == nil {
		about.fresh, err = a.fills(ctx, in, about.fresh)
	}
	if err != nil {
		return Opened{}, err
	}
	request := plan.Request{File: cmp.Or(in.File, "the document on record"), Folder: in.Folder, Document: document, Params: in.Params}
	if err := a.version(ctx, in, &request); err != nil {
		return Opened{}, err
	}
	if in.Retry != nil {
		request.Beside, in.Parent, in.Link = in.Retry.Beside, in.Retry.Of, string(landscape.RetryLink)
	}
	compiled, err := a.planner.Plan(request)
	if err == nil {
		err = a.ofVersion(ctx, in, compiled)
	}
	if err == nil {
		err = recompute.Admits(a.planner, compiled)
	}
	if err != nil {
		return Opened{}, err
	}
	if in.Version > 0 {
		if err := a.taken(ctx, compiled); err != nil {
			return Opened{}, err
		}
	}
	on, err := a.admit(ctx, in, compiled)
	if err == nil {
		err = a.takeSlot(ctx, in, about.fresh)
	}
	if err != nil {
		return Opened{}, err
	}
	compiled, pins, err := a.sources(ctx, in, from, compiled)
	if err != nil {
		return Opened{}, a.here(err)
	}
	if err := a.begin(ctx, in, beginning{from, on, compiled, pins}); err != nil {
		return Opened{}, err
	}
	if err := a.noteValues(ctx, in, compiled); err != nil {
		return Opened{}, err
	}
	r := newRun(in.Run, compiled, pins)
	a.keep(r)
	if err := a.openSinks(ctx, r); err != nil {
		return Opened{}, err
	}
	sum, err := resumepoint.PlanOf(compiled, pins)
	return Opened{Plan: a.bind(compiled, sum), Overridden: about.overridden}, err
}

// stat returns what the sources hold, by their names: those that are known already, as that says.
func stat(ctx context.Context, compiled *plan.Plan, known map[string]plugin.SourceInfo) (map[string]plugin.SourceInfo, error) {
	pins := map[string]plugin.SourceInfo{}
	for _, i := range compiled.Sources() {
		if pin, is := known[compiled.Nodes[i].Name]; is {
			pins[compiled.Nodes[i].Name] = pin
			continue
		}
		info, err := compiled.Nodes[i].Source.Stat(ctx)
		if err != nil {
			return nil, err
		}
		pins[compiled.Nodes[i].Name] = info
	}
	return pins, nil
}

// beginning is what a run begins with, besides its input.
type beginning struct {
	from     *origin
	on       *landscape.Admission
	compiled *plan.Plan
	pins     map[string]plugin.SourceInfo
}

func (a *Activities) begin(ctx context.Context, in OpenInput, with beginning) error {
	from, compiled, pins := with.from, with.compiled, with.pins
	record, err := a.record(in, compiled)
	if err != nil {
		return err
	}
	graph := recompute.Graph(in.Run, compiled)
	for i := range graph.Sources {
		pin, ok := pins[graph.Sources[i].Source]
		if !ok {
			continue // a barrier has nothing to pin
		}
		info, err := json.Marshal(pin)
		if err != nil {
			return fmt.Errorf("source %s: %w", graph.Sources[i].Source, err)
		}
		graph.Sources[i].Info = string(info)
	}
	graph.Tables = recompute.TablesOf(in.Run, compiled)
	if err := a.writeMarker(ctx, in.Run); err != nil {
		return err
	}
	if graph.Retried, err = a.retried(ctx, pins); err != nil {
		return err
	}
	key := seal.NewKey()
	graph.Key = key[:]
	if graph.Slot, err = a.inheritedSlot(ctx, in); err != nil {
		return err
	}
	graph.By, graph.Admission = []landscape.Execution{from.Execution}, with.on
	err = a.log.Keep(ctx, in.Run,
		func() ([]string, error) { return a.storeTables(ctx, compiled) },
		func() error { return a.log.BeginRun(ctx, record, graph) })
	diverged := (*landscape.DivergedError)(nil)
	switch {
	case errors.As(err, &diverged) && diverged.Table == (landscape.RetriedRow{}).Table():
		row := strings.Replace(strings.TrimPrefix(diverged.Key, record.Parent+"/"), "/", ":", 1)
		return notRetryable("another run began meanwhile to retry row %s of run %s: waymark errors %s --retry retries what is left", row, record.Parent, record.Parent)
	case diverged != nil: // perhaps another execution was faster
		return cmp.Or(a.begun(ctx, in, from), err)
	}
	return err
}

// storeTables stores the lookup tables as they are now, and returns their digests: every recomputation of the run's rows uses these.
func (a *Activities) storeTables(ctx context.Context, compiled *plan.Plan) (payloads []string, err error) {
	for i := range compiled.Nodes {
		if table := compiled.Nodes[i].Table; table != nil {
			digest, err := a.payloads.Put(ctx, table.Content)
			if err != nil {
				return nil, fmt.Errorf("table of %s: %w", compiled.Nodes[i].Name, err)
			}
			payloads = append(payloads, string(digest))
		}
	}
	return payloads, nil
}

func (a *Activities) record(in OpenInput, compiled *plan.Plan) (landscape.Run, error) {
	description := compiled.Describe()
	params, err := json.Marshal(in.Params)
	if err != nil {
		return landscape.Run{}, fmt.Errorf("parameters of run %s: %w", in.Run, err)
	}
	references, err := json.Marshal(compiled.Document.References)
	if err != nil {
		return landscape.Run{}, fmt.Errorf("references of run %s: %w", in.Run, err)
	}
	return landscape.Run{
		RunHead: landscape.RunHead{
			ID: in.Run, Pipeline: description.Pipeline, Version: in.Version, Environment: in.Environment, EnvironmentSeq: in.EnvironmentSeq,
			DocumentSHA256: description.Document, PlanSHA256: compiled.Digest(),
			Code: a.code, Actor: in.Actor, Trigger: in.Trigger, Host: a.host, BaseDir: in.Folder,
		},
		File: in.File, Parent: in.Parent, Link: landscape.Link(in.Link), Document: string(compiled.Document.Source),
		Plan: string(compiled.JSON()), Params: string(params), Refs: string(references),
	}, nil
}

// openSinks makes the targets ready, several side by side, but for those into which something was written: they are.
func (a *Activities) openSinks(ctx context.Context, r *run) error {
	return r.eachSink(func(node *plan.Node) error { return a.openSink(ctx, r, node) })
}

// eachSink does something for every sink of the run, several side by side. All are tried. The error is that of the first in the document
// for which it failed.
func (r *run) eachSink(do func(node *plan.Node) error) error {
	sinks := r.plan.Sinks()
	return cmp.Or(inParallel(len(sinks), func(i int) error { return do(&r.plan.Nodes[sinks[i]]) })...)
}

// openSink makes a target ready. What an attempt makes that comes so late that the output is published by then, or the run ended
// permanently, is nobody's, and is taken back. What it made before others wrote there is theirs.
func (a *Activities) openSink(ctx context.Context, r *run, node *plan.Node) error {
	if used, err := a.log.Attempted(ctx, r.id, node.Name); err != nil || used {
		return err
	}
	encoder, err := node.Encoder()
	if err != nil {
		return fmt.Errorf("sink %s: %w", node.Name, err)
	}
	if err := failpoint.Hit("sink.opening"); err != nil {
		return err
	}
	latest, err := a.leading(ctx, r, node)
	if err == nil && latest != nil {
		err = latest.Check(ctx)
	}
	if err != nil {
		return err
	}
	target := node.Sink.Target(r.id)
	made, err := target.Open(ctx, encoder.Header())
	if err != nil || !made {
		return err
	}
	ctx = context.WithoutCancel(ctx) // Temporal gives up attempts that come late
	if over, err := a.over(ctx, r.id, node.Name); err != nil || !over {
		return err
	}
	return target.Discard(ctx)
}

// over reports whether nothing can be written to the sink any more: it is published, or the run was ended permanently. What an attempt
// wrote before it could see that is discarded by the activity that publishes or ends.
func (a *Activities) over(ctx context.Context, run, sink string) (bool, error) {
	record, err := a.log.Run(ctx, run)
	if err != nil || record.Final {
		return record.Final, err
	}
	return a.published(ctx, run, sink)
}

func (a *Activities) published(ctx context.Context, run, sink string) (bool, error) {
	effect, err := a.log.Effect(ctx, landscape.PublishKey(run, sink))
	if errors.Is(err, landscape.ErrNotFound) {
		return false, nil
	}
	return effect.State == landscape.Finalized, err
}
