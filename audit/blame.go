package audit

import (
	"cmp"
	"fmt"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline"
)

// blame returns the reason if it was at this node that the token left the last way to the sink, although another way out
// leads there.
func (d *denying) blame(t *tokenTrace, visit Visit) (Reason, bool) {
	at := d.compiled.Find(visit.Node)
	if at == plan.None || visit.Refused != nil || !d.leads[at] {
		return Reason{}, false
	}
	node := &d.compiled.Nodes[at]
	reason := Reason{
		Kind: KindElsewhere, Node: node.Name, Operation: node.Operation, Expression: visit.Expression, Values: visit.Values, Label: visit.Label,
	}
	if node.Operation == plan.Gate {
		return d.blameGate(node, reason)
	}
	dropped := t.way.Path == pipeline.FilterDropped && t.way.Last() == node.Name
	reason.Text, reason.Leading = drops(node, visit.First)
	return reason, dropped
}

// drops says why a node that lets rows pass dropped one, and by which label they pass. first is the token of which it is a
// duplicate, if that is known.
func drops(node *plan.Node, first string) (text string, leading []string) {
	switch node.Operation {
	case plan.Filter:
		return node.Name + " dropped it: its expression was false", []string{"true"}
	case plan.Sample:
		return fmt.Sprintf("%s dropped it: it is not in the sample of %s of the rows", node.Name, node.Spec.Sample.Rate), []string{"kept"}
	case plan.Deduplicate:
		return fmt.Sprintf("%s dropped it: %s has the same %s", node.Name, cmp.Or(first, "an earlier row"), strings.Join(node.Spec.Deduplicate.Key, ", ")), []string{"first"}
	case plan.Expand:
		return node.Name + " made nothing of it: its list is empty", nil
	default:
		return node.Name + " dropped it", nil
	}
}

func (d *denying) blameGate(node *plan.Node, reason Reason) (Reason, bool) {
	to := "nowhere"
	for _, route := range node.Routes {
		leads := route.To.Node != plan.None && d.leads[route.To.Node]
		switch {
		case leads && route.Label == reason.Label:
			return Reason{}, false
		case leads:
			reason.Leading = append(reason.Leading, route.Label)
		case route.Label == reason.Label:
			to = d.target(route.To)
		}
	}
	if reason.Label == "" || len(reason.Leading) == 0 {
		return Reason{}, false
	}
	verb := "leads"
	if len(reason.Leading) > 1 {
		verb = "lead"
	}
	reason.Text = fmt.Sprintf("%s sent it to %s by the label %s; %s %s to %s", node.Name, to, reason.Label, strings.Join(reason.Leading, ", "), verb, d.denial.Sink)
	return reason, true
}

// target names the place to which a route leads.
func (d *denying) target(to plan.Target) string {
	if to.Node == plan.None {
		return to.Word
	}
	return d.compiled.Nodes[to.Node].Name
}

// judgeEnd returns what the token's end had to do with the sink, if no node on the way had.
func (d *denying) judgeEnd(t *tokenTrace) Reason {
	last := lastVisit(t)
	at := d.compiled.Find(t.way.Last())
	switch {
	case at == plan.None || !d.leads[at]:
		return Reason{Kind: KindUnreachable, Text: fmt.Sprintf("no way leads from %s to %s", d.beginning(t), d.denial.Sink)}
	case last.Refused != nil:
		text := fmt.Sprintf("%s refused it with %s: %s", last.Node, last.Refused.Code, last.Refused.Message)
		return rejectedReason(t, last, text)
	case t.Held != nil:
		return judgeHeld(t.Held)
	case t.way.Path == pipeline.BranchNotNeeded:
		return Reason{Kind: KindNotNeeded, Node: t.way.Last(), Merge: d.decisionAt(t), Text: t.way.Last() + " had decided without it"}
	case t.way.Path == pipeline.Coalesced:
		return Reason{Kind: KindBecame, Node: t.way.Last(), Text: "it became part of " + d.mergedID(t)}
	case t.way.Path == pipeline.ForkParent && t.Merged != nil && t.Merged.Token == "":
		return Reason{Kind: KindEnded, Node: t.Merged.Coalesce, Merge: t.Merged, Text: t.Merged.Coalesce + " " + t.Merged.say()}
	default:
		return Reason{}
	}
}

// beginning names the node, or the branch, with which a token begins.
func (d *denying) beginning(t *tokenTrace) string {
	if lane := d.lanes[t.at.Lane]; lane.Branch != "" {
		return "the branch " + lane.Branch
	}
	return t.way.Steps[0].Node
}

// judgeHeld says what a barrier had to do with the sink.
func judgeHeld(held *Holding) Reason {
	reason := Reason{Kind: KindBecame, Node: held.Barrier, Held: held, Merge: held.Merge, Text: "it was " + held.say()}
	switch {
	case held.Of != 0:
		reason.Kind, reason.Text = KindNotNeeded, "it "+held.say()
	case held.Number == 0:
		reason.Kind, reason.Text = KindHeld, "it "+held.say()
	case held.Trigger == "":
		reason.Kind, reason.Text = KindHeld, "it is "+held.say()
	case len(held.Became) == 0:
		reason.Kind = KindEnded
	}
	return reason
}

// mergedLane returns the lane of what the coalesce made that took the token; -1 if it has none.
func (d *denying) mergedLane(t *tokenTrace) int64 {
	for _, lane := range d.lanes {
		if d.mergedFrom(lane, t.at.Lane, *t.way) {
			return lane.Lane
		}
	}
	return -1
}

func (d *denying) mergedID(t *tokenTrace) string {
	if merged := d.token(d.mergedLane(t)); merged != nil {
		return merged.Token
	}
	return t.way.Last()
}

// decisionAt returns what the coalesce decided that took the token.
func (d *denying) decisionAt(t *tokenTrace) *Decision {
	if merged := d.token(d.mergedLane(t)); merged != nil {
		return merged.Merge
	}
	return nil
}
