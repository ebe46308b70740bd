package plan

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// Policy is something that must be true of a whole run.
type Policy struct {
	pipeline.RunPolicy // with the gate in force
	Assertion          *expr.Assertion
	Role               string // in which somebody must sign the run off, if the policy asserts that alone; else empty
}

// PolicyDescription describes a policy.
type PolicyDescription struct {
	Name   string `json:"name"`
	Assert string `json:"assert"`
	Gate   string `json:"gate"`
}

// Figures of a run and of its parts. Stored in the records of policies; never rename.
var (
	RunFigures    = []string{"read", "blank", "comments", "bytes", "tokens", "succeeded", "refused", "quarantined", "filtered", "discarded"}
	SourceFigures = []string{"read", "blank", "comments", "bytes"}
	NodeFigures   = []string{"rows_in", "created", "rows_out", "dropped", "refused", "consumed"}
	SinkFigures   = []string{"rows", "refused", "bytes"}
)

// Words with which the names of figures begin. Stored in the records of policies; never rename.
const (
	OfRun    = "run"
	OfSource = "sources"
	OfNode   = "nodes"
	OfSink   = "sinks"
	OfEdge   = "edges"     // edges.FROM.TO: rows that went from one node to the other, to quarantine or to discard
	OfError  = "errors"    // errors.CODE: rows that were refused with the code
	OfSum    = "sums"      // sums.NAME.TOTAL: the total of a source, step or sink, of quarantine or of discard
	OfSign   = "sign_offs" // sign_offs.ROLE: people who signed the run off in a role that the document requires

	Unreadable = OfSum + ".unreadable" // how many amounts cannot be read
)

func figure(path ...string) string { return strings.Join(path, ".") }

// Figures returns the names of the counts that policies may ask of a run of this plan. All are ints, as Unreadable is.
func (p *Plan) Figures() []string {
	var names []string
	add := func(figures []string, path ...string) {
		for _, figure := range figures {
			names = append(names, strings.Join(append(slices.Clone(path), figure), "."))
		}
	}
	add(RunFigures, OfRun)
	for i := range p.Nodes {
		node := &p.Nodes[i]
		switch node.Kind {
		case Source:
			add(SourceFigures, OfSource, node.Name)
		case Sink:
			add(SinkFigures, OfSink, node.Name)
		}
		add(NodeFigures, OfNode, node.Name)
		for _, edge := range p.edges(node) {
			if name := strings.Join([]string{OfEdge, edge.From, edge.To}, "."); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	add(pipeline.RowCodes, OfError)
	add(p.SignOffs, OfSign)
	return names
}

// checkPolicies compiles the policies of the document. That there is no such figure is said only where all names, and all edges, are known.
func (c *compiler) checkPolicies() {
	policies := slices.Concat(c.doc.Pipeline.Policies, c.signOffPolicies())
	if len(policies) == 0 || c.doubt.names || len(c.doubt.ambiguous) > 0 {
		return
	}
	var figures []expr.Field
	for _, name := range c.plan.Figures() {
		figures = append(figures, expr.Field{Name: name, Kind: row.Int})
	}
	figures = append(figures, c.plan.sumFields()...)
	env, err := expr.NewRunEnv(figures, c.doc.Params)
	c.exprProblem("policies", err)
	if err != nil {
		return
	}
	doubtful := len(c.problems) > 0
	for i, policy := range policies {
		at := pipeline.Key(pipeline.Item("policies", i), "assert")
		if !c.legible(at, policy.Assert) || doubtful && strings.Contains(policy.Assert, OfEdge) {
			continue
		}
		assertion, err := env.Compile(policy.Assert)
		c.exprProblem(at, err)
		policy.Gate = policy.InForce()
		role := ""
		if i >= len(c.doc.Pipeline.Policies) {
			role = c.plan.SignOffs[i-len(c.doc.Pipeline.Policies)]
		}
		c.plan.Policies = append(c.plan.Policies, Policy{policy, assertion, role})
	}
}

// signOffPolicies returns a policy for each role in which the run must be signed off.
func (c *compiler) signOffPolicies() []pipeline.RunPolicy {
	if c.doc.Pipeline.Require == nil {
		return nil
	}
	c.plan.SignOffs = c.doc.Pipeline.Require.SignOff
	policies := make([]pipeline.RunPolicy, len(c.plan.SignOffs))
	for i, role := range c.plan.SignOffs {
		policies[i] = pipeline.RunPolicy{Name: pipeline.SignOffPolicy + role, Assert: fmt.Sprintf("%s[%q] > 0", OfSign, role)}
	}
	return policies
}

// sumFields returns what policies may ask about totals. The sum of a total is there where every row has an amount.
func (p *Plan) sumFields() []expr.Field {
	if len(p.Totals) == 0 {
		return nil
	}
	fields := []expr.Field{{Name: Unreadable, Kind: row.Int}}
	for _, name := range p.sums {
		fields = append(fields, expr.Field{Name: name, Kind: row.Decimal})
	}
	return fields
}

func (p *Plan) describePolicies() []PolicyDescription {
	var described []PolicyDescription
	for _, policy := range p.Policies {
		described = append(described, PolicyDescription{policy.Name, policy.Assert, policy.Gate})
	}
	return described
}
