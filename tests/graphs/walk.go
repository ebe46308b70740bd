package graphs

import (
	"strconv"

	"waymark/pipeline"
	"waymark/pipeline/row"
)

// token is a row on its way.
type token struct {
	source  string // or barrier
	number  int64  // of the record it comes from, in the source or barrier
	lane    string // "" for the record itself; branch, outer/inner, coalesce
	row     row.Row
	open    []openBranch // the branches for which it stands, the innermost last
	parents []*token
}

// openBranch is a branch whose coalesce waits for the token, or for what comes of it.
type openBranch struct {
	parent *token // that was forked
	branch string
}

// loss is the news that nothing will come by a branch any more.
type loss struct {
	openBranch
	reason pipeline.Path
}

func (t *token) record() string { return t.source + ":" + strconv.FormatInt(t.number, 10) }

func (t *token) id() string {
	if t.lane == "" {
		return t.record()
	}
	return t.record() + "/" + t.lane
}

// child returns a token of the same record that comes of t by the branch or coalesce.
func (t *token) child(name string) *token {
	lane := name
	if t.lane != "" {
		lane = t.lane + "/" + name
	}
	return &token{source: t.source, number: t.number, lane: lane}
}

// verdict is what a step says of a row: where it goes, that it is refused, or that it ends.
type verdict struct {
	row     row.Row
	to      string        // "" unless a gate names the next node
	ended   pipeline.Path // "" if it continues
	refused *Refusal
}

// walk takes the token from node to node until it ends.
func (in *interpreter) walk(t *token, at string) {
	routed := false
	for {
		n := in.graph.byName[at]
		in.result.Nodes[at].In++
		switch {
		case n.sink():
			in.deliver(n, t, routed)
			return
		case n.step.Fork != nil:
			in.fork(n, t)
			return
		case in.graph.gathers(n):
			in.bring(n, t)
			return
		case n.step.Coalesce != nil:
			in.arrive(n, t)
			return
		}
		v := in.apply(n.step, t.row)
		switch {
		case v.refused != nil:
			in.refuse(n, t, *v.refused)
			return
		case v.ended != "":
			in.drop(n, t, v.ended)
			return
		}
		in.result.Nodes[at].Out++
		t.row, routed, at = v.row, v.to != "", v.to
		if !routed {
			at = in.graph.next[n.name]
		}
	}
}

// bring ends the token at a barrier, which may not want it.
func (in *interpreter) bring(n *node, t *token) {
	e := event{token: t, row: t.row}
	refused := missing(needed(n.step), t.row)
	switch {
	case refused != nil:
	case n.step.Expand != nil:
		var empty bool
		if empty, refused = emptyList(n.step.Expand, t.row); empty {
			in.drop(n, t, pipeline.FilterDropped)
			return
		}
	case n.step.Aggregate != nil:
		e.args, refused = in.programs.arguments(n.step.Aggregate, t.row)
	}
	if refused != nil {
		in.refuse(n, t, *refused)
		return
	}
	in.fed[n.name] = append(in.fed[n.name], e)
	in.result.Nodes[n.name].Consumed++
	if n.making() {
		in.lose(t, madeInto(n))
	}
}

// needed returns the fields without which a barrier does not take a row.
func needed(step *pipeline.Step) []string {
	switch {
	case step.Aggregate != nil:
		return step.Aggregate.GroupBy
	case step.Deduplicate != nil:
		return step.Deduplicate.Key
	case step.Sort == nil:
		return nil
	}
	var names []string
	for _, entry := range step.Sort.By {
		names = append(names, entry.Name)
	}
	return append(names, step.Sort.GroupBy...)
}

func missing(names []string, r row.Row) *Refusal {
	for _, name := range names {
		if _, found := r.Get(name); !found {
			return &Refusal{codeNoSuchField, name}
		}
	}
	return nil
}

// madeInto is how a token ends that becomes part of new rows.
func madeInto(n *node) pipeline.Path {
	if n.step.Expand != nil {
		return pipeline.ExpandParent
	}
	return pipeline.BatchConsumed
}

// deliver ends the token in a sink. routed says that a gate's route names the sink.
func (in *interpreter) deliver(n *node, t *token, routed bool) {
	path := pipeline.DefaultFlow
	if routed {
		path = pipeline.GateRouted
	}
	in.result.Lines[n.name] = append(in.result.Lines[n.name], string(row.AppendJSON(nil, t.row)))
	in.result.Nodes[n.name].Out++
	in.note(t, n, path).Sink = n.name
	in.lose(t, path)
}

// drop ends the token because a step lets it go no further.
func (in *interpreter) drop(n *node, t *token, path pipeline.Path) {
	in.result.Nodes[n.name].Dropped++
	in.note(t, n, path)
	in.lose(t, path)
}

// refuse ends the token as the node's policy for refused rows says.
func (in *interpreter) refuse(n *node, t *token, refused Refusal) {
	path := pipeline.OnErrorRouted
	switch {
	case n.refused == pipeline.Fail:
		in.fail(n, t, refused)
	case n.refused == pipeline.Discard:
		path = pipeline.SinkDiscarded
	case n.refused == pipeline.Quarantine && n.source:
		path = pipeline.QuarantinedAtSource
	case n.refused == pipeline.Quarantine && refused.Code == codeUnrouted:
		path = pipeline.Unrouted
	}
	ended := in.note(t, n, path)
	ended.Refused = &refused
	in.result.Nodes[n.name].Diverted++
	if sink := in.graph.byName[n.refused]; sink != nil {
		ended.Sink = sink.name
		in.result.Nodes[sink.name].In++
		in.result.Nodes[sink.name].Out++
		in.result.Refused[sink.name] = append(in.result.Refused[sink.name], Refused{Source: t.source, Row: t.number, Node: n.name, Refusal: refused})
	}
	in.lose(t, path)
}

// note puts on record how the token ended. A token ends once.
func (in *interpreter) note(t *token, n *node, path pipeline.Path) *Token {
	if in.result.Tokens[t.id()] != nil {
		panic("graphs: " + t.id() + " ends twice")
	}
	ended := &Token{ID: t.id(), Source: t.source, Number: t.number, Lane: t.lane, Path: path, Node: n.name, Row: t.row, Parents: ids(t.parents)}
	in.result.Tokens[t.id()] = ended
	return ended
}

func ids(tokens []*token) []string {
	var list []string
	for _, t := range tokens {
		list = append(list, t.id())
	}
	return list
}

// lose tells the coalesce that waits for the token that it will not come.
func (in *interpreter) lose(t *token, reason pipeline.Path) {
	if len(t.open) > 0 {
		in.tell(&loss{t.open[len(t.open)-1], reason})
	}
}

func (in *interpreter) tell(l *loss) {
	coalesce := in.graph.coalesce[in.graph.forkOf[l.branch]]
	if in.graph.held[coalesce] {
		in.fed[coalesce] = append(in.fed[coalesce], event{lost: l})
		return
	}
	in.coalescings[l.parent.id()].lose(l.branch, l.reason)
}
