package engine

import (
	"crypto/sha256"

	"waymark/plan"
)

// Result is everything that happened to one chunk.
type Result struct {
	Codes   []uint16 // for each record its way: an index into Ways
	Ways    []Way
	Columns []Column    // of the nodes that change rows and got at least one, in node order
	Keys    []KeyColumn // of the fields of the business key, in the document's order
	Refused []Refused   // ascending by record
	Parts   []Part      // one for each node of the plan, empty unless it is a sink

	ways    ways
	columns []*Column // by node
}

// Column holds what came out of one node: the SHA-256 of the canonical form of each row.
type Column struct {
	Node   int
	Hashes []byte // 32 bytes for each record of the chunk; zero for a record that did not come out of the node
}

// KeyColumn holds, for each record, the first 4 bytes of the SHA-256 of the canonical form of one field's value; zero for
// a record that the source refused.
type KeyColumn struct {
	Field  string
	Hashes []byte
}

// Part is what one sink gets of the chunk.
type Part struct {
	Data   []byte // rows in source order, without a header
	Rows   int64
	SHA256 [32]byte // of Data
}

func newResult(p *plan.Plan, rows int) *Result {
	result := &Result{Codes: make([]uint16, rows), Parts: make([]Part, len(p.Nodes)), columns: make([]*Column, len(p.Nodes))}
	for _, field := range p.Nodes[p.Sources()[0]].Key {
		result.Keys = append(result.Keys, KeyColumn{Field: field, Hashes: make([]byte, 4*rows)})
	}
	return result
}

// column returns the slot of record i at the node.
func (r *Result) column(node, i int) []byte {
	column := r.columns[node]
	if column == nil {
		column = &Column{Node: node, Hashes: make([]byte, sha256.Size*len(r.Codes))}
		r.columns[node] = column
	}
	return column.Hashes[sha256.Size*i : sha256.Size*(i+1)]
}

func (r *Result) finish(runner *Runner) {
	r.Ways = r.ways.list(runner.vertices)
	for _, column := range r.columns {
		if column != nil {
			r.Columns = append(r.Columns, *column)
		}
	}
	for i := range r.Parts {
		r.Parts[i].SHA256 = sha256.Sum256(r.Parts[i].Data)
	}
}
