package recompute

import (
	"strings"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// Derived is one chunk of the rows that came out of a barrier.
type Derived struct {
	Ordinal int64
	Input   engine.Input
	Batches []uint32
	Parents []barrier.Token   // nil if the rows have no single parent
	orders  map[string]uint16 // of fields, with their index
	last    *row.Shape        // of the record that was added last, and its order
	lastAt  uint16
}

// maxOrders is how many orders of fields a chunk may have: as many as its records have numbers for.
const maxOrders = 1 << 16

// Derive puts the rows that came out of a fold into chunks, each row as a record in canonical form. The barrier gave out
// rows and chunks before. What enclosing coalesces lost goes with the first chunk, which may be one without rows.
func Derive(p *plan.Plan, node int, settled *barrier.Settlement, rows, chunks int64) []Derived {
	var out []Derived
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
	out[0].Input.Losses = settled.Losses
	return out
}

// deriveChunk makes the next chunk and returns how many rows it took.
func deriveChunk(p *plan.Plan, node int, outs []barrier.Out, rows, ordinal int64) (Derived, int) {
	chunk := &plugin.Chunk{FirstRow: rows + 1, FirstLine: rows + 1}
	d := Derived{Ordinal: ordinal, orders: map[string]uint16{}, Input: engine.Input{Origin: node, Chunk: chunk}}
	for i := range outs {
		if i == p.Chunk.Rows || len(d.orders) == maxOrders || i > 0 && len(chunk.Data) >= p.Chunk.Bytes {
			break
		}
		if i > 0 && (outs[i].Parent == nil) != (d.Parents == nil) {
			break // a chunk's rows have a parent each, or none has
		}
		d.add(&outs[i])
	}
	return d, chunk.Len()
}

func (d *Derived) add(out *barrier.Out) {
	chunk := d.Input.Chunk
	start := len(chunk.Data)
	chunk.Data = row.AppendCanonical(chunk.Data, out.Row)
	if out.Rejected != nil {
		chunk.Bad = append(chunk.Bad, plugin.BadRecord{Index: chunk.Len(), Rejection: *out.Rejected})
	}
	chunk.Offsets = append(chunk.Offsets, uint32(start))
	chunk.Lengths = append(chunk.Lengths, uint32(len(chunk.Data)-start))
	chunk.Data = append(chunk.Data, '\n')
	d.addOrder(out.Row.Shape)
	d.Batches = append(d.Batches, out.Batch)
	if out.Parent != nil {
		d.Parents = append(d.Parents, *out.Parent)
	}
	d.Input.Keys = append(d.Input.Keys, out.Keys...)
}

// addOrder notes the order of the fields of the record that was added last.
func (d *Derived) addOrder(shape *row.Shape) {
	if shape != d.last {
		d.last, d.lastAt = shape, d.orderOf(shape)
	}
	in := &d.Input
	if d.lastAt > 0 && in.FieldOrderOf == nil {
		in.FieldOrderOf = make([]uint16, in.Chunk.Len()-1)
	}
	if in.FieldOrderOf != nil {
		in.FieldOrderOf = append(in.FieldOrderOf, d.lastAt)
	}
}

func (d *Derived) orderOf(shape *row.Shape) uint16 {
	key := strings.Join(shape.Fields(), "\x00")
	at, known := d.orders[key]
	if !known {
		at = uint16(len(d.Input.FieldOrders))
		d.orders[key], d.Input.FieldOrders = at, append(d.Input.FieldOrders, shape.Fields())
	}
	return at
}
