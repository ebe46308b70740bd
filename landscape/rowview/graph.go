package rowview

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// graph is what is recorded of a run, whatever its chunks are.
type graph struct {
	from   Source
	run    string
	nodes  map[string]landscape.Node
	lanes  []landscape.Lane
	routes map[string][]landscape.Edge // of a node, by label
	merged map[branch]string           // the name of the lane in which a coalesce continues the tokens of a lane
	ways   map[string]*way
	id     any // run, as a value
}

// branch is a lane that ends at a coalesce.
type branch struct {
	source string
	lane   int64
	node   string
}

// way is a way of the run, with its steps.
type way struct {
	landscape.WayRecord
	steps []step
}

type step struct {
	landscape.WayStepRecord
	node landscape.Node
	own  bool // it is the token's own, and not one of the parent that was forked
}

func newGraph(ctx context.Context, from Source, run string) (*graph, error) {
	g := &graph{
		from: from, run: run, id: run,
		nodes: map[string]landscape.Node{}, routes: map[string][]landscape.Edge{}, merged: map[branch]string{}, ways: map[string]*way{},
	}
	nodes, err := landscape.Select[landscape.Node](ctx, from, run)
	if err != nil {
		return nil, err
	}
	for _, n := range nodes {
		g.nodes[n.Node] = n
	}
	edges, err := landscape.Select[landscape.Edge](ctx, from, run)
	if err != nil {
		return nil, err
	}
	for _, e := range edges {
		if e.Kind == landscape.RouteEdge {
			g.routes[e.From] = append(g.routes[e.From], e)
		}
	}
	if g.lanes, err = landscape.Select[landscape.Lane](ctx, from, run); err != nil {
		return nil, err
	}
	return g, g.readMerged(ctx)
}

// readMerged reads from the view lane_joins, which is small, where the tokens of lanes end at a coalesce.
func (g *graph) readMerged(ctx context.Context) error {
	names := map[int64]string{}
	for _, l := range g.lanes {
		names[l.Lane] = l.Name
	}
	columns := []landscape.RelationColumn{{Name: "source"}, {Name: "lane"}, {Name: "node"}, {Name: "merged_lane"}}
	joins := landscape.Relation{Name: "lane_joins", Columns: columns}
	return g.from.ReadRelation(ctx, joins, g.run, func(v []any) bool {
		g.merged[branch{v[0].(string), v[1].(int64), v[2].(string)}] = names[v[3].(int64)]
		return true
	})
}

// sources returns the origins that have lanes, in order.
func (g *graph) sources() (names []string) {
	for _, l := range g.lanes {
		names = append(names, l.Source)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lanesOf returns the lanes of an origin, in order.
func (g *graph) lanesOf(source string) (of []landscape.Lane) {
	for _, l := range g.lanes {
		if l.Source == source {
			of = append(of, l)
		}
	}
	return of
}

// way returns a way of the run.
func (g *graph) way(ctx context.Context, id string) (*way, error) {
	if w, ok := g.ways[id]; ok {
		return w, nil
	}
	found, err := landscape.Select[landscape.WayRecord](ctx, g.from, g.run, id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("way %s of run %s is missing: %w", id, g.run, landscape.ErrIncomplete)
	}
	w := &way{WayRecord: found[0]}
	steps, err := landscape.Select[landscape.WayStepRecord](ctx, g.from, g.run, id)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		node, ok := g.nodes[s.Node]
		if !ok {
			return nil, fmt.Errorf("node %s of run %s is missing: %w", s.Node, g.run, landscape.ErrIncomplete)
		}
		w.steps = append(w.steps, step{s, node, s.Seq >= w.FirstSeq})
	}
	g.ways[id] = w
	return w, nil
}

// failed reports whether tokens of this way were refused.
func (w *way) failed() bool { return w.Outcome == string(pipeline.Failure) }

// taken reports whether the last node took the tokens of this way in.
func (w *way) taken() bool {
	return slices.Contains([]pipeline.Path{pipeline.Buffered, pipeline.Coalesced, pipeline.BranchNotNeeded}, pipeline.Path(w.Path))
}

// toSink reports whether a sink gets the rows of this way.
func (w *way) toSink() bool {
	return w.Sink != "" && w.Sink != pipeline.QuarantineSink && w.Sink != pipeline.DiscardSink
}

// barrier returns the barrier that holds the tokens of this way; "" if none does.
func (w *way) barrier() string {
	if pipeline.Path(w.Path) == pipeline.Buffered {
		return w.LastNode
	}
	return ""
}

func inOutput(a, b landscape.Effect) int {
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(*a.Ordinal, *b.Ordinal))
}
