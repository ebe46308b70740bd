package landscape

import (
	"cmp"
	"context"
	"slices"

	"waymark/pipeline"
)

// Summary is what a run did. Of rows that are read, it counts those of sources; of tokens, those of all origins and lanes.
type Summary struct {
	Run         RunHead     `json:"run"`
	Chunks      int64       `json:"chunks"`      // read from sources
	Rows        int64       `json:"rows"`        // records read from sources
	Blank       int64       `json:"blank"`       // lines
	Comments    int64       `json:"comments"`    // lines
	Bytes       int64       `json:"bytes"`       // read, of decoded text
	Passed      int64       `json:"passed"`      // records of sources that went through the steps
	Tokens      int64       `json:"tokens"`      // that took a way
	Succeeded   int64       `json:"succeeded"`   // of these, tokens with the outcome success
	Failed      int64       `json:"failed"`      // of these, tokens with the outcome failure
	Transient   int64       `json:"transient"`   // of these, tokens with the outcome transient: others go on for them
	Held        int64       `json:"held"`        // of these, tokens that a barrier holds
	Quarantined int64       `json:"quarantined"` // failed tokens that are kept in the landscape only
	Filtered    int64       `json:"filtered"`    // tokens that a filter, a sample, a deduplicate or an expand dropped
	Discarded   int64       `json:"discarded"`   // tokens that a gate, or the policy for refused rows, discarded
	Sinks       []SinkCount `json:"sinks"`       // in document order
	Nodes       []NodeCount `json:"nodes"`       // in document order
}

// SinkCount is what one sink gets and got.
type SinkCount struct {
	Sink      string `json:"sink"`
	Planned   int64  `json:"planned"`           // rows whose way leads here
	Finalized int64  `json:"finalized"`         // of these, rows that the target confirmed and holds
	Refused   int64  `json:"refused,omitempty"` // of these, rows that the target refused
	Bytes     int64  `json:"bytes"`             // confirmed, without headers
	Published bool   `json:"published"`
}

// NodeCount is the balance of one node: in + created = out + dropped + diverted + consumed + held. Nothing is held in a
// run that is complete. Rows leave a sink when its target confirmed them.
type NodeCount struct {
	Node     string   `json:"node"`
	Kind     NodeKind `json:"kind"`
	In       int64    `json:"in"`
	Created  int64    `json:"created"` // copies of a fork, rows that a coalesce or a barrier made
	Out      int64    `json:"out"`
	Dropped  int64    `json:"dropped"`  // by a filter or the like, or by a gate's discard
	Diverted int64    `json:"diverted"` // refused
	Consumed int64    `json:"consumed"` // ended here so that others go on: at a fork, a coalesce, a barrier
	Held     int64    `json:"held"`     // by a barrier
}

// Progress is how far a run is.
type Progress struct {
	Status    pipeline.RunStatus `json:"status"`
	Chunks    int64              `json:"chunks"`            // read from sources
	Rows      int64              `json:"rows"`              // records read from sources
	Bytes     int64              `json:"bytes"`             // read, of decoded text
	Ended     bool               `json:"ended"`             // all sources were read to their end, and all barriers gave what they held
	Passed    int64              `json:"passed"`            // records of sources that went through the steps
	Failed    int64              `json:"failed"`            // tokens that were refused, by whatever node
	Held      int64              `json:"held"`              // tokens that barriers hold after their last folds
	Planned   int64              `json:"planned"`           // tokens that a sink gets
	Finalized int64              `json:"finalized"`         // of these, tokens that the target confirmed and holds
	Refused   int64              `json:"refused,omitempty"` // of these, tokens that the target refused
}

// Progress returns how far a run is. It reads a few records per chunk.
func (r *Reader) Progress(ctx context.Context, run string) (Progress, error) {
	s, err := r.sum(ctx, run, (*summing).addHeld)
	if err != nil {
		return Progress{}, err
	}
	sources, err := r.Sources(ctx, run)
	if err != nil {
		return Progress{}, err
	}
	ends, err := r.SourceEnds(ctx, run)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{
		Status: s.Run.Status, Chunks: s.Chunks, Rows: s.Rows, Bytes: s.Bytes, Ended: len(ends) == len(sources),
		Passed: s.Passed, Failed: s.Failed, Held: s.Held,
	}
	for _, sink := range s.Sinks {
		p.Planned += sink.Planned
		p.Finalized += sink.Finalized
		p.Refused += sink.Refused
	}
	return p, nil
}

