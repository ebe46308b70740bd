package ui

import (
	"slices"
	"strconv"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
)

// Figures are the counts of a run, now or at a moment of its past. Each leads to the rows that it counts.
type Figures struct {
	*client.Status
	Graph    *Graph // nil if nothing of the graph is recorded yet
	Accounts []Account
	At       client.Time // the moment; unknown for now
}

// FiguresOf returns the figures of a run with these edges.
func FiguresOf(status *client.Status, edges []client.Edge, at client.Time) Figures {
	return Figures{Status: status, Graph: GraphOf(status.Nodes, edges), Accounts: Accounts(status.Nodes, edges), At: at}
}

// Balances reports whether each row that was read is accounted for.
func (f Figures) Balances() bool { return Balanced(f.Accounts) }

// Settled reports whether each row that was read is accounted for, and none is in flight; of a run that stopped too early that is not known.
func (f Figures) Settled() bool {
	stopped := slices.Contains([]pipeline.RunStatus{pipeline.Failed, pipeline.Interrupted, pipeline.Cancelled}, f.Run.Status)
	return f.Balances() && f.OnWay() == 0 && !stopped
}

// Going reports whether the run is running: then rows may be between one account and another.
func (f Figures) Going() bool { return f.Run.Status == pipeline.Running }

// OnWay is how many records were read and did not go through all steps yet.
func (f Figures) OnWay() int64 { return f.Rows - f.Passed }

// EdgePath is the path of the list of rows that took an edge.
func (f Figures) EdgePath(edge string) string { return f.then(EdgePath(f.ID, edge)) }

// NodePath is the path of the list of rows that came to a node.
func (f Figures) NodePath(node string) string { return f.then(NodePath(f.ID, node)) }

// SinkPath is the path of the list of rows that the target of a sink confirmed.
func (f Figures) SinkPath(sink string) string { return f.then(SinkPath(f.ID, sink)) }

func (f Figures) then(path string) string {
	if f.At.Known() {
		return path + "&at=" + since(f.Started, f.At)
	}
	return path
}

// PastPath is the path of the page of a run, which began at a moment, as it stood at another.
func PastPath(run string, begun, at client.Time) string {
	return RunPath(run, "past") + "?at=" + since(begun, at)
}

// since writes a moment as addresses have it: microseconds since the run began.
func since(begun, at client.Time) string { return strconv.FormatInt(int64(max(at-begun, 0)), 10) }

// instant writes a moment for people, to the microsecond.
func instant(at client.Time) string { return at.Time().UTC().Format("2006-01-02 15:04:05.000000") }

// A Figure is a number of an account, and the path of the rows that it counts; that is empty if no list has them alone.
type Figure struct {
	Count int64
	To    string
}

// Columns are the figures of an account: in, made, came, out, dropped, refused, taken and held.
func (f Figures) Columns(a Account) []Figure {
	onward := func(e client.Edge) bool {
		return (e.Kind == landscape.FlowEdge || e.Kind == landscape.RouteEdge) && e.To != pipeline.Discard
	}
	dropped := func(e client.Edge) bool {
		return e.Kind != landscape.ErrorEdge && (e.To == pipeline.Discard || e.Label == string(pipeline.FilterDropped))
	}
	refused := func(e client.Edge) bool { return e.Kind == landscape.ErrorEdge }
	ended := func(e client.Edge) bool { return e.Kind == landscape.EndEdge && !dropped(e) }
	begun := func(e client.Edge) bool { return e.Kind == landscape.BeginEdge }
	columns := []Figure{
		f.on(a.Into, a.In, func(e client.Edge) bool { return a.Created == 0 || !begun(e) }), f.on(a.Into, a.Created, begun), {a.Came(), f.NodePath(a.Node)}, f.on(a.Edges, a.Out, onward),
		f.on(a.Edges, a.Dropped, dropped), f.on(a.Edges, a.Diverted, refused), f.on(a.Edges, a.Consumed, ended), f.on(a.Edges, a.Held, ended),
	}
	if a.Created == 0 && a.In > 0 {
		columns[0].To = f.NodePath(a.Node)
	}
	if a.Kind == landscape.SinkNode && a.Out > 0 {
		columns[3].To = f.SinkPath(a.Node)
	}
	return columns
}

// on is a figure that counts the rows on the only one of these edges that is wanted and that rows took, if it does.
func (f Figures) on(edges []client.Edge, count int64, want func(client.Edge) bool) Figure {
	figure, found := Figure{Count: count}, 0
	for _, e := range edges {
		if want(e) {
			figure.To, found = f.EdgePath(e.ID), found+1
			if e.Rows != count {
				found = 2
			}
		}
	}
	if found != 1 || count == 0 {
		figure.To = ""
	}
	return figure
}
