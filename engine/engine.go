// Package engine is the meaning of a pipeline: what each node does to a row, which way each token takes, and which bytes each
// sink gets. It knows neither Temporal nor storage, and it is deterministic: the same plan and the same chunk give the same
// result, byte for byte, on every machine. Resume, explain and verify rest on that.
//
// A pass sends the records of one chunk from their origin, a source or a barrier, to sinks and to barriers. What barriers
// do with what arrives is the business of package barrier.
package engine

import (
	"fmt"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Runner sends the rows of chunks through the graph. It keeps memory from chunk to chunk and is not safe for concurrent
// use; make one for each goroutine.
type Runner struct {
	plan     *plan.Plan
	vertices []vertex
	branches []int // by lane: the branch of the innermost open fork, as its coalesce counts them; plan.None if it expects none
	roots    []int // by node: the root lane of an origin
	parser   plugin.Parser
	parsing  parsing                  // what parser was made for
	ordered  map[string]plugin.Parser // of the rows that come out of barriers, by the order of their fields
	parsers  []plugin.Parser          // of the chunk's Orders; nil for a source's chunk

	in     Input
	chunk  *plugin.Chunk      // of in
	bad    []plugin.BadRecord // of the chunk, from the current record on
	keys   []barrier.Token    // of the open forks of the current token, outermost first
	lane   int                // of the current token
	way    *wayNode           // of the current token, up to the node it is in
	at     int                // the node that has the current token
	result *Result
	quiet  bool // Firsts is to hear of values, and nothing is to be made
	watch  func(Event)

	allTotals *totals
	totals    *totals // nil while quiet

	claims       []Claimed
	claimings    [][]claiming // by node
	deduplicates bool         // not only fields of sources must be unique

	pace      pace
	sizes     []int // of the parts of the chunk before, by node: those of the next one are as large, most of the time
	canonical []byte
	values    []row.Value
	rejected  [10]row.Value
}

// NewRunner returns a Runner for the plan.
func NewRunner(p *plan.Plan) (*Runner, error) {
	r := &Runner{plan: p, roots: make([]int, len(p.Nodes)), sizes: make([]int, len(p.Nodes)), parsing: parsing{origin: plan.None}}
	for i := range p.Nodes {
		v, err := newVertex(p, i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Nodes[i].Name, err)
		}
		r.vertices = append(r.vertices, v)
	}
	r.prepareClaims()
	r.allTotals = newTotals(p)
	for _, origin := range p.Origins() {
		r.roots[origin] = p.RootLane(origin)
	}
	for lane := range p.Lanes {
		r.branches = append(r.branches, branchOf(p, p.Lanes[lane].Context))
	}
	return r, nil
}

// branchOf returns which of the branches that a coalesce expects the innermost open fork's is.
func branchOf(p *plan.Plan, context []plan.Branch) int {
	if len(context) == 0 || context[len(context)-1].Coalesce == plan.None {
		return plan.None
	}
	innermost := context[len(context)-1]
	for b, name := range p.Nodes[innermost.Coalesce].Coalescing.Branches {
		if name == innermost.Name {
			return b
		}
	}
	return plan.None
}

// Run sends every record of the chunk through the graph. The result shares no memory with the chunk or the Runner, but for
// the text of its arrivals: as long as those are used, the chunk's Data must stay unchanged. The error is a *FailedError if a row was rejected where the document says fail, an *UnfinishedError,
// or a *plugin.SourceError if the chunk's context cannot be understood.
func (r *Runner) Run(in Input) (*Result, error) {
	if err := r.begin(in); err != nil {
		return nil, err
	}
	for i, size := range r.sizes {
		if size > 0 {
			r.result.Parts[i].Data = make([]byte, 0, size+size/16)
		}
	}
	if err := r.runAll(); err != nil {
		return nil, err
	}
	for i := range r.sizes {
		r.sizes[i] = len(r.result.Parts[i].Data)
	}
	if err := r.result.finish(r); err != nil {
		return nil, err
	}
	return r.result, nil
}

func (r *Runner) begin(in Input) error {
	if err := r.prepareParsers(in); err != nil {
		return err
	}
	r.in, r.chunk, r.bad, r.totals = in, in.Chunk, in.Chunk.Bad, r.allTotals
	r.pace.next = 0
	if r.quiet {
		r.totals = nil
	}
	r.result = newResult(r.plan, in.Origin, r.roots[in.Origin], in.Chunk.Len())
	if in.Hashes != nil {
		r.result.slice = min(in.Hashes.Every, in.Chunk.Len())
	}
	for _, loss := range in.Losses {
		r.lose(r.plan.Nodes[in.Origin].Context[len(loss.Keys)-1].Coalesce, loss)
	}
	return nil
}
