package landscape

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// noHash stands where a row has no hash.
var noHash [HashBytes]byte

// hashAt returns hash number i.
func hashAt(hashes []byte, i int) []byte { return hashes[HashBytes*i : HashBytes*(i+1)] }

// appendHashes appends the records of one node's hashes, one per slice of the chunk in which a row has one.
func appendHashes(insert []Record, chunk Chunk, h NodeHashes) ([]Record, error) {
	if int64(len(h.Hashes)) != HashBytes*chunk.Rows {
		return nil, fmt.Errorf("%d bytes for %d rows", len(h.Hashes), chunk.Rows)
	}
	slice := int64(0)
	for column := range slices.Chunk(h.Hashes, HashBytes*SliceRows) {
		record := sliceHashes(column)
		if record.Rows > 0 {
			record.Run, record.Source, record.Chunk = chunk.Run, chunk.Source, chunk.Chunk
			record.Lane, record.Node, record.Slice = h.Lane, h.Node, slice
			insert = append(insert, record)
		}
		slice++
	}
	return insert, nil
}

// sliceHashes packs the hashes of one slice, dense or sparse, whichever is smaller.
func sliceHashes(column []byte) HashesRecord {
	var r HashesRecord
	for hash := range slices.Chunk(column, HashBytes) {
		if [HashBytes]byte(hash) != noHash {
			r.Rows++
		}
	}
	slots := 2 * len(column) / HashBytes
	if len(column) <= slots+HashBytes*int(r.Rows) {
		r.Hashes = column
		return r
	}
	r.Slots, r.Hashes = make([]byte, 0, slots), make([]byte, 0, HashBytes*r.Rows)
	for hash := range slices.Chunk(column, HashBytes) {
		slot := 0
		if [HashBytes]byte(hash) != noHash {
			r.Hashes = append(r.Hashes, hash...)
			slot = len(r.Hashes) / HashBytes
		}
		r.Slots = binary.BigEndian.AppendUint16(r.Slots, uint16(slot))
	}
	return r
}
