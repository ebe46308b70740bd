// Package rowview computes the views that have rows for every token from the packed columns of one chunk after the other. The rows are those of the views
// of the databases, which a test holds; a database unpacks each column for each row, which takes it more than ten times as long.
package rowview

import (
	"context"
	"slices"

	"waymark/landscape"
)

// Source is a driver whose views Read computes.
type Source interface {
	landscape.RecordReader
	landscape.RelationReader
}

// view is one of the views: what it needs of a chunk, and its rows about one token, in order.
type view struct {
	hashes, records bool
	rows            func(c *chunk, t *token, yield yield) bool
}

// yield takes the values of a row, which are its own until it returns, and says whether it wants more.
type yield func(values []any) bool

var views = map[string]view{
	"tokens":         {rows: (*chunk).tokenRow},
	"token_outcomes": {rows: (*chunk).outcomeRow},
	"rows":           {rows: (*chunk).recordRow, records: true},
	"node_states":    {rows: (*chunk).stateRows, records: true, hashes: true},
	"routing_events": {rows: (*chunk).routeRows},
}

// sinkRows is the view whose rows are in the order of outputs, and not of origins.
const sinkRows = "sink_rows"

// Has reports whether Read computes the view with this name.
func Has(name string) bool { return views[name].rows != nil || name == sinkRows }

// Read does what landscape.RelationReader says, for a view that it has. What is recorded meanwhile may be in some chunks and not in others.
func Read(ctx context.Context, from Source, of landscape.Relation, run string, yield func(values []any) bool) error {
	runs := []string{run}
	if run == "" {
		runs = nil
		if err := landscape.Each(ctx, from, func(r runID) bool { runs = append(runs, r.Run); return true }); err != nil {
			return err
		}
	}
	for _, id := range runs {
		g, err := newGraph(ctx, from, id)
		if err != nil {
			return err
		}
		read := g.readOrigins
		if of.Name == sinkRows {
			read = g.readSinks
		}
		if more, err := read(ctx, views[of.Name], yield); err != nil || !more {
			return err
		}
	}
	return nil
}

type runID struct {
	Run string `db:"run_id,key"`
}

// Table returns runs.
func (runID) Table() string { return "runs" }

// readOrigins calls yield with the rows of a view by origin, row and lane, until it returns false, and reports whether it never did.
func (g *graph) readOrigins(ctx context.Context, v view, yield yield) (more bool, err error) {
	for _, source := range g.sources() {
		chunks, err := landscape.Select[landscape.Chunk](ctx, g.from, g.run, source)
		if err != nil {
			return false, err
		}
		for i := range chunks {
			c, err := g.load(ctx, chunks[i], v)
			if err != nil {
				return false, err
			}
			if !c.each(func(t *token) bool { return v.rows(c, t, yield) }) {
				return false, nil
			}
		}
	}
	return true, nil
}

// readSinks calls yield with the rows of sink_rows, as readOrigins does.
func (g *graph) readSinks(ctx context.Context, v view, yield yield) (more bool, err error) {
	effects, err := landscape.Select[landscape.Effect](ctx, g.from, g.run)
	if err != nil {
		return false, err
	}
	effects = slices.DeleteFunc(effects, func(e landscape.Effect) bool { return e.Kind != landscape.WriteEffect || e.Ordinal == nil })
	slices.SortStableFunc(effects, inOutput)
	line := int64(0)
	for i, e := range effects {
		if i == 0 || effects[i-1].Sink != e.Sink {
			line = 0
		}
		about, err := landscape.Select[landscape.Chunk](ctx, g.from, g.run, e.Source, e.Chunk)
		if err != nil {
			return false, err
		}
		if len(about) == 0 {
			continue
		}
		c, err := g.load(ctx, about[0], v)
		if err != nil {
			return false, err
		}
		more := c.each(func(t *token) bool {
			if t.way == nil || t.way.Sink != e.Sink || t.refusedBy != nil {
				return true
			}
			line++
			return e.State != landscape.Finalized || c.lineRow(t, e, line, yield)
		})
		if !more {
			return false, nil
		}
	}
	return true, nil
}
