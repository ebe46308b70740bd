package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"waymark/pipeline"
)

// PassageMark is what the passage of one chunk left to do for others.
type PassageMark struct {
	Chunk    int64
	Rows     int64    // of the chunk
	Refused  int64    // tokens that were refused: on their ways, or by the targets of sinks
	Barriers []string // to which tokens came, or the news that a branch is lost; in document order
}

// PassageMarks returns the chunks of an origin that went through the steps, in order. It reads no column of rows.
func (r *Reader) PassageMarks(ctx context.Context, run, source string) ([]PassageMark, error) {
	ways, err := r.waysByID(ctx, run)
	if err != nil {
		return nil, err
	}
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	root := all.root(source)
	var marks []PassageMark
	err = each(ctx, r.from, []any{run, source}, func(p passageHead) bool {
		if p.Lane == root {
			marks = append(marks, PassageMark{Chunk: p.Chunk})
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	at := 0
	err = each(ctx, r.from, []any{run, source}, func(w ChunkWayRecord) bool {
		for at < len(marks) && marks[at].Chunk < w.Chunk {
			at++
		}
		if at == len(marks) {
			return false // passed after the chunks were listed
		}
		if marks[at].Chunk == w.Chunk {
			marks[at].add(w, ways[w.Way], w.Lane == root)
		}
		return true
	})
	if err == nil {
		err = r.addFeeds(ctx, run, source, marks)
	}
	if err == nil {
		err = r.addLate(ctx, run, source, marks, forRefused(ways))
	}
	if err != nil {
		return nil, err
	}
	return marks, r.sortBarriers(ctx, run, marks)
}

// addFeeds adds the barriers to which a chunk brought no token, but the news that a branch is lost.
func (r *Reader) addFeeds(ctx context.Context, run, source string, marks []PassageMark) error {
	at := 0
	return each(ctx, r.from, []any{run, source}, func(f FeedRecord) bool {
		for at < len(marks) && marks[at].Chunk < f.Chunk {
			at++
		}
		if at < len(marks) && marks[at].Chunk == f.Chunk && !slices.Contains(marks[at].Barriers, f.Node) {
			marks[at].Barriers = append(marks[at].Barriers, f.Node)
		}
		return at < len(marks)
	})
}

// addLate adds the tokens that the targets of sinks refused. What comes to the sinks for refused tokens is counted already.
func (r *Reader) addLate(ctx context.Context, run, source string, marks []PassageMark, forRefused map[string]bool) error {
	return each(ctx, r.from, []any{run}, func(e effectHead) bool {
		if e.Refused == 0 || e.Source != source || forRefused[e.Sink] {
			return true
		}
		at, found := slices.BinarySearchFunc(marks, e.Chunk, func(m PassageMark, chunk int64) int { return cmp.Compare(m.Chunk, chunk) })
		if found {
			marks[at].Refused += e.Refused
		}
		return true
	})
}

// add counts the tokens of one way.
func (m *PassageMark) add(w ChunkWayRecord, way WayRecord, root bool) {
	if root {
		m.Rows += w.Rows
	}
	if way.Outcome == string(pipeline.Failure) {
		m.Refused += w.Rows
	}
	if way.Path == string(pipeline.Buffered) && !slices.Contains(m.Barriers, way.LastNode) {
		m.Barriers = append(m.Barriers, way.LastNode)
	}
}

// waysByID returns all ways of a run.
func (r *Reader) waysByID(ctx context.Context, run string) (map[string]WayRecord, error) {
	ways := map[string]WayRecord{}
	err := each(ctx, r.from, []any{run}, func(w WayRecord) bool {
		ways[w.Way] = w
		return true
	})
	return ways, err
}

// sortBarriers puts the barriers of every mark into document order.
func (r *Reader) sortBarriers(ctx context.Context, run string, marks []PassageMark) error {
	seqs := map[string]int64{}
	err := each(ctx, r.from, []any{run}, func(n Node) bool {
		seqs[n.Node] = n.Seq
		return true
	})
	for i := range marks {
		slices.SortFunc(marks[i].Barriers, func(a, b string) int { return cmp.Compare(seqs[a], seqs[b]) })
	}
	return err
}

// passageHead is the key of a PassageRecord.
type passageHead struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
}

// Table returns passages.
func (passageHead) Table() string { return "passages" }

// SinkChunkCount is how many of the chunks of which a sink gets rows are how far.
type SinkChunkCount struct {
	Sink      string `json:"sink"`
	Completed int64  `json:"completed"` // the target confirmed them
	Missing   int64  `json:"missing"`   // nothing was written
	Unknown   int64  `json:"unknown"`   // an attempt was begun, and nobody knows yet how it ended
}

// SinkChunks returns how far every sink of a run is, in document order.
func (r *Reader) SinkChunks(ctx context.Context, run string) ([]SinkChunkCount, error) {
	nodes, err := r.Nodes(ctx, run)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Seq, b.Seq) })
	var counts []SinkChunkCount
	at := map[string]int{}
	for _, n := range nodes {
		if n.Kind == SinkNode {
			at[n.Node] = len(counts)
			counts = append(counts, SinkChunkCount{Sink: n.Node})
		}
	}
	err = each(ctx, r.from, []any{run}, func(e effectHead) bool {
		if e.Kind == WriteEffect {
			counts[at[e.Sink]].add(e.State)
		}
		return true
	})
	return counts, err
}

func (c *SinkChunkCount) add(state EffectState) {
	switch state {
	case Finalized:
		c.Completed++
	case Prepared:
		c.Missing++
	default:
		c.Unknown++
	}
}

// effectHead is how far an Effect is.
type effectHead struct {
	EffectKey
	Kind    EffectKind  `db:"kind"`
	State   EffectState `db:"state"`
	Refused int64       `db:"refused"`
}

// Table returns effects.
func (effectHead) Table() string { return "effects" }

// describe names the effect within its run.
func (e effectHead) describe() string {
	if e.Kind == PublishEffect {
		return "published the output of " + e.Sink
	}
	return fmt.Sprintf("%s chunk %d in sink %s", e.Source, e.Chunk, e.Sink)
}
