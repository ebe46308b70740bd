package landscape

import (
	"context"
	"encoding/binary"
)

// Hashes returns the output hashes of every node that has hashes of its own and that a row of the chunk left, in the order
// of the nodes' names, in the form in which RecordPassage takes them; none if the chunk did not go through the steps yet.
func (l *Log) Hashes(ctx context.Context, run, source string, chunk int64) ([]NodeHashes, error) {
	records, err := Select[HashesRecord](ctx, l.driver, run, source, chunk)
	if err != nil {
		return nil, err
	}
	columns := make([]NodeHashes, len(records))
	for i, record := range records {
		columns[i] = NodeHashes{Node: record.Node, Positions: record.positions(), Hashes: record.Hashes}
	}
	return columns, nil
}

// positions returns the rows that have a hash, ascending; nil if every row of the chunk has a slot.
func (h HashesRecord) positions() []uint32 {
	if h.Slots == nil {
		return nil
	}
	positions := make([]uint32, 0, h.Rows)
	for i := 0; 4*i < len(h.Slots); i++ {
		if binary.BigEndian.Uint32(h.Slots[4*i:]) != 0 {
			positions = append(positions, uint32(i))
		}
	}
	return positions
}
