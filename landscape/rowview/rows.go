package rowview

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"waymark/landscape"
	"waymark/pipeline"
)

// orNil returns a text; nil for none.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// when returns a value on a condition, else nil.
func when(condition bool, value any) any {
	if condition {
		return value
	}
	return nil
}

func (c *chunk) tokenRow(t *token, yield yield) bool {
	var way, boundFor, barrier, batch any
	if t.way != nil {
		way, boundFor, barrier = t.way.Way, t.way.Sink, orNil(t.way.barrier())
	}
	if t.batch != nil {
		batch = *t.batch
	}
	c.out = append(c.out[:0], c.id, c.source, t.number, t.Lane.Lane, t.id, c.number, int64(t.index), way, boundFor, t.completed, t.Name,
		c.parentID(t), barrier, batch, t.batchID(), t.refusedBy)
	return yield(c.out)
}

// parentID returns the id of the token that was forked; nil for one that is not of a branch.
func (c *chunk) parentID(t *token) any {
	if t.Branch == "" {
		return nil
	}
	return c.about.Source + ":" + strconv.FormatInt(t.row, 10) + t.parent
}

func (t *token) batchID() any {
	if t.batch == nil {
		return nil
	}
	return t.way.barrier() + ":" + strconv.FormatInt(*t.batch, 10)
}

func (c *chunk) outcomeRow(t *token, yield yield) bool {
	if t.way == nil {
		c.out = append(c.out[:0], c.id, c.source, t.number, t.Lane.Lane, t.id, c.number, t.completed,
			nil, nil, nil, nil, nil, nil, nil, nil, nil)
		return yield(c.out)
	}
	last := t.way.LastNode
	if t.refusedBy != nil {
		last = t.refusedBy.(string)
	}
	hash, path := c.errors[place{t.Lane.Lane, last}][t.row], pipeline.Path(t.way.Path)
	c.out = append(c.out[:0], c.id, c.source, t.number, t.Lane.Lane, t.id, c.number, t.completed,
		t.outcome(), t.ended(), t.sentTo(), last, orNil(hash),
		when(path == pipeline.ForkParent, t.id), c.joinID(t), when(t.path == string(pipeline.ExpandParent), t.id),
		when(t.path == "" || t.path == string(pipeline.BatchConsumed), t.batchID()))
	return yield(c.out)
}

// outcome returns the outcome of a token; nil if it has not ended.
func (t *token) outcome() any {
	switch {
	case t.completed == 0:
		return nil
	case t.refusedBy != nil:
		return string(pipeline.Failure)
	case t.way.barrier() == "":
		return t.way.Outcome
	case t.joined():
		return string(pipeline.Success)
	default:
		return string(pipeline.Transient)
	}
}

// ended returns the path of a token: what its outcome came of.
func (t *token) ended() any {
	switch {
	case t.refusedBy != nil:
		return string(pipeline.OnErrorRouted)
	case t.path != "":
		return t.path
	default:
		return when(t.completed != 0 || t.way.barrier() != "", t.way.Path)
	}
}

// sentTo returns the sink that has a token.
func (t *token) sentTo() any {
	if t.refusedBy != nil {
		return pipeline.QuarantineSink
	}
	if t.way == nil {
		return nil
	}
	return orNil(t.way.Sink)
}

// joinID returns the id of the token in which a coalesce merged this one.
func (c *chunk) joinID(t *token) any {
	if t.joined() {
		row := c.fired[t.way.barrier()].rows[*t.batch]
		if row == nil {
			return nil
		}
		return t.way.barrier() + ":" + strconv.FormatInt(*row, 10)
	}
	if pipeline.Path(t.way.Path) != pipeline.Coalesced {
		return nil
	}
	name, ok := c.merged[branch{c.about.Source, t.Lane.Lane, t.way.LastNode}]
	return when(ok, c.about.Source+":"+strconv.FormatInt(t.row, 10)+"/"+name)
}

func (c *chunk) recordRow(t *token, yield yield) bool {
	slice, at := t.index/landscape.SliceRows, t.index%landscape.SliceRows
	if t.Name != "" || c.nodes[c.about.Source].Kind != landscape.SourceNode || slice >= len(c.records) || c.records[slice] == nil {
		return true
	}
	r, line := c.records[slice], any(c.about.FirstLine+int64(t.index))
	if r.Lines != nil {
		line = unpacked(r.Lines, at, c.about.FirstLine)
	}
	var outcome, path any
	if t.completed != 0 {
		outcome, path = t.outcome(), t.ended()
	}
	c.out = append(c.out[:0], c.id, c.source, t.number, t.id, c.number, c.file, line, unpacked(r.Offsets, at, c.about.FirstOffset),
		unpacked(r.Lengths, at, 0), c.rawHash(t), c.pack, int64(t.index), t.completed, outcome, path, t.sentTo())
	return yield(c.out)
}

// unpacked returns number i of a column, counted from first; nil if the column is too short.
func unpacked(column []byte, i int, first int64) any {
	if 4*i+4 > len(column) {
		return nil
	}
	return first + int64(binary.BigEndian.Uint32(column[4*i:]))
}

// rawHash returns the hash of the record as read.
func (c *chunk) rawHash(t *token) any {
	slice := t.index / landscape.SliceRows
	if slice >= len(c.records) || c.records[slice] == nil {
		return nil
	}
	return hashAt(c.records[slice].RawHashes, t.index%landscape.SliceRows)
}

// hashAt returns hash number i of a column as text; nil if the column is too short.
func hashAt(column []byte, i int) any {
	if i < 0 || landscape.HashBytes*(i+1) > len(column) {
		return nil
	}
	return hex.EncodeToString(column[landscape.HashBytes*i : landscape.HashBytes*(i+1)])
}

func (c *chunk) lineRow(t *token, e landscape.Effect, line int64, yield yield) bool {
	c.out = append(c.out[:0], c.id, e.Sink, line, t.id, c.source, t.number, c.number, *e.Ordinal, t.Lane.Lane)
	return yield(c.out)
}
