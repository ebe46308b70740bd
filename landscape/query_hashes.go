package landscape

import "context"

// Hashes returns the output hashes of every node that has hashes of its own and that a row of the chunk left, in the order
// of the nodes' names, in the form in which RecordPassage takes them; none if the chunk did not go through the steps yet.
func (l *Log) Hashes(ctx context.Context, run, source string, chunk int64) ([]NodeHashes, error) {
	about, err := l.Chunk(ctx, run, source, chunk)
	if err != nil {
		return nil, err
	}
	slices, err := Select[HashesRecord](ctx, l.driver, run, source, chunk)
	if err != nil {
		return nil, err
	}
	var columns []NodeHashes
	for _, slice := range slices {
		if len(columns) == 0 || columns[len(columns)-1].Node != slice.Node {
			columns = append(columns, NodeHashes{Node: slice.Node, Hashes: make([]byte, HashBytes*about.Rows)})
		}
		column := columns[len(columns)-1].Hashes
		for i := slice.Slice * SliceRows; i < min(about.Rows, (slice.Slice+1)*SliceRows); i++ {
			hash := slice.at(int(i - slice.Slice*SliceRows))
			copy(hashAt(column, int(i)), hash[:])
		}
	}
	return columns, nil
}
