package recompute

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline/schema"
	"waymark/plugin"
)

// Parts returns the parts of a sink's output in their order. Every part of the run must be finalized: a part that is not
// is a *landscape.ImbalanceError.
func Parts(ctx context.Context, log *landscape.Reader, run, sink string) ([]plugin.Part, error) {
	writes, err := Writes(ctx, log, run, sink)
	if err != nil {
		return nil, err
	}
	return PartsOf(writes)
}

// Writes returns what was written to a sink, and fails as Parts does.
func Writes(ctx context.Context, log *landscape.Reader, run, sink string) ([]landscape.Effect, error) {
	effects, err := log.SinkEffects(ctx, run, sink)
	if err != nil {
		return nil, err
	}
	var writes []landscape.Effect
	for _, effect := range effects {
		if effect.Kind != landscape.WriteEffect {
			continue
		}
		if effect.State != landscape.Finalized {
			return nil, &landscape.ImbalanceError{Run: run, Findings: []landscape.Finding{{
				Check: "sink_incomplete", Source: effect.Source, Chunk: effect.Chunk, Node: sink, Detail: "the part is " + string(effect.State),
			}}}
		}
		writes = append(writes, effect)
	}
	return writes, nil
}

// PartsOf returns the parts of an output in their order. The writes are all of them.
func PartsOf(writes []landscape.Effect) ([]plugin.Part, error) {
	var parts []plugin.Part
	for _, effect := range writes {
		part, err := PartOf(effect)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b plugin.Part) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return parts, nil
}

// SchemaOf returns the schema of an output. The writes are all of them.
func SchemaOf(node *plan.Node, encoder plugin.Encoder, writes []landscape.Effect) (schema.Schema, error) {
	beyond := make([]string, len(writes))
	for i, effect := range writes {
		beyond[i] = effect.Beyond
	}
	return node.Layout(encoder).With(beyond)
}

// CheckStage makes sure that what a run staged for a sink is what is recorded of it. The error is a *plugin.TargetError if it is not, and a
// *landscape.ImbalanceError if the run has not written all of it. It changes nothing. There is nothing to compare if the output is published, or the target
// stages nothing.
func CheckStage(ctx context.Context, log *landscape.Reader, run string, node *plan.Node) error {
	target, stages := node.Sink.Target(run).(plugin.Stager)
	if !stages {
		return nil
	}
	published, err := log.Effect(ctx, landscape.PublishKey(run, node.Name))
	if err == nil && published.State == landscape.Finalized {
		return nil
	}
	if err != nil && !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	encoder, err := node.Encoder()
	if err != nil {
		return fmt.Errorf("sink %s: %w", node.Name, err)
	}
	parts, err := Parts(ctx, log, run, node.Name)
	if err != nil {
		return err
	}
	if err := target.CheckStaged(ctx, encoder.Header(), parts); err != nil {
		return fmt.Errorf("sink %s: %w", node.Name, err)
	}
	return nil
}

// PartOf returns the part of a write effect that has begun.
func PartOf(effect landscape.Effect) (plugin.Part, error) {
	if effect.Ordinal == nil || effect.Offset == nil {
		return plugin.Part{}, &InvalidError{"a part that was begun has no place on record"}
	}
	part := plugin.Part{Ordinal: *effect.Ordinal, Offset: *effect.Offset, Bytes: effect.Bytes, Rows: effect.Rows}
	if n, err := hex.Decode(part.SHA256[:], []byte(effect.SHA256)); err != nil || n != len(part.SHA256) {
		return part, &InvalidError{fmt.Sprintf("the recorded digest is %q", effect.SHA256)}
	}
	return part, nil
}

// InvalidError says that something is recorded that no run records.
type InvalidError struct{ Message string }

// Error returns the message.
func (e *InvalidError) Error() string { return e.Message }
