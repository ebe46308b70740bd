package engine

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Claimed is what must be unique: a field of a source, or the key of a deduplicate.
type Claimed struct {
	Node  string
	Field string // of a deduplicate the fields of its key, with commas between them
}

// Value stands for a value that must be unique: the first 16 bytes of the SHA-256 of the canonical form of its key.
type Value = [16]byte

// Firsts tells which token is the first with a value. An error ends the pass.
type Firsts interface {
	// First returns the token that is the first with the value, of what is at this place in Claims: the token given, if
	// none was before.
	First(claim int, value Value, token barrier.Token) (barrier.Token, error)
}

// Repeat is a token whose value of one of the Claims another token has.
type Repeat struct {
	Claim int
	Token barrier.Token
}

// Duplicates are Firsts that are known: each repeat, with the token that was the first. All other tokens are the first
// with their values.
type Duplicates map[Repeat]barrier.Token

// First does what Firsts says.
func (d Duplicates) First(claim int, _ Value, token barrier.Token) (barrier.Token, error) {
	if first, ok := d[Repeat{claim, token}]; ok {
		return first, nil
	}
	return token, nil
}

// Claims returns what of the plan must be unique among the tokens of an origin's passes, in the order in which it must
// be claimed: whether a row comes to a deduplicate hangs on the claims before.
func Claims(p *plan.Plan) []Claimed {
	var claims []Claimed
	for i := range p.Nodes {
		node := &p.Nodes[i]
		for _, field := range node.Unique {
			claims = append(claims, Claimed{node.Name, field})
		}
		if node.Operation == plan.Deduplicate && !node.Barrier {
			claims = append(claims, claimedBy(node))
		}
	}
	return claims
}

func claimedBy(deduplicate *plan.Node) Claimed {
	return Claimed{deduplicate.Name, strings.Join(deduplicate.Spec.Deduplicate.Key, ",")}
}

// Claim sends every record of the chunk through the graph as far as it must go so that in.Firsts hears of every value,
// as it would from Run, and makes nothing of it. The error is as for Run.
func (r *Runner) Claim(in Input) error {
	p, err := r.begin(in)
	if err != nil {
		return err
	}
	p.quiet, p.totals = true, nil
	return p.run()
}

// claiming is a field of a source, or a deduplicate, and its place in Claims.
type claiming struct {
	claim int
	field string // of a source
}

// prepareClaims notes at which nodes tokens have values that must be unique.
func (p *program) prepareClaims() {
	p.claimings = make([][]claiming, len(p.plan.Nodes))
	for i, claimed := range Claims(p.plan) {
		node := p.plan.Find(claimed.Node)
		p.claimings[node] = append(p.claimings[node], claiming{i, claimed.Field})
		p.deduplicates = p.deduplicates || p.plan.Nodes[node].Kind != plan.Source
	}
}

// first asks which token is the first with the value whose canonical form was made last.
func (p *pass) first(claim int) (barrier.Token, error) {
	sum := sha256.Sum256(p.scratch.canonical)
	return p.in.Firsts.First(claim, Value(sum[:16]), p.id())
}

// duplicate rejects a record with a value that an earlier one has. A record that is rejected for one field is still the
// first with its value of another.
func (p *pass) duplicate(current row.Row) (rejected *plugin.Rejection, err error) {
	if p.in.Firsts == nil {
		return nil, nil
	}
	for _, unique := range p.claimings[p.in.Origin] {
		value, _ := current.Get(unique.field)
		key := value.Key()
		if key.IsNull() {
			continue
		}
		p.scratch.canonical = row.AppendValue(p.scratch.canonical[:0], key)
		first, err := p.first(unique.claim)
		if err != nil {
			return nil, err
		}
		if first != p.id() && rejected == nil {
			message := sameBefore + strconv.FormatInt(first.Row, 10) + sameBehind
			rejected = &plugin.Rejection{Code: CodeUnique, Field: unique.field, Message: message}
		}
	}
	return rejected, nil
}

// The message of a rejection with CodeUnique, around the row that has the value. Stored; never change.
const (
	sameBefore = "row "
	sameBehind = " has the same value"
)

// FirstOf returns the row that has the value for which a record was rejected with this code and message, if it was for
// that.
func FirstOf(code, message string) (row int64, ok bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(message, sameBefore), sameBehind)
	row, err := strconv.ParseInt(digits, 10, 64)
	return row, err == nil && code == CodeUnique
}

// Duplicate is the label of the way on which a deduplicate drops a token. Stored; never rename.
const Duplicate = "duplicate"

// The ways out of a deduplicate.
const (
	labelFirst = iota
	labelDuplicate
)

// once lets the first token of each key pass.
type once struct{ key []string }

// apply rejects a row without a field of the key. Which other rows pass, claimed says.
func (o once) apply(in row.Row) (row.Row, int, *plugin.Rejection) {
	for _, field := range o.key {
		if _, found := in.Get(field); !found {
			return in, noLabel, barrier.NoSuchField(field)
		}
	}
	return in, labelFirst, nil
}

// claimed returns the way by which the current token leaves the deduplicate that it is in.
func (p *pass) claimed(current row.Row) (label int, err error) {
	if p.in.Firsts == nil {
		return labelFirst, nil
	}
	node := p.token.at
	p.scratch.canonical = p.scratch.canonical[:0]
	for _, field := range p.plan.Nodes[node].Spec.Deduplicate.Key {
		value, _ := current.Get(field)
		p.scratch.canonical = append(row.AppendValue(p.scratch.canonical, value.Key()), 0)
	}
	first, err := p.first(p.claimings[node][0].claim)
	if err != nil {
		return 0, err
	}
	if first != p.id() {
		p.result.repeat(&p.token, first)
		return labelDuplicate, nil
	}
	return labelFirst, nil
}

func onceExits(next int) []exit {
	return []exit{
		labelFirst:     {label: "first", to: next},
		labelDuplicate: {label: Duplicate, ended: pipeline.FilterDropped},
	}
}
