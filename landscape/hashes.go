package landscape

import (
	"encoding/binary"
	"fmt"
)

// noHash stands where a row has no hash.
var noHash [HashBytes]byte

// hashAt returns hash number i.
func hashAt(hashes []byte, i int) []byte { return hashes[HashBytes*i : HashBytes*(i+1)] }

// appendHashes appends the records of one node's hashes, one per slice of the chunk in which a row has one. However the
// hashes came, the records are the same.
func appendHashes(insert []Record, chunk Chunk, h NodeHashes) ([]Record, error) {
	byRow, err := h.byRow(int(chunk.Rows))
	if err != nil {
		return nil, err
	}
	for from := 0; from < len(byRow); from += SliceRows {
		record := sliceHashes(byRow[from:min(from+SliceRows, len(byRow))])
		if record.Rows > 0 {
			record.Run, record.Source, record.Chunk, record.Node = chunk.Run, chunk.Source, chunk.Chunk, h.Node
			record.Slice = int64(from / SliceRows)
			insert = append(insert, record)
		}
	}
	return insert, nil
}

// byRow returns the hash of every row of the chunk; nil for a row that has none.
func (h NodeHashes) byRow(rows int) ([][]byte, error) {
	want := rows
	if h.Positions != nil {
		want = len(h.Positions)
	}
	if len(h.Hashes) != HashBytes*want {
		return nil, fmt.Errorf("%d bytes for %d rows", len(h.Hashes), want)
	}
	byRow := make([][]byte, rows)
	if h.Positions == nil {
		for i := range byRow {
			if hash := hashAt(h.Hashes, i); [HashBytes]byte(hash) != noHash {
				byRow[i] = hash
			}
		}
		return byRow, nil
	}
	next := uint32(0)
	for i, position := range h.Positions {
		if position < next || int(position) >= rows {
			return nil, fmt.Errorf("position %d of %d rows is out of order or range", position, rows)
		}
		byRow[position], next = hashAt(h.Hashes, i), position+1
	}
	return byRow, nil
}

// sliceHashes packs the hashes of one slice, dense or sparse, whichever is smaller.
func sliceHashes(byRow [][]byte) HashesRecord {
	var r HashesRecord
	for _, hash := range byRow {
		if hash != nil {
			r.Rows++
		}
	}
	dense := HashBytes*len(byRow) <= 2*len(byRow)+HashBytes*int(r.Rows)
	r.Hashes = make([]byte, 0, HashBytes*len(byRow))
	for _, hash := range byRow {
		if hash == nil && dense {
			hash = noHash[:]
		}
		r.Hashes = append(r.Hashes, hash...)
		switch {
		case dense:
		case hash == nil:
			r.Slots = append(r.Slots, 0, 0)
		default:
			r.Slots = binary.BigEndian.AppendUint16(r.Slots, uint16(len(r.Hashes)/HashBytes))
		}
	}
	return r
}
