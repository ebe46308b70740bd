package landscape

import (
	"context"

	"waymark/pipeline"
)

// addWays counts tokens by the ways they took.
func (s *summing) addWays(ctx context.Context, d RecordReader, run string) error {
	rows, err := rowsByWay(ctx, d, run)
	if err != nil {
		return err
	}
	ways := map[string]WayRecord{}
	err = each(ctx, d, []any{run}, func(w WayRecord) bool {
		ways[w.Way] = w
		s.addOutcome(w, rows[w.Way])
		return true
	})
	if err != nil {
		return err
	}
	s.forRefused = forRefused(ways)
	return each(ctx, d, []any{run}, func(step WayStepRecord) bool {
		s.addStep(step, ways[step.Way], rows[step.Way])
		return true
	})
}

// addOutcome counts tokens that ended on a way.
func (s *summing) addOutcome(way WayRecord, rows int64) {
	path := pipeline.Path(way.Path)
	s.Tokens += rows
	s.addEnded(path, rows)
	switch {
	case way.Sink == pipeline.QuarantineSink:
		s.Quarantined += rows
	case path == pipeline.FilterDropped:
		s.Filtered += rows
	case path == pipeline.GateDiscarded || path == pipeline.SinkDiscarded:
		s.Discarded += rows
	case s.sinks[way.Sink] != nil: // what names no sink of the run was written by nobody: waymark verify tells
		s.sinks[way.Sink].Planned += rows
	}
}

// addEnded counts tokens by outcome; those that a barrier took are held until their batch fires.
func (s *summing) addEnded(path pipeline.Path, rows int64) {
	switch path.Outcome() {
	case pipeline.Success:
		s.Succeeded += rows
	case pipeline.Failure:
		s.Failed += rows
	case pipeline.Transient:
		s.Transient += rows
	default:
		s.Held += rows
	}
}

// addStep counts tokens that came to a node, or came to be there.
func (s *summing) addStep(step WayStepRecord, way WayRecord, rows int64) {
	n := s.nodes[step.Node]
	if n == nil { // as above
		return
	}
	if n.Kind == SourceNode && step.Seq == 0 && way.FirstSeq == 0 {
		s.Passed += rows
	}
	switch {
	case step.Seq == way.FirstSeq-1: // the fork that made a copy
		n.Created += rows
		n.Out += rows
		return
	case step.Seq < way.FirstSeq: // the steps of the fork's parent are counted with it
		return
	case step.Seq == 0 && n.Kind != SourceNode: // a barrier's row, or what a coalesce made
		n.Created += rows
	default:
		n.In += rows
	}
	n.add(way, rows)
}

// add counts where tokens of a way went that are at the node. Rows leave a sink with its effects, or are refused by its encoder.
func (n *NodeCount) add(way WayRecord, rows int64) {
	path := pipeline.Path(way.Path)
	switch {
	case n.Kind == SinkNode && n.Node != way.LastNode:
	case n.Node != way.LastNode || path.Outcome() == pipeline.Success && way.Sink != "":
		n.Out += rows
	case path.Outcome() == pipeline.Failure:
		n.Diverted += rows
	case path == pipeline.Buffered:
		n.Held += rows
	case path == pipeline.FilterDropped || path == pipeline.GateDiscarded:
		n.Dropped += rows
	default:
		n.Consumed += rows
	}
}

// batchHead is the counts of a BatchRecord.
type batchHead struct {
	Run   string        `db:"run_id,key"`
	Node  string        `db:"node,key"`
	Batch int64         `db:"batch,key"`
	Path  pipeline.Path `db:"path"`
	Rows  int64         `db:"rows"`
}

// Table returns batches.
func (batchHead) Table() string { return "batches" }

// addBatches takes the tokens of batches that fired from those that are held.
func (s *summing) addBatches(ctx context.Context, d RecordReader, run string) error {
	return each(ctx, d, []any{run}, func(b batchHead) bool {
		s.Held -= b.Rows
		s.addEnded(b.Path, b.Rows)
		n := s.nodes[b.Node]
		n.Held -= b.Rows
		n.Consumed += b.Rows
		return true
	})
}

// addHeld sets how many tokens barriers hold, as their last folds say.
func (s *summing) addHeld(ctx context.Context, d RecordReader, run string) error {
	held := map[string]int64{}
	err := each(ctx, d, []any{run}, func(f FoldRecord) bool {
		held[f.Node] = f.Held
		return true
	})
	s.Held = 0
	for _, rows := range held {
		s.Held += rows
	}
	return err
}
