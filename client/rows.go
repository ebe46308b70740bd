package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
)

// Edge is one edge of a run's graph, and how many rows took it.
type Edge struct {
	ID string `json:"edge"` // FROM:TO or FROM:TO:LABEL
	landscape.EdgeCount
}

// Edges returns the edges of the run with this id, in document order, with the rows that took each: rows of sources, copies of them, and what
// coalesces and barriers made. As many come into a node as leave it, unless it is a sink. The error is an *Error of kind Damaged if the
// record of the rows' ways is not whole.
func (c *Client) Edges(ctx context.Context, run string) (edges []Edge, err error) {
	defer c.edge(ctx, &err)
	if _, err := c.recorded(ctx, run); err != nil {
		return nil, err
	}
	counts, err := c.log.EdgeCounts(ctx, run)
	if err != nil {
		return nil, answered(err)
	}
	edges = make([]Edge, len(counts))
	for i, count := range counts {
		id := count.From + ":" + count.To
		if count.Label != "" {
			id += ":" + count.Label
		}
		edges[i] = Edge{ID: id, EdgeCount: count}
	}
	return edges, nil
}

// RowFilter selects rows of a run: those that came to a node or began there, those that took an edge, or those that a sink's target confirmed and
// holds. One of these may be named; the zero RowFilter selects all rows.
type RowFilter struct {
	Node string // or pipeline.Quarantine or pipeline.Discard; empty for any
	Edge string // id of an Edge; without a label, if there is no such edge, all edges between the two nodes; ::PATH is all that end so; empty for any
	Sink string // empty for any
	At   Time   // as of this moment, as Past counts it; unknown for now
}

// Row is a row of a source, a copy of one, or what was made of some, and how it ended.
type Row struct {
	Token string        `json:"token"` // as Explain takes it
	Path  pipeline.Path `json:"path"`  // buffered as long as a barrier holds it
	Node  string        `json:"node"`  // that ended it, or sent it to the sink
	Sink  string        `json:"sink,omitempty"`
}

// Rows returns the rows of the run with this id that the filter selects, by origin, row and lane. They begin after the row whose
// Token is after, or with the first if that is empty, and are at most as many as limit says, or all if that is 0. It reads one chunk at a
// time, and none that has no such row. The error is an *Error: of kind Invalid if the run has no such node, edge, sink or row, of kind Damaged if
// the record of the rows' ways is not whole.
func (c *Client) Rows(ctx context.Context, run string, filter RowFilter, after string, limit int) (rows []Row, err error) {
	defer c.edge(ctx, &err)
	if filter.At.Known() {
		past, err := c.log.Past(ctx, run)
		if err != nil {
			return nil, err
		}
		c = c.over(past.At(landscape.Micros(filter.At)))
	}
	want, err := c.wanted(ctx, run, filter)
	if err != nil {
		return nil, err
	}
	var from *landscape.Token
	if after != "" {
		token, err := c.log.ParseToken(ctx, run, after)
		if err != nil {
			return nil, noRow(run, after, err)
		}
		from = &token
	}
	rows = []Row{}
	for ended, err := range c.log.TokensBehind(ctx, run, want, from) {
		if from != nil && errors.Is(err, landscape.ErrNotFound) {
			return nil, noRow(run, after, err)
		}
		if err != nil {
			return nil, answered(err)
		}
		if filter.Sink != "" && !ended.InSink {
			continue
		}
		id, err := c.log.TokenID(ctx, run, ended.Token)
		if err != nil {
			return nil, err
		}
		if rows = append(rows, Row{Token: id, Path: ended.Path, Node: ended.Node, Sink: ended.Sink}); len(rows) == limit {
			break
		}
	}
	return rows, nil
}

func noRow(run, token string, err error) error {
	return &Error{Kind: Invalid, Code: InvalidQuestion, Run: run, Err: err, Message: fmt.Sprintf("run %s has no row %q: write TOKEN, such as orders:17", run, token)}
}

// several reports whether more than one thing is named.
func (f RowFilter) several() bool {
	return f.Node != "" && f.Edge+f.Sink != "" || f.Edge != "" && f.Sink != ""
}

// wanted returns what tells the edges that a filter selects. The error is an *Error of kind Invalid if there is none.
func (c *Client) wanted(ctx context.Context, run string, filter RowFilter) (func(landscape.EdgeKey) bool, error) {
	if filter.several() {
		return nil, &Error{Kind: Invalid, Code: InvalidQuestion, Run: run, Message: "rows are behind a node or an edge, or in a sink: name one of these"}
	}
	edges, err := c.Edges(ctx, run)
	if err != nil {
		return nil, err
	}
	if node := cmp.Or(filter.Node, filter.Sink); node != "" {
		if err := c.hasNode(ctx, run, filter); err != nil {
			return nil, err
		}
		edges = slices.DeleteFunc(edges, func(e Edge) bool { return e.To != node })
	}
	if filter.Edge != "" {
		if edges = matching(edges, filter.Edge); len(edges) == 0 {
			return nil, noEdge(run, fmt.Sprintf("run %s has no edge %q: write FROM:TO or FROM:TO:LABEL", run, filter.Edge))
		}
	}
	keys := map[landscape.EdgeKey]bool{}
	for _, e := range edges {
		keys[e.EdgeKey] = true
	}
	return func(key landscape.EdgeKey) bool { return keys[key] }, nil
}

// hasNode returns an *Error of kind Invalid if a run does not have the node or the sink that a filter names.
func (c *Client) hasNode(ctx context.Context, run string, filter RowFilter) error {
	nodes, err := c.log.Nodes(ctx, run)
	if err != nil {
		return err
	}
	isSink := func(n landscape.Node) bool { return n.Node == filter.Sink && n.Kind == landscape.SinkNode }
	isNode := func(n landscape.Node) bool { return n.Node == filter.Node }
	switch {
	case filter.Sink != "" && !slices.ContainsFunc(nodes, isSink):
		return noEdge(run, fmt.Sprintf("run %s has no sink %q", run, filter.Sink))
	case filter.Sink != "", filter.Node == pipeline.Quarantine, filter.Node == pipeline.Discard, slices.ContainsFunc(nodes, isNode):
		return nil
	}
	return noEdge(run, fmt.Sprintf("run %s has no node %q", run, filter.Node))
}

func noEdge(run, message string) error {
	return &Error{Kind: Invalid, Code: InvalidQuestion, Cure: ListEdges, Run: run, Message: message}
}

// RowsOn is how many rows took the edges that an id selects, as RowFilter.Edge does.
func RowsOn(edges []Edge, id string) (rows int64) {
	for _, e := range matching(slices.Clone(edges), id) {
		rows += e.Rows
	}
	return rows
}

// matching returns the edge with this id, or all edges between the two nodes that it names; of ::PATH all on which rows end so.
func matching(edges []Edge, id string) []Edge {
	if path, ok := strings.CutPrefix(id, "::"); ok {
		return slices.DeleteFunc(edges, func(e Edge) bool { return e.Kind != landscape.EndEdge || e.Label != path })
	}
	if at := slices.IndexFunc(edges, func(e Edge) bool { return e.ID == id }); at >= 0 {
		return edges[at : at+1]
	}
	from, to, _ := strings.Cut(id, ":")
	return slices.DeleteFunc(edges, func(e Edge) bool { return e.From != from || e.To != to })
}
