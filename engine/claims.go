package engine

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"waymark/barrier"
	"waymark/pipeline"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// Claimed is what must be unique: a field of a source, or the key of a deduplicate.
type Claimed struct {
	Node  string
	Field string // of a deduplicate the fields of its key, with commas between them
}

// Spot is a token of the chunk.
type Spot struct {
	Lane  int
	Index int // of the record in the chunk
}

// Duplicates says which tokens of a chunk carry a value that only another token may carry, and which one that is.
type Duplicates map[Claimed]map[Spot]barrier.Token

// Values are the values of the chunk's tokens of something that must be unique.
type Values struct {
	Claimed
	Spots  []Spot     // of the tokens that have a value, in the order in which they come
	Hashes [][16]byte // of the values: the first 16 bytes of the SHA-256 of the canonical form
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

// Values returns the values that the chunk's tokens have of one thing that must be unique, given the duplicates of all that
// come before it; no spots if none has. Records that the source refuses are left out, and so are null values of a field.
func (r *Runner) Values(in Input, claimed Claimed) (Values, error) {
	values := Values{Claimed: claimed}
	node := r.plan.Find(claimed.Node)
	if r.plan.Nodes[node].Kind == plan.Source && node != in.Origin {
		return values, nil
	}
	r.probed, r.probe = &values, node
	defer func() { r.probed, r.probe = nil, plan.None }()
	if err := r.begin(in); err != nil {
		return Values{}, err
	}
	return values, r.runAll()
}

// claim notes the value of the current token.
func (r *Runner) claim(i int) {
	sum := sha256.Sum256(r.canonical)
	r.probed.Spots = append(r.probed.Spots, Spot{r.lane, i})
	r.probed.Hashes = append(r.probed.Hashes, [16]byte(sum[:16]))
}

// noteClaim notes the key of a row that came to the deduplicate that is probed.
func (r *Runner) noteClaim(i int, current row.Row) {
	r.canonical = r.canonical[:0]
	for _, field := range r.plan.Nodes[r.at].Spec.Deduplicate.Key {
		value, _ := current.Get(field)
		r.canonical = append(row.AppendValue(r.canonical, value), 0)
	}
	r.claim(i)
}

// probeUnique notes the value of a source's unique field that is probed.
func (r *Runner) probeUnique(i int, current row.Row) {
	value, found := current.Get(r.probed.Field)
	if !found || value.IsNull() {
		return
	}
	r.canonical = row.AppendValue(r.canonical[:0], value)
	r.claim(i)
}

// duplicate refuses a record with a value that an earlier one has.
func (r *Runner) duplicate(i int) *plugin.Rejection {
	node := &r.plan.Nodes[r.in.Origin]
	for _, field := range node.Unique {
		if first, found := r.in.Duplicates[Claimed{node.Name, field}][Spot{r.lane, i}]; found {
			return &plugin.Rejection{Code: CodeUnique, Field: field, Message: "row " + strconv.FormatInt(first.Row, 10) + " has the same value"}
		}
	}
	return nil
}

// The ways out of a deduplicate.
const (
	labelFirst = iota
	labelDuplicate
)

// once lets the first token of each key pass.
type once struct{}

func (once) apply(in row.Row) (row.Row, int, *plugin.Rejection) { return in, labelFirst, nil }

// claimed returns the way by which the current token leaves the deduplicate that it is in.
func (r *Runner) claimed(i int) int {
	if _, found := r.in.Duplicates[claimedBy(&r.plan.Nodes[r.at])][Spot{r.lane, i}]; found {
		return labelDuplicate
	}
	return labelFirst
}

func onceExits(next int) []exit {
	return []exit{labelFirst: {label: "first", to: next}, labelDuplicate: {label: "duplicate", ended: pipeline.FilterDropped}}
}
