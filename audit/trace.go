package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// visits tells node by node what happened to the record's tokens: computed again if the plan and the record are to be had,
// and from the record alone otherwise.
func (i *explaining) visits(ctx context.Context) error {
	if i.compiled == nil || i.in == nil {
		asked := i.token(i.asked.Lane)
		asked.Note = join(asked.Note, i.problem)
		return i.recorded(ctx)
	}
	return i.retrace(ctx)
}

// retrace sends the record through the plan again and holds every step against the record.
func (i *explaining) retrace(ctx context.Context) error {
	rejected, err := i.rowErrors(ctx)
	if err != nil {
		return err
	}
	runner, err := engine.NewRunner(i.compiled)
	if err != nil {
		return err
	}
	if err := i.firsts(ctx, i.duplicates(rejected)); err != nil {
		return err
	}
	i.after = map[int]row.Row{}
	traced, err := runner.Trace(*i.in, 0)
	var failed *engine.FailedError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	if failed == nil {
		i.compareWays(traced.Ways)
	}
	for _, event := range traced.Events {
		if err := i.visit(ctx, event, rejected); err != nil {
			return err
		}
	}
	return nil
}

// rowErrors returns the errors on record of the record's tokens.
func (i *explaining) rowErrors(ctx context.Context) ([]landscape.RowError, error) {
	var rejected []landscape.RowError
	for _, t := range i.tokens {
		found, err := i.log.ErrorsOf(ctx, i.run.ID, t.at)
		if err != nil {
			return nil, err
		}
		rejected = append(rejected, found...)
	}
	return rejected, nil
}

// duplicates tells the engine which of the record's tokens have a value that another one has, as on record.
func (i *explaining) duplicates(rejected []landscape.RowError) engine.Duplicates {
	duplicates := engine.Duplicates{}
	root := i.compiled.RootLane(i.in.Origin)
	for claim, claimed := range engine.Claims(i.compiled) {
		for _, failure := range rejected {
			first, ok := engine.FirstOf(failure.Code, failure.Message)
			if ok && claimed == (engine.Claimed{Node: i.asked.Source, Field: failure.Field}) {
				duplicates[i.repeat(claim, root)] = barrier.Token{Lane: root, Row: first}
			}
		}
	}
	for _, dropped := range i.repetitions() { // the engine does not ask which token came first
		duplicates[i.repeat(dropped.claim, int(dropped.lane))] = barrier.Token{}
	}
	return duplicates
}

// repeated returns the place among the claims of what must be unique at a deduplicate, if it dropped the token at this step.
func (i *explaining) repeated(step landscape.Step) (claim int, ok bool) {
	at := i.compiled.Find(step.Node)
	if at == plan.None || i.compiled.Nodes[at].Operation != plan.Deduplicate || step.Label != engine.Duplicate {
		return 0, false
	}
	claim = slices.IndexFunc(engine.Claims(i.compiled), func(c engine.Claimed) bool { return c.Node == step.Node })
	return claim, claim >= 0
}

func (i *explaining) repeat(claim, lane int) engine.Repeat {
	return engine.Repeat{Claim: claim, Token: barrier.Token{Lane: lane, Row: i.asked.Row}}
}

// compareWays holds the computed ways against those on record, if the record went through the steps.
func (i *explaining) compareWays(computed []engine.LaneWay) {
	if i.tokens[0].way == nil {
		return
	}
	ways := map[int64]string{}
	for _, way := range computed {
		ways[int64(way.Lane)] = recompute.WayOf(i.compiled, way.Lane, way.Way).Signature()
	}
	for k := range i.tokens {
		t := &i.tokens[k]
		if way := ways[t.at.Lane]; way != t.Way {
			t.Computed = way
			if way == "" {
				t.Computed = "no way"
			}
		}
		delete(ways, t.at.Lane)
	}
	for lane, way := range ways { // tokens that are not recorded
		token := landscape.Token{Source: i.asked.Source, Lane: lane, Row: i.asked.Row}
		i.tokens[0].Computed = fmt.Sprintf("%s; and %s goes %s", i.tokens[0].Way, i.id(token), way)
	}
}

// visit tells what happened at one node.
func (i *explaining) visit(ctx context.Context, event engine.Event, rejected []landscape.RowError) error {
	t := i.token(int64(event.Lane))
	if t == nil {
		return nil // its way is told as a difference
	}
	node := &i.compiled.Nodes[event.Node]
	if event.Rejected != nil && node.Coalescing == nil {
		event.Before = i.before(event.Lane)
	}
	if event.Rejected == nil {
		i.after[event.Lane] = event.After
	}
	visit := Visit{
		Node: node.Name, Operation: node.Operation, Label: event.Label, Branches: i.branches(t, node.Name), Expression: node.Text,
		InputHash: i.inputOf(t), Values: values(engine.Explain(node, event.Before)), Terms: terms(node, event.Before),
		First: i.first[landscape.Step{Node: node.Name, Lane: t.at.Lane}], Changes: renamed(node, changes(event.Before, event.After)), Refused: rejectionAt(node.Name, t.at, rejected),
	}
	switch {
	case t.way == nil: // nothing on record yet to hold it against
	case event.Rejected == nil:
		if err := i.compare(ctx, &visit, t, node, event); err != nil {
			return err
		}
	default:
		visit.compareRejection(event.Rejected)
	}
	if event.Decision != nil && t.Merge != nil {
		t.Merge.compare(recompute.KindOf(i.compiled, event.Node, *event.Decision))
	}
	if node.Kind == plan.Sink {
		t.Written = strings.TrimRight(string(event.Encoded), "\r\n")
	}
	t.Nodes = append(t.Nodes, visit)
	return nil
}

