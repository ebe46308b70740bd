package retain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/plugin"
)

// An Eraser deletes rows in the targets of outputs.
type Eraser interface {
	// Erasable fails if rows of a published output cannot be deleted.
	Erasable(ctx context.Context, run, sink string) error
	// TryErase returns what Erase would now; without lines it only asks the target whether it would delete any. It changes nothing.
	TryErase(ctx context.Context, run, sink string, lines []int64) ([]plugin.ErasureOutcome, error)
	// Erase deletes rows of a published output, by their lines, and returns what became of each, in their order. It may be repeated, with the same answer.
	Erase(ctx context.Context, run, sink string, lines []int64) ([]plugin.ErasureOutcome, error)
}

// Erasure is a row of an output that an order to forget deletes in its target.
type Erasure struct {
	Run string `json:"run"`
	landscape.OutputLine
}

// UntouchedError says that an order has nothing to delete where it is to delete, or where it has nothing left to delete.
type UntouchedError struct {
	Target  string
	Touched []string // outputs with such rows, sorted
	Leave   bool     // it was to be given up
}

// Error names the outputs that have such rows.
func (e *UntouchedError) Error() string {
	switch {
	case e.Leave && e.Touched == nil:
		return fmt.Sprintf("%q cannot be given up: no order is still to delete rows anywhere", e.Target)
	case e.Leave:
		return fmt.Sprintf("%q cannot be given up: no order is still to delete rows there, but in %s", e.Target, strings.Join(e.Touched, ", "))
	}
	if e.Touched == nil {
		return fmt.Sprintf("%q has none of these rows, and no published output has", e.Target)
	}
	return fmt.Sprintf("%q has none of these rows, and is no sink of their runs: these have some: %s", e.Target, strings.Join(e.Touched, ", "))
}

// TargetError says that the target of a sink does not delete rows. Nothing of the order is carried out.
type TargetError struct {
	Order             int64 // 0 if it was not given
	Run, Sink, Output string
	Err               error
}

// Error names the order and the target.
func (e *TargetError) Error() string {
	if e.Order == 0 {
		return fmt.Sprintf("rows of %s (sink %s of run %s) cannot be deleted, and nothing was forgotten: %v; without this place the certificate lists them", e.Output, e.Sink, e.Run, e.Err)
	}
	return fmt.Sprintf("order %d to forget: rows of %s (sink %s of run %s) are not deleted, and nothing was overwritten yet: %v", e.Order, e.Output, e.Sink, e.Run, e.Err)
}

// Unwrap returns what the target said.
func (e *TargetError) Unwrap() error { return e.Err }

// DeleteIn has an order delete the rows in targets, too: names are those of sinks, or of outputs as they are listed. Which rows that are is in Erasures. The error is an
// *UntouchedError, or one of Erasable.
func (p *ForgetPlan) DeleteIn(ctx context.Context, follow Follower, eraser Eraser, names []string) error {
	lines, err := p.lines(ctx, follow)
	if err != nil {
		return err
	}
	for _, name := range names {
		some := false
		for _, line := range lines {
			if line.Sink == name || line.Output == name {
				p.Erasures, some = append(p.Erasures, line), true
			}
		}
		if !some {
			return untouched(name, lines)
		}
	}
	slices.SortFunc(p.Erasures, compareErasures)
	p.Erasures = slices.Compact(p.Erasures)
	return p.eachOutput(func(e Erasure) error { return eraser.Erasable(ctx, e.Run, e.Sink) })
}

// probe asks the targets whether they would delete rows now, and with all what would become of each.
func (p *ForgetPlan) probe(ctx context.Context, eraser Eraser, all bool) (fates []ErasedIn, err error) {
	err = p.eachOutput(func(e Erasure) error {
		var lines []int64
		for _, other := range p.Erasures {
			if all && other.Run == e.Run && other.Sink == e.Sink {
				lines = append(lines, other.Line)
			}
		}
		outcomes, err := eraser.TryErase(ctx, e.Run, e.Sink, lines)
		if err != nil {
			return errors.Join(ctx.Err(), &TargetError{Run: e.Run, Sink: e.Sink, Output: e.Output, Err: err})
		}
		fate := ErasedIn{Run: e.Run, Sink: e.Sink, Output: e.Output, Outcomes: map[plugin.ErasureOutcome]int64{}}
		for _, outcome := range outcomes {
			fate.Outcomes[outcome]++
		}
		fates = append(fates, fate)
		return nil
	})
	return fates, err
}

func untouched(name string, lines []Erasure) *UntouchedError {
	e := &UntouchedError{Target: name}
	for _, line := range lines {
		e.Touched = append(e.Touched, line.Output)
	}
	slices.Sort(e.Touched)
	e.Touched = slices.Compact(e.Touched)
	return e
}

func compareErasures(a, b Erasure) int {
	return cmp.Or(strings.Compare(a.Run, b.Run), strings.Compare(a.Sink, b.Sink), cmp.Compare(a.Line, b.Line))
}

// lines returns the rows of published outputs that came of the rows of the plan and of nothing else.
func (p *ForgetPlan) lines(ctx context.Context, follow Follower) (lines []Erasure, err error) {
	of := map[string][]landscape.RowKey{}
	for _, row := range p.Rows {
		of[row.Run] = append(of[row.Run], row)
	}
	for run, rows := range of {
		found, err := follow.Descend(ctx, run, rows)
		if err != nil {
			return nil, err
		}
		for _, line := range found.Lines {
			if line.Output != "" && line.Line > 0 {
				lines = append(lines, Erasure{Run: run, OutputLine: line})
			}
		}
	}
	return lines, nil
}

