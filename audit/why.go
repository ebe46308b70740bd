package audit

import (
	"context"
	"fmt"
	"strings"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// Denial says what kept a token, and everything that came of it, from a sink.
type Denial struct {
	Run      string   `json:"run"`
	Pipeline string   `json:"pipeline"`
	Status   string   `json:"status"`
	Token    string   `json:"token"`
	Sink     string   `json:"sink"`
	Reached  bool     `json:"reached"` // the token, or something that came of it, is in the sink
	Reasons  []Reason `json:"reasons"` // one for each token: first the one asked for, then what came of it
	More     int      `json:"more,omitempty"`
}

// Reason is what one token had to do with the sink.
type Reason struct {
	Token      string     `json:"token"`
	Kind       string     `json:"kind"` // one of the words below
	Text       string     `json:"text"` // one sentence for people
	Node       string     `json:"node,omitempty"`
	Operation  string     `json:"operation,omitempty"`
	Expression string     `json:"expression,omitempty"`
	Values     []Value    `json:"values,omitempty"`  // of the expression's parts, outermost first
	Label      string     `json:"label,omitempty"`   // by which the token left the node
	Leading    []string   `json:"leading,omitempty"` // labels that lead to the sink
	Refused    *Rejection `json:"refused,omitempty"`
	Held       *Holding   `json:"held,omitempty"`
	Merge      *Decision  `json:"merge,omitempty"`
	Line       int64      `json:"line,omitempty"`
	Output     string     `json:"output,omitempty"`
}

// Kinds of reasons.
const (
	KindReached     = "reached"     // it is in the sink
	KindElsewhere   = "elsewhere"   // a node could have sent it towards the sink, and did not
	KindRefused     = "refused"     // a node rejected it
	KindBecame      = "became"      // others go on for it
	KindHeld        = "held"        // a barrier holds it
	KindEnded       = "ended"       // a barrier or a coalesce took it, and nothing came of it
	KindNotNeeded   = "not_needed"  // a coalesce had decided without it
	KindUnreachable = "unreachable" // no way leads to the sink from where it began
	KindOpen        = "open"        // it has not gone through the steps
)

// mostFollowed is how many tokens of other records are looked at for one answer.
const mostFollowed = 20

// WhyNot tells what kept a token from a sink: which gate, filter, sample, deduplicate, refusal or coalesce, for the token and
// for all that came of it. The error is as of Explain, and a *QuestionError if the run has no such sink. It needs the run's
// plan.
func (a *Auditor) WhyNot(ctx context.Context, q Question, sink string) (denial *Denial, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	defer sense(q.Run, &err)
	a = a.once()
	run, err := a.log.Run(ctx, q.Run)
	if err != nil {
		return nil, err
	}
	if err := a.hasSink(ctx, run.ID, sink); err != nil {
		return nil, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, &QuestionError{Message: "only the run's plan tells what keeps a row from a sink: " + problem}
	}
	at := compiled.Find(sink)
	if at == plan.None || compiled.Nodes[at].Kind != plan.Sink {
		return nil, &QuestionError{Message: fmt.Sprintf("run %s has no sink named %q", run.ID, sink)}
	}
	token, err := a.find(ctx, run, q)
	if err != nil {
		return nil, err
	}
	d := &denying{
		explaining: explaining{Auditor: a, run: run, compiled: compiled, all: q.All}, sink: at, leads: leadingTo(compiled, at), seen: map[string]bool{},
		denial: &Denial{Run: run.ID, Pipeline: run.Pipeline, Status: string(run.Status), Sink: sink, Reasons: []Reason{}},
	}
	if err := d.follow(ctx, token); err != nil {
		return nil, err
	}
	return d.denial, nil
}

// denying is one call of WhyNot.
type denying struct {
	explaining // about the record at hand
	sink       int
	leads      []bool // by node: rows that come to it may come to the sink
	seen       map[string]bool
	denial     *Denial
}

// leadingTo returns, by node, whether rows that come to it may come to the sink without being rejected.
func leadingTo(p *plan.Plan, sink int) []bool {
	leads := make([]bool, len(p.Nodes))
	leads[sink] = true
	for i := len(p.Nodes) - 1; i >= 0; i-- { // edges lead to later nodes
		node := &p.Nodes[i]
		leads[i] = leads[i] || node.Next != plan.None && leads[node.Next]
		for _, route := range node.Routes {
			leads[i] = leads[i] || route.To.Node != plan.None && leads[route.To.Node]
		}
	}
	return leads
}

// follow judges a token, then what came of it in its pass, then what came of that in others.
func (d *denying) follow(ctx context.Context, token landscape.Token) error {
	queue := []landscape.Token{token}
	for records := 0; len(queue) > 0; queue = queue[1:] {
		if d.lanes != nil && d.seen[d.id(queue[0])] {
			continue
		}
		if records > mostFollowed {
			d.denial.More++
			continue
		}
		records++
		d.tokens = nil
		if err := d.ask(ctx, queue[0]); err != nil {
			return err
		}
		if d.denial.Token == "" {
			d.denial.Token = d.explanation.Token
		}
		children, err := d.judgeFrom(ctx, d.asked.Lane)
		if err != nil {
			return err
		}
		queue = append(queue, children...)
	}
	return nil
}

// judgeFrom judges the record's token in a lane and what came of it in this pass. It returns the rows that came of them out
// of barriers.
func (d *denying) judgeFrom(ctx context.Context, lane int64) ([]landscape.Token, error) {
	t := d.token(lane)
	if t == nil || d.seen[t.Token] {
		return nil, nil
	}
	d.seen[t.Token] = true
	reason := d.judge(t)
	d.denial.Reached = d.denial.Reached || reason.Kind == KindReached
	if reason.Kind != "" {
		reason.Token = t.Token
		d.denial.Reasons = append(d.denial.Reasons, reason)
	}
	if t.Held != nil && reason.Kind == KindBecame {
		return d.log.ChildrenOf(ctx, d.run.ID, t.at)
	}
	var children []landscape.Token
	for _, next := range d.successors(t) {
		more, err := d.judgeFrom(ctx, next)
		if err != nil {
			return nil, err
		}
		children = append(children, more...)
	}
	return children, nil
}

// successors returns the lanes of the tokens that go on for the token in this pass.
func (d *denying) successors(t *tokenTrace) []int64 {
	if t.way == nil {
		return nil
	}
	var next []int64
	for _, lane := range d.lanes {
		copied := t.way.Path == pipeline.ForkParent && lane.Parent != nil && *lane.Parent == t.at.Lane && lane.Fork == t.way.Last()
		if copied || t.way.Path == pipeline.Coalesced && d.mergedFrom(lane, t.at.Lane, *t.way) && !d.walked(*lane.Parent) {
			next = append(next, lane.Lane)
		}
	}
	return next
}

// walked reports whether the record's token in the lane was judged: then what was made of its branches comes after them.
func (d *denying) walked(lane int64) bool {
	return d.seen[d.id(landscape.Token{Source: d.asked.Source, Lane: lane, Row: d.asked.Row})]
}

// judge returns what a token had to do with the sink; of no kind if those that go on for it tell.
func (d *denying) judge(t *tokenTrace) Reason {
	if t.way == nil {
		return Reason{Kind: KindOpen, Text: "it was read and has not gone through the steps"}
	}
	if t.Sink == d.denial.Sink {
		return reached(t)
	}
	if t.RefusedBy == d.denial.Sink {
		return Reason{
			Kind: KindRefused, Text: "it came to " + t.RefusedBy + ", and when it was written " + t.late(), Node: t.RefusedBy,
			Operation: d.compiled.Nodes[d.sink].Operation, Refused: t.Refused,
		}
	}
	if d.compiled.Nodes[d.sink].Errors {
		return d.judgeUnrejected(t)
	}
	for _, visit := range t.Nodes {
		if reason, found := d.blame(t, visit); found {
			return reason
		}
	}
	return d.judgeEnd(t)
}

func reached(t *tokenTrace) Reason {
	reason := Reason{Kind: KindReached, Line: t.Line, Output: t.Output, Text: "it did reach " + t.Sink}
	switch {
	case !t.Complete:
		reason.Text += ", which has not confirmed it yet"
	case t.Output != "":
		reason.Text += fmt.Sprintf(", row %d of %s", t.Line, t.Output)
	default:
		reason.Text += fmt.Sprintf(", row %d of its output, which is not published yet", t.Line)
	}
	return reason
}

// judgeUnrejected says why a token is not in a sink that takes rejected rows only.
func (d *denying) judgeUnrejected(t *tokenTrace) Reason {
	var senders []string
	for i := range d.compiled.Nodes {
		if d.compiled.Nodes[i].OnError.Node == d.sink {
			senders = append(senders, d.compiled.Nodes[i].Name)
		}
	}
	only := fmt.Sprintf("only what %s refuses goes to %s", strings.Join(senders, " or "), d.denial.Sink)
	last := lastVisit(t)
	switch {
	case last.Refused != nil:
		return rejectedReason(t, last, "it was refused by "+last.Node+", and "+only)
	case t.Held != nil && len(t.Held.Became) > 0:
		return Reason{Kind: KindBecame, Held: t.Held, Text: "it was " + t.Held.say()}
	case t.way.Path == pipeline.ForkParent, t.way.Path == pipeline.Coalesced:
		return Reason{}
	default:
		return Reason{Kind: KindUnreachable, Text: "it was not refused, and " + only}
	}
}

// lastVisit returns the last node that did something to the token; sinks of rejected rows are left out.
func lastVisit(t *tokenTrace) Visit {
	for k := len(t.Nodes) - 1; k >= 0; k-- {
		if t.Nodes[k].Node != t.way.Sink {
			return t.Nodes[k]
		}
	}
	return Visit{Node: t.way.Last()}
}

func rejectedReason(t *tokenTrace, visit Visit, text string) Reason {
	return Reason{
		Kind: KindRefused, Text: text, Node: visit.Node, Operation: visit.Operation, Expression: visit.Expression, Values: visit.Values,
		Refused: visit.Refused, Merge: t.Merge,
	}
}
