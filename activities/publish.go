package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/plugin"
)

// Publish makes the whole output of a sink, or of each of several, visible and records the artifact.
//
// It may run twice: the effect's key is run and sink, and a target that is published already answers with what it
// holds.
func (a *Activities) Publish(ctx context.Context, in Batch[PublishInput]) error {
	publish := func(a *Activities, ctx context.Context, r *run, in PublishInput) (none, error) {
		return none{}, a.publish(ctx, r, in)
	}
	_, err := inBatch(ctx, a, in, inPassing, publish)
	return err
}

func (a *Activities) publish(ctx context.Context, r *run, in PublishInput) error {
	node, err := r.sink(in.Sink)
	if err != nil {
		return err
	}
	encoder, err := node.Encoder()
	if err != nil {
		return fmt.Errorf("sink %s: %w", in.Sink, err)
	}
	if err := r.publishable(func() error { return a.publishable(ctx, r) }); err != nil {
		return err
	}
	writes, err := recompute.Writes(ctx, a.log.Reader, r.id, in.Sink)
	if err != nil {
		return err
	}
	parts, err := recompute.PartsOf(writes)
	if err != nil {
		return err
	}
	effect, err := a.beginPublish(ctx, r, in.Sink, parts)
	if err != nil {
		return err
	}
	latest, err := a.leading(ctx, r, node)
	if err != nil {
		return err
	}
	if effect.State == landscape.Finalized {
		return a.lead(ctx, in.Sink, latest)
	}
	artifact, err := node.Sink.Target(r.id).Publish(ctx, encoder.Header(), parts)
	if err != nil {
		return errors.Join(fmt.Errorf("sink %s: %w", in.Sink, err),
			a.log.FailEffect(ctx, effect.Attempt(a.worker), err.Error()))
	}
	name := ""
	if latest != nil {
		name = latest.String()
	}
	schema, err := recompute.SchemaOf(node, encoder, writes)
	if err != nil {
		return err
	}
	if err := a.log.FinalizePublish(ctx, effect.Attempt(a.worker), artifact, name, schema.String()); err != nil {
		return err
	}
	return a.lead(ctx, in.Sink, latest)
}

// latestOf returns the name that leads to the latest of a sink's outputs; nil if there is none.
func latestOf(sink *plan.Node) plugin.Pointer {
	if pointed, is := sink.Sink.(plugin.Pointed); is {
		return pointed.Latest()
	}
	return nil
}

// leading returns the name that leads to the output of a run if it is the latest; nil if there is none, or the run retries rows of another one: its
// outputs are fragments, which never take the place of a whole one.
func (a *Activities) leading(ctx context.Context, r *run, sink *plan.Node) (plugin.Pointer, error) {
	name := latestOf(sink)
	if name == nil {
		return nil, nil //nolint:nilnil // most have none
	}
	record, err := a.log.Run(ctx, r.id)
	if err != nil || record.Link == landscape.RetryLink {
		return nil, err
	}
	return name, nil
}

// lead makes the name lead to the output that the record says is the latest, which another run may have published. If
// two do this at the same time, the slower one may undo what the other did; so each looks again at the record when it
// is done, and what was recorded last is seen by at least one.
func (a *Activities) lead(ctx context.Context, sink string, name plugin.Pointer) error {
	if name == nil {
		return nil
	}
	for led := (landscape.ArtifactRecord{}); ; {
		latest, err := a.log.LatestOutput(ctx, name.String())
		if err != nil || latest == led {
			return err
		}
		if err := failpoint.Hit("sink.leading"); err != nil {
			return err
		}
		to := plugin.Latest{Run: latest.Run, For: latest.StandsFor, Output: latest.Path, Rows: latest.Rows, SHA256: latest.SHA256}
		if err := name.Lead(ctx, to); err != nil {
			return fmt.Errorf("sink %s: %w", sink, err)
		}
		led = latest
	}
}

// publishable calls check until it found nothing wrong: what is in balance when sinks are published changes no more,
// and a policy that passed stands.
func (r *run) publishable(check func() error) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	if r.checked {
		return nil
	}
	err := check()
	r.checked = err == nil
	return err
}

// publishable refuses to publish anything of a run whose rows are not accounted for, or which a policy keeps from it.
func (a *Activities) publishable(ctx context.Context, r *run) error {
	if err := a.balanced(ctx, r.id); err != nil {
		return err
	}
	if err := a.policies(ctx, r); err != nil {
		return err
	}
	return a.checkStages(ctx, r)
}

// checkStages refuses to publish a part of the outputs of a run that people signed off if what is staged for another
// one is not what they signed.
func (a *Activities) checkStages(ctx context.Context, r *run) error {
	if r.plan.SignOffs == nil {
		return nil
	}
	return r.eachSink(func(node *plan.Node) error { return recompute.CheckStage(ctx, a.log.Reader, r.id, node) })
}

// balanced refuses a run whose rows are not accounted for. That outputs are not published yet, and policies have not
// passed, are the findings that are no fault now.
func (a *Activities) balanced(ctx context.Context, run string) error {
	findings, err := a.log.Sweep(ctx, run, false)
	if err != nil {
		return err
	}
	findings = slices.DeleteFunc(findings, func(f landscape.Finding) bool {
		return f.Check == landscape.NotPublished || f.Check == landscape.PolicyNotPassed
	})
	if len(findings) > 0 {
		return &landscape.ImbalanceError{Run: run, Findings: findings}
	}
	return nil
}

func (a *Activities) beginPublish(ctx context.Context, r *run, sink string, parts []plugin.Part) (landscape.Effect, error) {
	var rows, bytes int64
	for _, part := range parts {
		rows += part.Rows
		bytes += part.Bytes
	}
	if err := a.log.PreparePublish(ctx, r.id, sink, rows, bytes); err != nil {
		return landscape.Effect{}, err
	}
	return a.log.BeginEffect(ctx, landscape.PublishKey(r.id, sink), landscape.Placement{}, a.worker)
}
