package landscape

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
)

// Hashes returns the output hashes of every lane and node that has hashes of its own and that a row of the chunk left, by
// lane and name of the node, in the form in which RecordPassage takes them; none if the chunk did not go through the steps
// yet.
func (r *Reader) Hashes(ctx context.Context, run string, at ChunkKey) ([]NodeHashes, error) {
	about, err := r.Chunk(ctx, run, at)
	if err != nil {
		return nil, err
	}
	found, err := r.HashSlices(ctx, run, at)
	var columns []NodeHashes
	for _, of := range found {
		columns = append(columns, NodeHashes{Lane: of.Lane, Node: of.Node, Hashes: of.joined(int(about.Rows))})
	}
	return columns, err
}

// HashSlices are the output hashes of one node in one lane, as they are stored.
type HashSlices struct {
	Lane int64
	Node string

	slices []HashesRecord // by number; the zero record where no row left the node
}

// HashSlices returns what Hashes does, without a copy of it.
func (r *Reader) HashSlices(ctx context.Context, run string, at ChunkKey) (found []HashSlices, err error) {
	err = each(ctx, r.from, []any{run, at.Source, at.Chunk}, func(slice HashesRecord) bool {
		if n := len(found); n == 0 || found[n-1].Node != slice.Node || found[n-1].Lane != slice.Lane {
			found = append(found, HashSlices{Lane: slice.Lane, Node: slice.Node})
		}
		last := &found[len(found)-1]
		for int64(len(last.slices)) < slice.Slice {
			last.slices = append(last.slices, HashesRecord{})
		}
		last.slices = append(last.slices, slice)
		return true
	})
	return found, err
}

// At returns the hash of a row by its index in the chunk; zero if it did not leave the node in this lane.
func (h *HashSlices) At(index int) [HashBytes]byte {
	slice := h.slice(index / SliceRows)
	if slice.Hashes == nil {
		return noHash
	}
	return slice.at(index % SliceRows)
}

// SameSlice reports whether the slices with a number, of SliceRows rows from one that is a multiple of it, are stored alike. If not, single hashes may be equal none the less.
func (h *HashSlices) SameSlice(other *HashSlices, number int) bool {
	one, two := h.slice(number), other.slice(number)
	return bytes.Equal(one.Hashes, two.Hashes) && bytes.Equal(one.Slots, two.Slots)
}

// slice returns the slice with a number, which nobody changes.
func (h *HashSlices) slice(number int) *HashesRecord {
	if number < len(h.slices) {
		return &h.slices[number]
	}
	return &noSlice
}

// noSlice stands where no row left the node.
var noSlice HashesRecord

// joined returns the hashes of all rows of a chunk.
func (h *HashSlices) joined(rows int) []byte {
	column := make([]byte, HashBytes*rows)
	for n := range h.slices {
		slice, first := &h.slices[n], n*SliceRows
		switch {
		case slice.Hashes == nil:
		case slice.Slots == nil: // every row has one
			copy(column[HashBytes*first:], slice.Hashes)
		default:
			for i := first; i < min(rows, first+SliceRows); i++ {
				hash := slice.at(i - first)
				copy(hashAt(column, i), hash[:])
			}
		}
	}
	return column
}

// HashAt returns the hash of a token's canonical bytes as it left a node, or as it reached a sink. It is false if the
// token did not come to the node, or ended there by being refused, merged or held. The nodes that a token's fork parent
// came through before the fork count as its own.
func (r *Reader) HashAt(ctx context.Context, run string, token Token, node string) ([HashBytes]byte, bool, error) {
	at, err := r.find(ctx, run, token)
	if err != nil {
		return noHash, false, err
	}
	nodes, err := r.Nodes(ctx, run)
	if err != nil {
		return noHash, false, err
	}
	step, mode := at.way.hashed(node, nodes)
	switch mode {
	case OwnHashes:
		return r.ownHash(ctx, at, step)
	case RecordHashes:
		return r.recordHash(ctx, at)
	default:
		return noHash, false, nil
	}
}

// ownHash returns the hash of a token in the column of a step.
func (r *Reader) ownHash(ctx context.Context, at located, step Step) ([HashBytes]byte, bool, error) {
	slice := int64(at.index / SliceRows)
	h, err := get[HashesRecord](ctx, r.from, at.chunk.Run, at.chunk.Source, at.chunk.Chunk, step.Lane, step.Node, slice)
	if err != nil {
		return noHash, false, err
	}
	hash := h.at(at.index % SliceRows)
	return hash, hash != noHash, nil
}

// recordHash returns the hash of a barrier's record.
func (r *Reader) recordHash(ctx context.Context, at located) ([HashBytes]byte, bool, error) {
	slice := int64(at.index / SliceRows)
	rows, err := get[ChunkRowsRecord](ctx, r.from, at.chunk.Run, at.chunk.Source, at.chunk.Chunk, slice)
	if err != nil {
		return noHash, false, err
	}
	return [HashBytes]byte(hashAt(rows.RawHashes, at.index%SliceRows)), true, nil
}

// hashed returns the last step on the way, up to and including node, whose hash says what left node, and where it is; the
// mode is empty if there is none.
func (w Way) hashed(node string, nodes []Node) (Step, HashMode) {
	steps := w.Steps
	if w.failed() || w.taken() {
		if node == w.Last() {
			return Step{}, ""
		}
		if node == w.Sink {
			steps = steps[:len(steps)-1]
		}
	}
	at := slices.IndexFunc(steps, func(s Step) bool { return s.Node == node })
	if at < 0 {
		if node != w.Sink || !w.ToSink() {
			return Step{}, ""
		}
		at = len(steps) - 1
	}
	for ; at >= 0; at-- {
		for _, n := range nodes {
			if n.Node == steps[at].Node && n.Hashes != InputHashes {
				return steps[at], n.Hashes
			}
		}
	}
	return Step{}, ""
}

// at returns the hash of row i of the slice; all zero if it has none.
func (h *HashesRecord) at(i int) (hash [HashBytes]byte) {
	slot := uint16(i) + 1
	if h.Slots != nil {
		slot = binary.BigEndian.Uint16(h.Slots[2*i:])
	}
	if slot != 0 {
		copy(hash[:], hashAt(h.Hashes, int(slot)-1))
	}
	return hash
}
