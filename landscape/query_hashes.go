package landscape

import (
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
	slices, err := Select[HashesRecord](ctx, r.from, run, at.Source, at.Chunk)
	if err != nil {
		return nil, err
	}
	var columns []NodeHashes
	for _, slice := range slices {
		if n := len(columns); n == 0 || columns[n-1].Node != slice.Node || columns[n-1].Lane != slice.Lane {
			columns = append(columns, NodeHashes{Lane: slice.Lane, Node: slice.Node, Hashes: make([]byte, HashBytes*about.Rows)})
		}
		column := columns[len(columns)-1].Hashes
		if slice.Slots == nil { // every row has one
			copy(column[HashBytes*SliceRows*slice.Slice:], slice.Hashes)
			continue
		}
		for i := slice.Slice * SliceRows; i < min(about.Rows, (slice.Slice+1)*SliceRows); i++ {
			hash := slice.at(int(i - slice.Slice*SliceRows))
			copy(hashAt(column, int(i)), hash[:])
		}
	}
	return columns, nil
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
func (h HashesRecord) at(i int) (hash [HashBytes]byte) {
	slot := uint16(i) + 1
	if h.Slots != nil {
		slot = binary.BigEndian.Uint16(h.Slots[2*i:])
	}
	if slot != 0 {
		copy(hash[:], hashAt(h.Hashes, int(slot)-1))
	}
	return hash
}
