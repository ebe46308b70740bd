package landscape

import (
	"cmp"
	"context"
	"slices"

	"waymark/pipeline"
)

// Summary is what a run did.
type Summary struct {
	Run         RunHead     `json:"run"`
	Chunks      int64       `json:"chunks"`      // read
	Rows        int64       `json:"rows"`        // records read
	Blank       int64       `json:"blank"`       // lines
	Comments    int64       `json:"comments"`    // lines
	Bytes       int64       `json:"bytes"`       // read, of decoded text
	Passed      int64       `json:"passed"`      // rows that went through the steps
	Succeeded   int64       `json:"succeeded"`   // of these, rows with the outcome success
	Failed      int64       `json:"failed"`      // of these, rows with the outcome failure
	Quarantined int64       `json:"quarantined"` // failed rows that are kept in the landscape only
	Filtered    int64       `json:"filtered"`    // rows that a filter dropped
	Discarded   int64       `json:"discarded"`   // rows that a gate, or the policy for refused rows, discarded
	Sinks       []SinkCount `json:"sinks"`       // in document order
	Nodes       []NodeCount `json:"nodes"`       // in document order
}

// SinkCount is what one sink gets and got.
type SinkCount struct {
	Sink      string `json:"sink"`
	Planned   int64  `json:"planned"`   // rows whose way leads here
	Finalized int64  `json:"finalized"` // rows that the target confirmed
	Bytes     int64  `json:"bytes"`     // confirmed, without headers
	Published bool   `json:"published"`
}

// NodeCount is the balance of one node. In a finished run, in = out + dropped + diverted; rows leave a sink when its target
// confirmed them.
type NodeCount struct {
	Node     string   `json:"node"`
	Kind     NodeKind `json:"kind"`
	In       int64    `json:"in"`
	Out      int64    `json:"out"`
	Dropped  int64    `json:"dropped"`  // by a filter, or by a gate's discard
	Diverted int64    `json:"diverted"` // refused
}

// Progress is how far a run is.
type Progress struct {
	Status    pipeline.RunStatus `json:"status"`
	Chunks    int64              `json:"chunks"`    // read
	Rows      int64              `json:"rows"`      // records read
	Bytes     int64              `json:"bytes"`     // read, of decoded text
	Ended     bool               `json:"ended"`     // all sources were read to their end
	Passed    int64              `json:"passed"`    // rows that went through the steps
	Failed    int64              `json:"failed"`    // of these, rows that were refused
	Planned   int64              `json:"planned"`   // of these, rows that a sink gets
	Finalized int64              `json:"finalized"` // of these, rows that the target confirmed
}

// Progress returns how far a run is. It reads a few records per chunk.
func (l *Log) Progress(ctx context.Context, run string) (Progress, error) {
	s, err := l.Summary(ctx, run)
	if err != nil {
		return Progress{}, err
	}
	sources, err := l.Sources(ctx, run)
	if err != nil {
		return Progress{}, err
	}
	ends, err := l.SourceEnds(ctx, run)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{
		Status: s.Run.Status, Chunks: s.Chunks, Rows: s.Rows, Bytes: s.Bytes, Ended: len(ends) == len(sources),
		Passed: s.Passed, Failed: s.Failed,
	}
	for _, sink := range s.Sinks {
		p.Planned += sink.Planned
		p.Finalized += sink.Finalized
	}
	return p, nil
}

// Summary returns what a run did. It reads a few records per chunk. Every number is counted from records of what
// happened: none is kept.
func (l *Log) Summary(ctx context.Context, run string) (Summary, error) {
	head, err := get[RunHead](ctx, l.driver, run)
	if err != nil {
		return Summary{}, err
	}
	s := &summing{Summary: Summary{Run: head}, nodes: map[string]*NodeCount{}, sinks: map[string]*SinkCount{}}
	for _, step := range []func(context.Context, Driver, string) error{s.addGraph, s.addChunks, s.addWays, s.addEffects} {
		if err := step(ctx, l.driver, run); err != nil {
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
}

func (s *summing) addGraph(ctx context.Context, d Driver, run string) error {
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

func (s *summing) addChunks(ctx context.Context, d Driver, run string) error {
	return each(ctx, d, []any{run}, func(c chunkHead) bool {
		s.Chunks++
		s.Rows += c.Rows
		s.Bytes += c.Bytes
		s.Blank += c.Blank
		s.Comments += c.Comments
		return true
	})
}

func (s *summing) addWays(ctx context.Context, d Driver, run string) error {
	rows := map[string]int64{}
	err := each(ctx, d, []any{run}, func(w ChunkWayRecord) bool {
		rows[w.Way] += w.Rows
		return true
	})
	if err != nil {
		return err
	}
	last := map[string]WayRecord{}
	err = each(ctx, d, []any{run}, func(w WayRecord) bool {
		last[w.Way] = w
		s.addOutcome(pipeline.Path(w.Path), w.Sink, rows[w.Way])
		return true
	})
	if err != nil {
		return err
	}
	return each(ctx, d, []any{run}, func(step WayStepRecord) bool {
		s.nodes[step.Node].add(last[step.Way], rows[step.Way])
		return true
	})
}

// addOutcome counts rows that ended on a path.
func (s *summing) addOutcome(path pipeline.Path, sink string, rows int64) {
	s.Passed += rows
	if path.Outcome() == pipeline.Failure {
		s.Failed += rows
	} else {
		s.Succeeded += rows
	}
	switch {
	case sink == pipeline.QuarantineSink:
		s.Quarantined += rows
	case path == pipeline.FilterDropped:
		s.Filtered += rows
	case path == pipeline.GateDiscarded || path == pipeline.SinkDiscarded:
		s.Discarded += rows
	default:
		s.sinks[sink].Planned += rows
	}
}

// add counts rows of a way that came to the node. Rows leave a sink with its effects.
func (n *NodeCount) add(way WayRecord, rows int64) {
	n.In += rows
	switch {
	case n.Kind == SinkNode:
	case n.Node != way.LastNode || way.Outcome == string(pipeline.Success) && way.Sink != "":
		n.Out += rows
	case way.Outcome == string(pipeline.Failure):
		n.Diverted += rows
	default:
		n.Dropped += rows
	}
}

func (s *summing) addEffects(ctx context.Context, d Driver, run string) error {
	return each(ctx, d, []any{run}, func(e Effect) bool {
		switch sink := s.sinks[e.Sink]; {
		case e.State != Finalized:
		case e.Kind == PublishEffect:
			sink.Published = true
		default:
			sink.Finalized += e.Rows
			sink.Bytes += e.Bytes
			s.nodes[e.Sink].Out += e.Rows
		}
		return true
	})
}