// before returns the row with which the lane's token comes to its next node: as it left its last node, or the fork that copied it.
func (i *explaining) before(lane int) row.Row {
	if after, found := i.after[lane]; found {
		return after
	}
	if about := i.lanes[lane]; about.Branch != "" {
		return i.after[int(*about.Parent)]
	}
	return row.Row{}
}

// inputOf returns the hash with which the token's next node gets the row: that of its last node, or of the forked token.
func (i *explaining) inputOf(t *tokenTrace) string {
	if n := len(t.Nodes); n > 0 {
		return t.Nodes[n-1].OutputHash
	}
	lane := i.lanes[t.at.Lane]
	if lane.Branch == "" {
		return ""
	}
	parent := i.token(*lane.Parent)
	if parent == nil || len(parent.Nodes) == 0 {
		return ""
	}
	return parent.Nodes[len(parent.Nodes)-1].OutputHash
}

// branches returns the ids of the copies that a fork made of the token; nil if the node is none.
func (i *explaining) branches(t *tokenTrace, node string) []string {
	var ids []string
	for _, lane := range i.lanes {
		if lane.Parent != nil && *lane.Parent == t.at.Lane && lane.Node == node && lane.Branch != "" {
			ids = append(ids, i.id(landscape.Token{Source: t.at.Source, Lane: lane.Lane, Row: t.at.Row}))
		}
	}
	return ids
}

// compareRejection holds why the node rejects the row against the record.
func (v *Visit) compareRejection(computed *plugin.Rejection) {
	v.Verified = v.Refused != nil && v.Refused.Code == computed.Code && v.Refused.Field == computed.Field && v.Refused.Message == computed.Message
	if !v.Verified {
		v.Differs = "it is refused with " + computed.Error()
	}
}

// compare holds the computed hash against the record. A node that passes rows on, or takes them in, has its input's hash.
func (i *explaining) compare(ctx context.Context, visit *Visit, t *tokenTrace, node *plan.Node, event engine.Event) error {
	record := node.Barrier && event.Node == i.in.Origin && len(t.Nodes) == 0
	taken := node.Coalescing != nil && i.lanes[t.at.Lane].Node != node.Name
	if !record && (taken || !node.Changes()) {
		visit.OutputHash, visit.Verified = visit.InputHash, true
		return nil
	}
	recorded, found, err := i.log.HashAt(ctx, i.run.ID, t.at, node.Name)
	if err != nil {
		return err
	}
	computed := event.Hash()
	if found {
		visit.OutputHash, visit.Verified = hex.EncodeToString(recorded[:]), recorded == computed
	}
	if found && !record {
		visit.Form = &Form{row.AppendCanonical(nil, event.After), t.at.Lane, int64(event.Node)}
	}
	if !visit.Verified {
		visit.Computed = hex.EncodeToString(computed[:])
	}
	return nil
}

// recorded fills in the nodes from the record alone.
func (i *explaining) recorded(ctx context.Context) error {
	rejected, err := i.rowErrors(ctx)
	if err != nil {
		return err
	}
	nodes, err := i.log.Nodes(ctx, i.run.ID)
	if err != nil {
		return err
	}
	for k := range i.tokens {
		t := &i.tokens[k]
		if t.way == nil {
			continue
		}
		for _, step := range t.way.Steps[t.way.First:] {
			visit := Visit{Node: step.Node, Label: step.Label, Branches: i.branches(t, step.Node), Refused: rejectionAt(step.Node, t.at, rejected)}
			if at := slices.IndexFunc(nodes, func(n landscape.Node) bool { return n.Node == step.Node }); at >= 0 {
				visit.Operation = nodes[at].Operation
			}
			if err := i.recall(ctx, t, &visit); err != nil {
				return err
			}
			t.Nodes = append(t.Nodes, visit)
		}
	}
	return nil
}

// recall fills in the hashes on record of what came to the node and what left it.
func (i *explaining) recall(ctx context.Context, t *tokenTrace, visit *Visit) error {
	visit.InputHash = i.inputOf(t)
	visit.OutputHash = visit.InputHash
	hash, found, err := i.log.HashAt(ctx, i.run.ID, t.at, visit.Node)
	if found {
		visit.OutputHash = hex.EncodeToString(hash[:])
	}
	return err
}

func rejectionAt(node string, token landscape.Token, rejected []landscape.RowError) *Rejection {
	for _, failure := range rejected {
		if failure.Node == node && failure.Lane == token.Lane {
			return &Rejection{Code: failure.Code, Field: failure.Field, Message: failure.Message, SentTo: failure.SentTo}
		}
	}
	return nil
}

// cures says what lets a coalesce make a row of what came, by the code with which it rejected that.
var cures = map[string]string{
	barrier.CodeIncompleteBranches:  "policy: best_effort, or a quorum, makes a row of the branches that come",
	barrier.CodeQuorumNotMet:        "a lower quorum, or policy: best_effort, makes a row of the branches that come",
	barrier.CodeSelectBranchMissing: "merge: union needs no branch in particular",
	barrier.CodeCollision:           "collision: first or last lets one value stand; rename the field in one branch to keep both",
}

// compare holds what a coalesce decides, computed again, against the record.
func (d *Decision) compare(computed landscape.MergeKind) {
	if computed.ID() == d.kind.ID() {
		d.Verified = true
		return
	}
	d.Differs = fmt.Sprintf("it is %s by %s of %s", computed.Result, computed.FiredBy, strings.Join(computed.Arrived, ", "))
}
