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
	Run  string      `db:"run_id,key"`
	Sink string      `db:"sink,key"`
	Line int64       `db:"line,key"`
	Fate plugin.Fate `db:"fate"`
	At   Micros      `db:"at_us"`
}

// Table returns erasures.
func (Erasure) Table() string { return "erasures" }

// Table returns erased.
func (Erased) Table() string { return "erased" }

// SinkErasures are the rows of one output of a run that orders delete in its target.
type SinkErasures struct {
	Erasures []Erasure             // by line
	Fates    map[int64]plugin.Fate // what became of them, by line; a row without one is still to be deleted
}

// Erasures returns the rows of an output that orders delete.
func (r *Reader) Erasures(ctx context.Context, run, sink string) (found SinkErasures, err error) {
	if found.Erasures, err = Select[Erasure](ctx, r.from, run, sink); err != nil || found.Erasures == nil {
		return found, err
	}
	erased, err := Select[Erased](ctx, r.from, run, sink)
	found.Fates = map[int64]plugin.Fate{}
	for _, e := range erased {
		found.Fates[e.Line] = e.Fate
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

// RecordErased records what became of rows of one output that an order deletes. A row with a recorded fate keeps it.
func (l *Log) RecordErased(ctx context.Context, run, sink string, lines []int64, fates []plugin.Fate) error {
	return settle(Erased{}.Table(), func() error {
		known, err := l.Erasures(ctx, run, sink)
		if err != nil {
			return err
		}
		tx, now := Tx{}, l.now()
		for i, line := range lines {
			if known.Fates[line] == "" {
				tx.Insert = append(tx.Insert, Erased{Run: run, Sink: sink, Line: line, Fate: fates[i], At: now})
			}
		}
		if tx.Insert == nil {
			return nil
		}
		return l.driver.Commit(ctx, tx)
	})
}

// FateText says of a row that was to be deleted in a target what became of it.
func FateText(fate plugin.Fate) string {
	switch fate {
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
	return string(fate)
}

// ErasedLine is the line of a certificate about a row of an output: with what became of it in its target, unless the fate is "".
func ErasedLine(run string, line OutputLine, fate plugin.Fate) string {
	told := fmt.Sprintf("  run %s  %s row %d (sink %s)", run, OneLine(line.Output), line.Line, line.Sink)
	if fate != "" {
		told += ": " + FateText(fate)
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

// FatesText says how many rows had which fate, such as "2 deleted, 1 gone".
func FatesText(fates []plugin.Fate) string {
	var told []string
	for _, fate := range []plugin.Fate{plugin.RowDeleted, plugin.RowGone, plugin.RowEdited, plugin.RowReplaced, plugin.RowUnclear, plugin.RowLeft} {
		n := 0
		for _, f := range fates {
			if f == fate {
				n++
			}
		}
		if n > 0 {
			told = append(told, fmt.Sprintf("%d %s", n, fate))
		}
	}
	return strings.Join(told, ", ")
}
