package landscape

import (
	"fmt"
	"strings"
)

// appendLanes appends what is recorded of the tokens: all passages, ways, steps, then the chunk's use of them.
func (t *tallied) appendLanes(insert []Record, p Passage) []Record {
	for _, l := range t.lanes {
		width := l.width(!l.lane.IsRoot())
		insert = append(insert, PassageRecord{
			Run: p.Run, Source: p.Source, Chunk: p.Chunk, Lane: l.lane.Lane, Rows: int64(len(l.codes)), CodeBytes: width,
			WayCodes: l.pack(width), Started: p.Started, Finished: p.Finished, Attempt: p.Attempt, Worker: p.Worker,
		})
	}
	for _, l := range t.lanes {
		for i, w := range l.ways {
			insert = append(insert, w.record(p.Run, l.ids[i]))
		}
	}
	for _, l := range t.lanes {
		for i, w := range l.ways {
			insert = w.appendSteps(insert, p.Run, l.ids[i])
		}
	}
	for _, l := range t.lanes {
		for i, id := range l.ids {
			insert = append(insert, ChunkWayRecord{
				Run: p.Run, Source: p.Source, Chunk: p.Chunk, Lane: l.lane.Lane, Code: int64(i), Way: id, Rows: l.rows[i],
			})
		}
	}
	return insert
}

func (w Way) record(run, id string) WayRecord {
	return WayRecord{
		Run: run, Way: id, Signature: w.Signature(), Outcome: string(w.Path.Outcome()), Path: string(w.Path), LastNode: w.Last(),
		Sink: w.Sink, Lane: w.Lane, FirstSeq: int64(w.First),
	}
}

func (w Way) appendSteps(insert []Record, run, id string) []Record {
	steps := w.Steps
	if w.ToSink() {
		steps = append(steps[:len(steps):len(steps)], Step{Node: w.Sink, Lane: w.Lane})
	}
	for seq, s := range steps {
		insert = append(insert, WayStepRecord{Run: run, Way: id, Seq: int64(seq), Node: s.Node, Label: s.Label, Lane: s.Lane})
	}
	return insert
}

// appendHashes appends the hashes of every node.
func (t *tallied) appendHashes(insert []Record, chunk Chunk, columns []NodeHashes) ([]Record, error) {
	for _, h := range columns {
		var err error
		if t.at(h.Lane) == nil {
			return nil, fmt.Errorf("hashes of node %s in lane %d, which has no token", h.Node, h.Lane)
		}
		if insert, err = appendHashes(insert, chunk, h); err != nil {
			return nil, fmt.Errorf("hashes of node %s: %w", h.Node, err)
		}
	}
	return insert, nil
}

// appendErrors appends why tokens were refused.
func (t *tallied) appendErrors(insert []Record, chunk Chunk, rejections []Rejection, now Micros) []Record {
	for _, r := range rejections {
		way := t.at(r.Lane).way(r.Index)
		insert = append(insert, newRowError(chunk, way.Last(), way.Sink, r, now))
	}
	return insert
}

// appendMerges appends the kinds of merges, then the merges, then the chunk's use of the kinds.
func (t *tallied) appendMerges(insert []Record, p Passage) []Record {
	for _, j := range t.merges {
		for _, k := range j.kinds {
			insert = append(insert, k.record(p.Run))
		}
	}
	for _, j := range t.merges {
		width := j.width(true)
		insert = append(insert, MergeCodes{
			Run: p.Run, Source: p.Source, Chunk: p.Chunk, Lane: j.lane.Lane, Rows: int64(len(j.codes)), CodeBytes: width, Codes: j.pack(width),
		})
	}
	for _, j := range t.merges {
		for i, id := range j.ids {
			insert = append(insert, ChunkMerge{
				Run: p.Run, Source: p.Source, Chunk: p.Chunk, Lane: j.lane.Lane, Code: int64(i), Kind: id, Rows: j.rows[i],
			})
		}
	}
	return insert
}

// appendWrites appends what will be written to the sinks.
func (t *tallied) appendWrites(insert []Record, p Passage, now Micros) []Record {
	rows := t.sinkRows()
	for _, w := range p.Writes {
		insert = append(insert, Effect{
			EffectKey: EffectKey{Run: p.Run, Sink: w.Sink, Source: p.Source, Chunk: p.Chunk}, Kind: WriteEffect,
			SHA256: strings.ToLower(w.SHA256), Rows: rows[w.Sink], Bytes: w.Bytes, State: Prepared, Changed: now, Beyond: w.Beyond,
		})
	}
	return insert
}
