package audit

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/plugin"
)

// NotErasableError says that rows of an output cannot be deleted in its target, and what can be done instead.
type NotErasableError struct {
	Run, Sink, Output string
	Why               string
}

// Error names the output, the reason and the cure.
func (e *NotErasableError) Error() string {
	return fmt.Sprintf("%s, which sink %s of run %s wrote: %s", e.Output, e.Sink, e.Run, e.Why)
}

// Erasable fails if rows of a published output cannot be deleted in its target: with a *NotErasableError if that is no table, or its plan cannot be made here.
func (a *Auditor) Erasable(ctx context.Context, run, sink string) error {
	_, _, err := a.eraser(ctx, run, sink)
	return err
}

// TryErase returns what Erase would now; without lines it asks the target only whether it would delete any. Nothing is changed.
func (a *Auditor) TryErase(ctx context.Context, run, sink string, lines []int64) ([]plugin.ErasureOutcome, error) {
	written, target, err := a.eraser(ctx, run, sink)
	if err != nil {
		return nil, err
	}
	return target.TryErase(ctx, written, lines)
}

// RowsWith returns how many rows of the target of a sink, also of other writers, have the value, as text, in a column; -1 if there is no such column.
func (a *Auditor) RowsWith(ctx context.Context, run, sink, column, value string) (int64, error) {
	_, target, err := a.eraser(ctx, run, sink)
	if err != nil {
		return 0, err
	}
	return target.RowsWith(ctx, column, value)
}

// Erase deletes rows of a published output in its target, by their lines, and returns what became of each, in their order. It may be repeated: a row that was deleted
// before has the same answer. After an error nothing or everything is done.
func (a *Auditor) Erase(ctx context.Context, run, sink string, lines []int64) ([]plugin.ErasureOutcome, error) {
	written, target, err := a.eraser(ctx, run, sink)
	if err != nil {
		return nil, err
	}
	return target.Erase(ctx, written, lines)
}

// eraser returns what a run wrote with one of its sinks, and the target that can delete rows of it.
func (a *Auditor) eraser(ctx context.Context, id, sink string) (written plugin.Written, eraser plugin.Eraser, err error) {
	run, err := a.log.Run(ctx, id)
	if err != nil {
		return written, nil, err
	}
	artifacts, err := a.log.Artifacts(ctx, id)
	if err != nil {
		return written, nil, err
	}
	at := slices.IndexFunc(artifacts, func(r landscape.ArtifactRecord) bool { return r.Sink == sink })
	if at < 0 {
		return written, nil, fmt.Errorf("run %s published no output of sink %s: %w", id, sink, landscape.ErrNotFound)
	}
	refused := func(why string) error {
		return &NotErasableError{Run: id, Sink: sink, Output: artifacts[at].Path, Why: why}
	}
	compiled, problem, err := a.plan(ctx, run)
	if err == nil && compiled == nil {
		err = refused("only its sink can reach the target, and " + problem)
	}
	if err != nil {
		return written, nil, err
	}
	of := &attesting{verification: &verification{Auditor: a, run: run, compiled: compiled}, erasing: true}
	written, target, err := of.written(ctx, compiled, compiled.Find(sink), artifacts[at])
	eraser, can := target.(plugin.Eraser)
	if err == nil && !can {
		err = refused("Waymark deletes rows in tables of Postgres alone. Run the pipeline again without them, or edit it: the certificate lists them")
	}
	return written, eraser, err
}

// erased says what became of a line of a sink's output by an order to delete it in the target; "" if there is none.
func (i *explaining) erased(ctx context.Context, sink string, line int64) (string, error) {
	orders, err := i.log.Erasures(ctx, i.run.ID, sink)
	at := slices.IndexFunc(orders.Erasures, func(e landscape.Erasure) bool { return e.Line == line })
	if err != nil || at < 0 {
		return "", err
	}
	order, outcome := orders.Erasures[at].Order, orders.Outcomes[line]
	switch {
	case outcome == "":
		return fmt.Sprintf("not yet: order %d to forget is not carried out: waymark forget --finish does it", order), nil
	case outcome.Absent():
		return fmt.Sprintf("by order %d to forget: %s", order, landscape.ErasureText(outcome)), nil
	}
	return fmt.Sprintf("not, though order %d to forget said so: %s", order, landscape.ErasureText(outcome)), nil
}
