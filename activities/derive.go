package activities

import (
	"encoding/binary"
	"strings"

	"waymark/barrier"
	"waymark/engine"
	"waymark/plan"
	"waymark/plugin"
	"waymark/row"
)

// derived is one chunk of the rows that came out of a barrier.
type derived struct {
	ordinal int64
	inputs  engine.Input
	batches []uint32
	parents []barrier.Token   // nil if the rows have no single parent
	orders  map[string]uint16 // of fields, with their index
	last    *row.Shape        // of the record that was added last, and its order
	lastAt  uint16
}

// maxOrders is how many orders of fields a chunk may have: as many as its records have numbers for.
const maxOrders = 1 << 16

// derive puts the rows that came out of a fold into chunks, each row as a record in canonical form. The barrier gave out
// rows and chunks before. What enclosing coalesces lost goes with the first chunk, which may be one without rows.
func derive(p *plan.Plan, node int, settled *barrier.Settlement, rows, chunks int64) []derived {
	var out []derived
	for outs := settled.Outs; len(outs) > 0; {
		d, taken := deriveChunk(p, node, outs, rows, chunks+int64(len(out)))
		out, outs, rows = append(out, d), outs[taken:], rows+int64(taken)
	}
	if len(settled.Losses) == 0 {
		return out
	}
	if len(out) == 0 {
		empty, _ := deriveChunk(p, node, nil, rows, chunks)
		out = append(out, empty)
	}
	out[0].inputs.Losses = settled.Losses
	return out
}

// deriveChunk makes the next chunk and returns how many rows it took.
func deriveChunk(p *plan.Plan, node int, outs []barrier.Out, rows, ordinal int64) (derived, int) {
	chunk := &plugin.Chunk{FirstRow: rows + 1, FirstLine: rows + 1}
	d := derived{ordinal: ordinal, orders: map[string]uint16{}, inputs: engine.Input{Origin: node, Chunk: chunk}}
	for i := range outs {
		if i == p.Chunk.Rows || len(d.orders) == maxOrders || i > 0 && len(chunk.Data) >= p.Chunk.Bytes {
			break
		}
		if i > 0 && (outs[i].Parent == nil) != (d.parents == nil) {
			break // a chunk's rows have a parent each, or none has
		}
		d.add(&outs[i])
	}
	return d, chunk.Len()
}

func (d *derived) add(out *barrier.Out) {
	chunk := d.inputs.Chunk
	start := len(chunk.Data)
	chunk.Data = row.AppendCanonical(chunk.Data, out.Row)
	if out.Refused != nil {
		chunk.Bad = append(chunk.Bad, plugin.BadRecord{Index: chunk.Len(), Rejection: *out.Refused})
	}
	chunk.Offsets = append(chunk.Offsets, uint32(start))
	chunk.Lengths = append(chunk.Lengths, uint32(len(chunk.Data)-start))
	chunk.Data = append(chunk.Data, '\n')
	d.addOrder(out.Row.Shape)
	d.batches = append(d.batches, out.Batch)
	if out.Parent != nil {
		d.parents = append(d.parents, *out.Parent)
	}
	d.inputs.Keys = append(d.inputs.Keys, out.Keys...)
}

// addOrder notes the order of the fields of the record that was added last.
func (d *derived) addOrder(shape *row.Shape) {
	if shape != d.last {
		d.last, d.lastAt = shape, d.orderOf(shape)
	}
	in := &d.inputs
	if d.lastAt > 0 && in.OrderOf == nil {
		in.OrderOf = make([]uint16, in.Chunk.Len()-1)
	}
	if in.OrderOf != nil {
		in.OrderOf = append(in.OrderOf, d.lastAt)
	}
}

func (d *derived) orderOf(shape *row.Shape) uint16 {
	key := strings.Join(shape.Fields(), "\x00")
	at, known := d.orders[key]
	if !known {
		at = uint16(len(d.inputs.Orders))
		d.orders[key], d.inputs.Orders = at, append(d.inputs.Orders, shape.Fields())
	}
	return at
}

// rowBits is how many bits of a packed token hold the row.
const rowBits = 48

// packToken puts a token into 8 bytes, as it is stored: the lane in the upper 16 bits, the row in the others.
func packToken(token barrier.Token) uint64 {
	return uint64(token.Lane)<<rowBits | uint64(token.Row)
}

func unpackToken(packed uint64) barrier.Token {
	return barrier.Token{Lane: int(packed >> rowBits), Row: int64(packed & (1<<rowBits - 1))}
}

// packTokens puts tokens into 8 big-endian bytes each.
func packTokens(tokens []barrier.Token) []byte {
	var packed []byte
	for _, token := range tokens {
		packed = binary.BigEndian.AppendUint64(packed, packToken(token))
	}
	return packed
}

func unpackTokens(packed []byte) []barrier.Token {
	var tokens []barrier.Token
	for ; len(packed) >= 8; packed = packed[8:] {
		tokens = append(tokens, unpackToken(binary.BigEndian.Uint64(packed)))
	}
	return tokens
}
