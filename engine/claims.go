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

// Value stands for a value that must be unique: the first 16 bytes of the SHA-256 of its canonical form.
type Value = [16]byte

// Firsts tells which token is the first with a value. An error ends the pass.
type Firsts interface {
	// First returns the token that is the first with the value, of what is at this place in Claims: the token given, if none was
	// before.
	First(claim int, value Value, token barrier.Token) (barrier.Token, error)
}

// Repeat is a token whose value of one of the Claims another token has.
type Repeat struct {
	Claim int
	Token barrier.Token
}

// Duplicates are Firsts that are known: each repeat, with the token that was the first. All other tokens are the first with their
// values.
type Duplicates map[Repeat]barrier.Token

// First does what Firsts says.
func (d Duplicates) First(claim int, _ Value, token barrier.Token) (barrier.Token, error) {
	if first, ok := d[Repeat{claim, token}]; ok {
		return first, nil
	}
	return token, nil
}

// Claims returns what of the plan must be unique among the tokens of an origin's passes, in the order in which it must be
// claimed: whether a row comes to a deduplicate hangs on the claims before.
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

// Claim sends every record of the chunk through the graph as far as it must go so that in.Firsts hears of every value, as it would
// from Run, and makes nothing of it. The error is as for Run.
func (r *Runner) Claim(in Input) error {
	r.quiet = true
	defer func() { r.quiet = false }()
	if err := r.begin(in); err != nil {
		return err
	}
	return r.runAll()
}

// claiming is a field of a source, or a deduplicate, and its place in Claims.
type claiming struct {
	claim int
	field string // of a source
}

// prepareClaims notes at which nodes tokens have values that must be unique.
func (r *Runner) prepareClaims() {
	r.claims, r.claimings = Claims(r.plan), make([][]claiming, len(r.plan.Nodes))
	for i, claimed := range r.claims {
		node := r.plan.Find(claimed.Node)
		r.claimings[node] = append(r.claimings[node], claiming{i, claimed.Field})
		r.deduplicates = r.deduplicates || r.plan.Nodes[node].Kind != plan.Source
	}
}

// token returns the current token.
func (r *Runner) token(i int) barrier.Token {
	return barrier.Token{Lane: r.lane, Row: r.chunk.FirstRow + int64(i)}
}

// first asks which token is the first with the value whose canonical form was made last.
func (r *Runner) first(claim, i int) (barrier.Token, error) {
	sum := sha256.Sum256(r.canonical)
	return r.in.Firsts.First(claim, Value(sum[:16]), r.token(i))
}

// duplicate rejects a record with a value that an earlier one has. A record that is rejected for one field is still the first with its
// value of another.
func (r *Runner) duplicate(i int, current row.Row) (rejected *plugin.Rejection, err error) {
	if r.in.Firsts == nil {
		return nil, nil
	}
	for _, unique := range r.claimings[r.in.Origin] {
		value, found := current.Get(unique.field)
		if !found || value.IsNull() {
			continue
		}
		r.canonical = row.AppendValue(r.canonical[:0], value)
		first, err := r.first(unique.claim, i)
		if err != nil {
			return nil, err
		}
		if first != r.token(i) && rejected == nil {
			rejected = &plugin.Rejection{Code: CodeUnique, Field: unique.field, Message: sameBefore + strconv.FormatInt(first.Row, 10) + sameBehind}
		}
	}
	return rejected, nil
}

// The message of a rejection with CodeUnique, around the row that has the value. Stored; never change.
const (
	sameBefore = "row "
	sameBehind = " has the same value"
)

// FirstOf returns the row that has the value for which a record was rejected with this code and message, if it was for that.
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
type once struct{}

func (once) apply(in row.Row) (row.Row, int, *plugin.Rejection) { return in, labelFirst, nil }

// claimed returns the way by which the current token leaves the deduplicate that it is in.
func (r *Runner) claimed(i int, current row.Row) (label int, err error) {
	if r.in.Firsts == nil {
		return labelFirst, nil
	}
	r.canonical = r.canonical[:0]
	for _, field := range r.plan.Nodes[r.at].Spec.Deduplicate.Key {
		value, _ := current.Get(field)
		r.canonical = append(row.AppendValue(r.canonical, value), 0)
	}
	first, err := r.first(r.claimings[r.at][0].claim, i)
	if err != nil {
		return 0, err
	}
	if first != r.token(i) {
		r.result.repeat(r.lane, r.at, i, first)
		return labelDuplicate, nil
	}
	return labelFirst, nil
}

func onceExits(next int) []exit {
	return []exit{labelFirst: {label: "first", to: next}, labelDuplicate: {label: Duplicate, ended: pipeline.FilterDropped}}
}