// eachOutput calls do with the first row to delete of each output that has some.
func (p *ForgetPlan) eachOutput(do func(Erasure) error) error {
	for i, e := range p.Erasures {
		if i == 0 || e.Run != p.Erasures[i-1].Run || e.Sink != p.Erasures[i-1].Sink {
			if err := do(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// records returns what is recorded of the rows that are to be deleted.
func (p *ForgetPlan) records() (records []landscape.Erasure) {
	for _, e := range p.Erasures {
		records = append(records, landscape.Erasure{Run: e.Run, Sink: e.Sink, Line: e.Line})
	}
	return records
}

// ErasedIn says what became of the rows in one output that an order deletes.
type ErasedIn struct {
	Run      string                          `json:"run"`
	Sink     string                          `json:"sink"`
	Output   string                          `json:"output"`
	Outcomes map[plugin.ErasureOutcome]int64 `json:"outcomes"` // how many rows, by what became of them
}

// String says it in a few words.
func (e ErasedIn) String() string {
	var outcomes []plugin.ErasureOutcome
	for outcome, rows := range e.Outcomes {
		outcomes = append(outcomes, slices.Repeat([]plugin.ErasureOutcome{outcome}, int(rows))...)
	}
	return fmt.Sprintf("%s, rows of run %s: %s", e.Output, e.Run, landscape.ErasuresText(outcomes))
}

// leavable requires of each target that is given up that an order is still to delete rows there. The error is an *UntouchedError.
func (f *Forgetter) leavable(ctx context.Context) error {
	if len(f.Leave) == 0 {
		return nil
	}
	open, err := f.Log.OpenErasures(ctx)
	if err != nil {
		return err
	}
	var lines []Erasure
	for _, e := range open {
		output, err := outputOf(ctx, f.Log.Reader, e.Run, e.Sink)
		if err != nil {
			return err
		}
		lines = append(lines, Erasure{e.Run, landscape.OutputLine{Sink: e.Sink, Output: output, Line: e.Line}})
	}
	for _, name := range f.Leave {
		if !slices.ContainsFunc(lines, func(line Erasure) bool { return line.Sink == name || line.Output == name }) {
			e := untouched(name, lines)
			e.Leave = true
			return e
		}
	}
	return nil
}

// erase deletes rows in targets, before anything is blanked by which they are found.
func (c *carrying) erase(ctx context.Context) error {
	rows, err := c.Log.ErasuresBy(ctx, c.order.ID)
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		n := slices.IndexFunc(rows, func(e landscape.Erasure) bool { return e.Run != rows[0].Run || e.Sink != rows[0].Sink })
		if n < 0 {
			n = len(rows)
		}
		if err := c.eraseIn(ctx, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// eraseIn deletes rows of one output.
func (c *carrying) eraseIn(ctx context.Context, rows []landscape.Erasure) error {
	run, sink, lines := rows[0].Run, rows[0].Sink, make([]int64, len(rows))
	for i, row := range rows {
		lines[i] = row.Line
	}
	output, err := outputOf(ctx, c.Log.Reader, run, sink)
	if err != nil {
		return err
	}
	known, err := c.Log.Erasures(ctx, run, sink)
	if err == nil && known.Outcomes[lines[0]] == "" { // those of one order are recorded at once
		if err = c.askTarget(ctx, run, sink, output, lines); err == nil {
			known, err = c.Log.Erasures(ctx, run, sink)
		}
	}
	if err != nil {
		return err
	}
	c.report.erased(run, sink, known.Outcomes)
	in := ErasedIn{Run: run, Sink: sink, Output: output, Outcomes: map[plugin.ErasureOutcome]int64{}}
	for _, line := range lines {
		in.Outcomes[known.Outcomes[line]]++
	}
	c.result.Erased = append(c.result.Erased, in)
	return nil
}

func outputOf(ctx context.Context, log *landscape.Reader, run, sink string) (string, error) {
	artifacts, err := log.Artifacts(ctx, run)
	for _, artifact := range artifacts {
		if artifact.Sink == sink {
			return artifact.Path, err
		}
	}
	return "", err
}

// askTarget lets a target delete rows, and records what it says.
func (c *carrying) askTarget(ctx context.Context, run, sink, output string, lines []int64) error {
	if err := c.held(ctx, run); err != nil {
		return err
	}
	outcomes := slices.Repeat([]plugin.ErasureOutcome{plugin.RowLeft}, len(lines))
	if slices.Contains(c.Leave, sink) || slices.Contains(c.Leave, output) {
		c.report.left = true
	} else {
		var err error
		if outcomes, err = c.Targets.Erase(ctx, run, sink, lines); err != nil {
			return errors.Join(ctx.Err(), &TargetError{c.order.ID, run, sink, output, err})
		}
	}
	return cmp.Or(c.Log.RecordErased(ctx, run, sink, lines, outcomes), failpoint.Hit("forget.erased"))
}

// held says whether a hold that came after the order protects a run.
func (c *carrying) held(ctx context.Context, id string) error {
	holds, err := c.Log.OpenHolds(ctx)
	if err != nil {
		return err
	}
	runs, err := landscape.Select[landscape.RunHead](ctx, c.Log, id)
	for _, hold := range holds {
		if err == nil && hold.Holds(runs[0]) {
			err = fmt.Errorf("rows in targets: %w: run %s is protected by hold %d (%s)", landscape.ErrInUse, id, hold.ID, hold.Why)
		}
	}
	return err
}
