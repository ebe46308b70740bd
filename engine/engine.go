// Package engine is the meaning of a pipeline: what each node does to a row, which way each token takes, and which
// bytes each sink gets. It knows neither Temporal nor storage, and it is deterministic: the same plan and the same
// chunk give the same result, byte for byte, on every machine. Resume, explain and verify rest on that.
//
// A pass sends the records of one chunk from their origin, a source or a barrier, to sinks and to barriers. What
// barriers do with what arrives is the business of package barrier.
//
// State has three lifetimes. A Runner keeps what lives as long as the plan, a pass has what lives as long as one chunk,
// and a token has what lives as long as one record.
package engine

import (
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline/row"
)

// Runner sends the rows of chunks through the graph. It keeps memory from chunk to chunk and is not safe for concurrent
// use; make one for each goroutine.
type Runner struct {
	program
	parsers parsers
	scratch scratch
	pace    pace
	sizes   []int // by node: of the parts of the last chunk, which are those of the next one, most of the time
}

// scratch is memory that every record uses again.
type scratch struct {
	keys      []barrier.Token // token.keys is in it; as long as the longest can be
	values    []row.Value     // of the row as parsed
	canonical []byte
	hasher    row.Hasher // of the current token's row, unless that has no hash of its own
	rejected  [10]row.Value
}

// NewRunner returns a Runner for the plan.
func NewRunner(p *plan.Plan) (*Runner, error) {
	made, err := newProgram(p)
	if err != nil {
		return nil, err
	}
	r := &Runner{program: made, sizes: make([]int, len(p.Nodes))}
	r.scratch.keys = make([]barrier.Token, 0, made.depth())
	return r, nil
}

// Run sends every record of the chunk through the graph. The result shares no memory with the chunk or the Runner, but
// for the text of its arrivals: as long as those are used, the chunk's Data must stay unchanged. The error is a
// *FailedError if a row was rejected where the document says fail, an *UnfinishedError, or a *plugin.SourceError if the
// chunk's context cannot be understood.
func (r *Runner) Run(in Input) (*Result, error) {
	p, err := r.begin(in)
	if err != nil {
		return nil, err
	}
	for i, size := range r.sizes {
		if size > 0 {
			p.result.Parts[i].Data = make([]byte, 0, size+size/16)
		}
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	for i := range r.sizes {
		r.sizes[i] = len(p.result.Parts[i].Data)
	}
	if err := p.result.finish(&r.program); err != nil {
		return nil, err
	}
	return p.result, nil
}

// begin returns a pass over the chunk, before its first record.
func (r *Runner) begin(in Input) (pass, error) {
	if err := r.parsers.prepare(r.plan, &in); err != nil {
		return pass{}, err
	}
	r.pace.next = 0
	result := newResult(r.plan, in.Origin, r.roots[in.Origin], in.Chunk.Len())
	if in.Hashes != nil {
		result.slice = min(in.Hashes.Every, in.Chunk.Len())
	}
	return pass{Runner: r, in: in, bad: in.Chunk.Bad, result: result, totals: r.totals}, nil
}
