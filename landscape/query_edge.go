package landscape

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"waymark/pipeline"
)

// WayCount is how many tokens of a run took a way.
type WayCount struct {
	ID     string
	Source string // the origin of its tokens
	Way    Way
	Rows   int64
}

// WayCounts returns the ways of a run by id, with how many tokens took each. It reads a few records per chunk. The error wraps
// ErrNotFound if there is no such run, and ErrIncomplete if what is recorded of a way is not whole.
func (r *Reader) WayCounts(ctx context.Context, run string) ([]WayCount, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := rowsByWay(ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	ways, err := Select[WayRecord](ctx, r.from, run)
	if err != nil {
		return nil, err
	}
	steps := map[string][]WayStepRecord{}
	err = each(ctx, r.from, []any{run}, func(s WayStepRecord) bool {
		steps[s.Way] = append(steps[s.Way], s)
		return true
	})
	if err != nil {
		return nil, err
	}
	counts := make([]WayCount, len(ways))
	for i, w := range ways {
		if w.Lane < 0 || w.Lane >= int64(len(all)) {
			return nil, incomplete("way %s is of lane %d, which is not there", w.Way, w.Lane)
		}
		way, err := w.way(steps[w.Way])
		if err != nil {
			return nil, err
		}
		counts[i] = WayCount{ID: w.Way, Source: all[w.Lane].Source, Way: way, Rows: rows[w.Way]}
	}
	return counts, nil
}

// rowsByWay counts the tokens of a run by the ids of the ways that they took.
func rowsByWay(ctx context.Context, d RecordReader, run string) (map[string]int64, error) {
	rows := map[string]int64{}
	return rows, each(ctx, d, []any{run}, func(w ChunkWayRecord) bool {
		rows[w.Way] += w.Rows
		return true
	})
}

// EdgeKey names an edge that tokens take. From is empty where they begin: a source's records, the copies of a fork, what a coalesce or a
// barrier made. To is empty where they end without a sink; the label is the path then.
type EdgeKey struct {
	From  string `json:"from"`
	To    string `json:"to"` // a node, pipeline.Discard or pipeline.Quarantine
	Label string `json:"label,omitempty"`
}

// EdgeCount is how many tokens of a run took an edge. As many take the edges into a node as those out of it, unless it is a sink: what
// leaves that was refused there.
type EdgeCount struct {
	EdgeKey
	Kind EdgeKind `json:"kind"`
	Rows int64    `json:"rows"`
}

// EdgeCounts returns all edges of the graph of a run, those that no token took as well, and where tokens began and ended. They come by the
// node from which they lead, or to which if there is none, in document order. A branch of a fork is taken by the copies. It reads a few
// records per chunk. The errors are those of WayCounts.
func (r *Reader) EdgeCounts(ctx context.Context, run string) ([]EdgeCount, error) {
	ways, err := r.WayCounts(ctx, run)
	if err != nil {
		return nil, err
	}
	nodes, err := r.nodesByName(ctx, run)
	if err != nil {
		return nil, err
	}
	counts := map[EdgeKey]EdgeCount{}
	add := func(key EdgeKey, kind EdgeKind, rows int64) {
		counts[key] = EdgeCount{EdgeKey: key, Kind: kind, Rows: counts[key].Rows + rows}
	}
	err = each(ctx, r.from, []any{run}, func(e Edge) bool {
		add(EdgeKey{From: e.From, To: e.To, Label: e.Label}, e.Kind, 0)
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, way := range ways {
		for key, kind := range way.Way.edges(nodes) {
			add(key, kind, way.Rows)
		}
	}
	err = each(ctx, r.from, []any{run}, func(p SinkPart) bool {
		if p.Refused > 0 {
			add(lateEdge(p.Sink), ErrorEdge, p.Refused)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return inDocumentOrder(counts, nodes), nil
}

// nodesByName returns the nodes of a run.
func (r *Reader) nodesByName(ctx context.Context, run string) (map[string]Node, error) {
	nodes := map[string]Node{}
	return nodes, each(ctx, r.from, []any{run}, func(n Node) bool {
		nodes[n.Node] = n
		return true
	})
}

// lateEdge is the edge of tokens that the target of a sink refused when their part was written.
func lateEdge(sink string) EdgeKey { return EdgeKey{From: sink, To: pipeline.Quarantine} }

// edges yields the edges that a token of the way takes, in order. A copy begins at its fork.
func (w Way) edges(nodes map[string]Node) iter.Seq2[EdgeKey, EdgeKind] {
	return func(yield func(EdgeKey, EdgeKind) bool) {
		first := max(w.First-1, 0)
		if !yield(EdgeKey{To: w.Steps[first].Node}, BeginEdge) {
			return
		}
		for i := first; i < len(w.Steps)-1; i++ {
			if key, kind := w.Steps[i].edge(w.Steps[i+1].Node, nodes); !yield(key, kind) {
				return
			}
		}
		yield(w.lastEdge(nodes))
	}
}

// edge is that by which tokens leave a step. Of the labels, those of gates and forks say which edge is taken.
func (s Step) edge(to string, nodes map[string]Node) (EdgeKey, EdgeKind) {
	if operation := nodes[s.Node].Operation; operation == "gate" || operation == "fork" {
		return EdgeKey{From: s.Node, To: to, Label: s.Label}, RouteEdge
	}
	return EdgeKey{From: s.Node, To: to}, FlowEdge
}

// lastEdge is the edge on which tokens of the way end.
func (w Way) lastEdge(nodes map[string]Node) (EdgeKey, EdgeKind) {
	last, to := w.Steps[len(w.Steps)-1], w.Sink
	switch w.Sink {
	case "", pipeline.DiscardSink:
		to = pipeline.Discard
	case pipeline.QuarantineSink:
		to = pipeline.Quarantine
	}
	switch {
	case w.failed():
		return EdgeKey{From: last.Node, To: to}, ErrorEdge
	case w.Path == pipeline.FilterDropped || w.Path == pipeline.ForkParent || w.taken():
		return EdgeKey{From: last.Node, Label: string(w.Path)}, EndEdge
	default:
		return last.edge(to, nodes)
	}
}

// inDocumentOrder returns the counts by the node from which the edge leads, or to which.
func inDocumentOrder(counts map[EdgeKey]EdgeCount, nodes map[string]Node) []EdgeCount {
	list := make([]EdgeCount, 0, len(counts))
	for _, count := range counts {
		list = append(list, count)
	}
	kinds := []EdgeKind{BeginEdge, FlowEdge, RouteEdge, ErrorEdge, EndEdge}
	slices.SortFunc(list, func(a, b EdgeCount) int {
		return cmp.Or(
			cmp.Compare(nodes[cmp.Or(a.From, a.To)].Seq, nodes[cmp.Or(b.From, b.To)].Seq),
			cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.Label, b.Label), cmp.Compare(a.To, b.To),
		)
	})
	return list
}