// Summary returns what a run did. It reads a few records per chunk, and every batch that fired. Every number is counted
// from records of what happened: none is kept.
func (r *Reader) Summary(ctx context.Context, run string) (Summary, error) {
	return r.sum(ctx, run, (*summing).addBatches)
}

// sum counts; settle takes from the tokens that came to barriers those that they hold no longer.
func (r *Reader) sum(ctx context.Context, run string, settle func(*summing, context.Context, RecordReader, string) error) (Summary, error) {
	head, err := get[RunHead](ctx, r.from, run)
	if err != nil {
		return Summary{}, err
	}
	s := &summing{Summary: Summary{Run: head}, nodes: map[string]*NodeCount{}, sinks: map[string]*SinkCount{}}
	for _, step := range []func(*summing, context.Context, RecordReader, string) error{
		(*summing).addGraph, (*summing).addChunks, (*summing).addWays, settle, (*summing).addEffects,
	} {
		if err := step(s, ctx, r.from, run); err != nil {
			return Summary{}, err
		}
	}
	for _, node := range s.order {
		s.Nodes = append(s.Nodes, *s.nodes[node])
		if sink := s.sinks[node]; sink != nil {
			s.Sinks = append(s.Sinks, *sink)
		}
	}
	return s.Summary, nil
}

// summing is a Summary in the making.
type summing struct {
	Summary
	order []string // nodes in document order
	nodes map[string]*NodeCount
	sinks map[string]*SinkCount

	forRefused map[string]bool // sinks whose tokens a node before them refused
}

func (s *summing) addGraph(ctx context.Context, d RecordReader, run string) error {
	nodes, err := Select[Node](ctx, d, run)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, n := range nodes {
		s.order = append(s.order, n.Node)
		s.nodes[n.Node] = &NodeCount{Node: n.Node, Kind: n.Kind}
		if n.Kind == SinkNode {
			s.sinks[n.Node] = &SinkCount{Sink: n.Node}
		}
	}
	return err
}

// chunkHead is the counts of a Chunk.
type chunkHead struct {
	Run      string `db:"run_id,key"`
	Source   string `db:"source,key"`
	Chunk    int64  `db:"chunk,key"`
	Rows     int64  `db:"rows"`
	Bytes    int64  `db:"bytes"`
	Blank    int64  `db:"blank"`
	Comments int64  `db:"comments"`
}

// Table returns chunks.
func (chunkHead) Table() string { return "chunks" }

func (s *summing) addChunks(ctx context.Context, d RecordReader, run string) error {
	return each(ctx, d, []any{run}, func(c chunkHead) bool {
		if node := s.nodes[c.Source]; node == nil || node.Kind != SourceNode {
			return true // rows of a barrier were not read
		}
		s.Chunks++
		s.Rows += c.Rows
		s.Bytes += c.Bytes
		s.Blank += c.Blank
		s.Comments += c.Comments
		return true
	})
}

func (s *summing) addEffects(ctx context.Context, d RecordReader, run string) error {
	return each(ctx, d, []any{run}, func(e Effect) bool {
		switch sink := s.sinks[e.Sink]; {
		case sink == nil: // what names no sink of the run was written by nobody: waymark verify tells
		case e.State != Finalized:
		case e.Kind == PublishEffect:
			sink.Published = true
		default:
			sink.Finalized += e.Rows - e.Refused
			sink.Bytes += e.Bytes
			s.nodes[e.Sink].Out += e.Rows - e.Refused
			s.addRefused(e)
		}
		return true
	})
}

// addRefused counts the tokens that a target refused: they came to the sink as successes, unless it gets what others refused.
func (s *summing) addRefused(e Effect) {
	s.sinks[e.Sink].Refused += e.Refused
	s.nodes[e.Sink].Diverted += e.Refused
	s.Quarantined += e.Refused
	if !s.forRefused[e.Sink] {
		s.Succeeded -= e.Refused
		s.Failed += e.Refused
	}
}
