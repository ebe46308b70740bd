package landscape

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"waymark/plugin"
)

// Erasure is a row in the target of a sink that an order to forget deletes there. It is recorded with the order, before anything is deleted.
type Erasure struct {
	Run   string `db:"run_id,key"`
	Sink  string `db:"sink,key"`
	Line  int64  `db:"line,key"` // of the sink's output, as SinkLine counts them
	Order int64  `db:"purge_id"`
}

// Erased is what became of such a row.
type Erased struct {
	Run     string                `db:"run_id,key"`
	Sink    string                `db:"sink,key"`
	Line    int64                 `db:"line,key"`
	Outcome plugin.ErasureOutcome `db:"outcome"`
	At      Micros                `db:"at_us"`
}

// Table returns erasures.
func (Erasure) Table() string { return "erasures" }

// Table returns erased.
func (Erased) Table() string { return "erased" }

// SinkErasures are the rows of one output of a run that orders delete in its target.
type SinkErasures struct {
	Erasures []Erasure                       // by line
	Outcomes map[int64]plugin.ErasureOutcome // what became of them, by line; a row without one is still to be deleted
}

// Erasures returns the rows of an output that orders delete.
func (r *Reader) Erasures(ctx context.Context, run, sink string) (found SinkErasures, err error) {
	if found.Erasures, err = Select[Erasure](ctx, r.from, run, sink); err != nil || found.Erasures == nil {
		return found, err
	}
	erased, err := Select[Erased](ctx, r.from, run, sink)
	found.Outcomes = map[int64]plugin.ErasureOutcome{}
	for _, e := range erased {
		found.Outcomes[e.Line] = e.Outcome
	}
	return found, err
}

// ErasuresBy returns the rows that an order deletes, by run, sink and line.
func (r *Reader) ErasuresBy(ctx context.Context, order int64) (rows []Erasure, err error) {
	err = each(ctx, r.from, nil, func(e Erasure) bool {
		if e.Order == order {
			rows = append(rows, e)
		}
		return true
	})
	return rows, err
}

// OpenErasures returns the rows that orders are still to delete in targets, by run, sink and line; nil if there are none.
func (r *Reader) OpenErasures(ctx context.Context) ([]Erasure, error) {
	type line struct {
		run, sink string
		line      int64
	}
	rows, err := Select[Erasure](ctx, r.from)
	if err != nil || rows == nil {
		return nil, err
	}
	done := map[line]bool{}
	err = each(ctx, r.from, nil, func(e Erased) bool { done[line{e.Run, e.Sink, e.Line}] = true; return true })
	return slices.DeleteFunc(rows, func(e Erasure) bool { return done[line{e.Run, e.Sink, e.Line}] }), err
}

// ErasuresIn returns the rows of all outputs of a run that orders delete, by sink and line.
func (r *Reader) ErasuresIn(ctx context.Context, run string) ([]Erasure, error) {
	return Select[Erasure](ctx, r.from, run)
}

// RecordErased records what became of rows of one output that an order deletes. A row with a recorded outcome keeps it.
func (l *Log) RecordErased(
	ctx context.Context, run, sink string, lines []int64, outcomes []plugin.ErasureOutcome,
) error {
	return settle(Erased{}.Table(), func() error {
		known, err := l.Erasures(ctx, run, sink)
		if err != nil {
			return err
		}
		tx, now := Tx{}, l.now()
		for i, line := range lines {
			if known.Outcomes[line] == "" {
				tx.Insert = append(tx.Insert, Erased{Run: run, Sink: sink, Line: line, Outcome: outcomes[i], At: now})
			}
		}
		if tx.Insert == nil {
			return nil
		}
		return l.driver.Commit(ctx, tx)
	})
}

// ErasureText says of a row that was to be deleted in a target what became of it.
func ErasureText(outcome plugin.ErasureOutcome) string {
	switch outcome {
	case plugin.RowDeleted:
		return "deleted"
	case plugin.RowGone:
		return "no row of the table had its values: it was gone already, or edited"
	case plugin.RowEdited:
		return "somebody had edited it"
	case plugin.RowReplaced:
		return "a later row with its key was written"
	case plugin.RowUnclear:
		return "nothing told whether the row that was there was this one"
	case plugin.RowLeft:
		return "it was left there, because the target was given up"
	}
	return string(outcome)
}

// ErasedLine is the line of a certificate about a row of an output: with what became of it in its target,
// unless the outcome is "".
func ErasedLine(run string, line OutputLine, outcome plugin.ErasureOutcome) string {
	told := fmt.Sprintf("  run %s  %s row %d (sink %s)", run, OneLine(line.Output), line.Line, line.Sink)
	if outcome != "" {
		told += ": " + ErasureText(outcome)
	}
	return told
}

// OneLine makes one line of a text, as a note can hold it.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}

// ErasuresText says how many rows had which outcome, such as "2 deleted, 1 gone".
func ErasuresText(outcomes []plugin.ErasureOutcome) string {
	var told []string
	for _, outcome := range []plugin.ErasureOutcome{
		plugin.RowDeleted, plugin.RowGone, plugin.RowEdited, plugin.RowReplaced, plugin.RowUnclear, plugin.RowLeft,
	} {
		n := 0
		for _, o := range outcomes {
			if o == outcome {
				n++
			}
		}
		if n > 0 {
			told = append(told, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(told, ", ")
}
