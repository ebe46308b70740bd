package landscape

import (
	"errors"
	"fmt"
	"strings"

	"waymark/pipeline"
)

// tallied is which way each row of a chunk took, in canonical form: the ways in the order in which their first rows
// stand in the chunk, so that the caller's numbering does not matter.
type tallied struct {
	ways  []Way
	ids   []string
	rows  []int64  // per way
	codes []uint16 // per row: index into ways
}

// tally checks that a passage accounts for every row of its chunk.
func tally(chunk Chunk, p Passage) (*tallied, error) {
	if int64(len(p.Codes)) != chunk.Rows {
		return nil, fmt.Errorf("the chunk has %d rows, the passage %d", chunk.Rows, len(p.Codes))
	}
	t := &tallied{codes: make([]uint16, len(p.Codes))}
	code := make([]int, len(p.Ways)) // the canonical one, plus 1
	for i, c := range p.Codes {
		if int(c) >= len(p.Ways) {
			return nil, fmt.Errorf("row %d: there is no way %d", chunk.FirstRow+int64(i), c)
		}
		if code[c] == 0 {
			t.ways, t.rows = append(t.ways, p.Ways[c]), append(t.rows, 0)
			code[c] = len(t.ways)
		}
		t.codes[i] = uint16(code[c] - 1)
		t.rows[code[c]-1]++
	}
	if len(t.ways) != len(p.Ways) {
		return nil, fmt.Errorf("%d ways, but rows on %d of them", len(p.Ways), len(t.ways))
	}
	return t, errors.Join(t.checkWays(p.Source), t.checkErrors(p.Errors), t.checkWrites(p.Writes))
}

// checkWays refuses ways that cannot be, and the same way twice.
func (t *tallied) checkWays(source string) error {
	seen := map[string]bool{}
	for _, w := range t.ways {
		if err := w.check(source); err != nil {
			return err
		}
		id := w.ID()
		if seen[id] {
			return fmt.Errorf("way %s is there twice", w.Signature())
		}
		seen[id] = true
		t.ids = append(t.ids, id)
	}
	return nil
}

// check refuses a way whose end and path do not fit.
func (w Way) check(source string) error {
	if len(w.Steps) == 0 || w.Steps[0].Node != source {
		return fmt.Errorf("way %s does not begin with source %s", w.Signature(), source)
	}
	legal := false
	switch w.Path {
	case pipeline.DefaultFlow, pipeline.GateRouted:
		legal = w.ToSink()
	case pipeline.GateDiscarded, pipeline.FilterDropped:
		legal = w.Sink == ""
	case pipeline.OnErrorRouted, pipeline.QuarantinedAtSource, pipeline.Unrouted:
		legal = w.ToSink() || w.Sink == pipeline.QuarantineSink
	case pipeline.SinkDiscarded:
		legal = w.Sink == pipeline.DiscardSink
	}
	if !legal {
		return fmt.Errorf("way %s: path %q cannot end at sink %q", w.Signature(), w.Path, w.Sink)
	}
	if last := w.Steps[len(w.Steps)-1]; w.failed() && last.Label != "" {
		return fmt.Errorf("way %s: a row that %s refused has no label there", w.Signature(), last.Node)
	}
	return nil
}

// checkErrors refuses errors that are not exactly those of the rows on failing ways.
func (t *tallied) checkErrors(refusals []Refusal) error {
	next := 0
	for i, code := range t.codes {
		if !t.ways[code].failed() {
			continue
		}
		if next == len(refusals) || refusals[next].Index != i {
			return fmt.Errorf("row %d of the chunk was refused, its error is missing or out of order", i)
		}
		next++
	}
	if next != len(refusals) {
		return fmt.Errorf("%d errors, but %d rows were refused", len(refusals), next)
	}
	return nil
}

// checkWrites refuses writes that are not exactly one per sink that gets rows.
func (t *tallied) checkWrites(writes []Write) error {
	sinks := t.sinkRows()
	for i, w := range writes {
		if sinks[w.Sink] == 0 {
			return fmt.Errorf("a write to sink %s, which gets no row", w.Sink)
		}
		for _, other := range writes[:i] {
			if other.Sink == w.Sink {
				return fmt.Errorf("two writes to sink %s", w.Sink)
			}
		}
	}
	if len(writes) != len(sinks) {
		return fmt.Errorf("%d sinks get rows, %d writes", len(sinks), len(writes))
	}
	return nil
}

// sinkRows returns how many rows each sink gets that gets any.
func (t *tallied) sinkRows() map[string]int64 {
	rows := map[string]int64{}
	for i, w := range t.ways {
		if w.ToSink() {
			rows[w.Sink] += t.rows[i]
		}
	}
	return rows
}

func (t *tallied) codeBytes() int64 {
	if len(t.ways) > 256 {
		return 2
	}
	return 1
}

func (t *tallied) packCodes() []byte {
	wide := t.codeBytes() == 2
	packed := make([]byte, 0, len(t.codes)*int(t.codeBytes()))
	for _, c := range t.codes {
		if wide {
			packed = append(packed, byte(c>>8))
		}
		packed = append(packed, byte(c))
	}
	return packed
}

// appendWays appends the ways, then their steps, then the chunk's use of them.
func (t *tallied) appendWays(insert []Record, p Passage) []Record {
	for i, w := range t.ways {
		insert = append(insert, WayRecord{
			Run: p.Run, Way: t.ids[i], Signature: w.Signature(), Outcome: string(w.Path.Outcome()), Path: string(w.Path),
			LastNode: w.Last(), Sink: w.Sink,
		})
	}
	for i, w := range t.ways {
		steps := w.Steps
		if w.ToSink() {
			steps = append(steps[:len(steps):len(steps)], Step{Node: w.Sink})
		}
		for seq, s := range steps {
			insert = append(insert, WayStepRecord{Run: p.Run, Way: t.ids[i], Seq: int64(seq), Node: s.Node, Label: s.Label})
		}
	}
	for i, id := range t.ids {
		insert = append(insert, ChunkWayRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk, Code: int64(i), Way: id, Rows: t.rows[i]})
	}
	return insert
}

func (t *tallied) appendErrors(insert []Record, chunk Chunk, refusals []Refusal, now Micros) []Record {
	for _, r := range refusals {
		insert = append(insert, newRowError(chunk, t.ways[t.codes[r.Index]], r, now))
	}
	return insert
}

func (t *tallied) appendWrites(insert []Record, p Passage, now Micros) []Record {
	rows := t.sinkRows()
	for _, w := range p.Writes {
		insert = append(insert, Effect{
			EffectKey: EffectKey{Run: p.Run, Sink: w.Sink, Source: p.Source, Chunk: p.Chunk}, Kind: WriteEffect,
			SHA256: strings.ToLower(w.SHA256), Rows: rows[w.Sink], Bytes: w.Bytes, State: Prepared, Changed: now,
		})
	}
	return insert
}
