package landscape

import "context"

// HashSums stand for the hashes of the rows of one chunk: for those of each slice, lane and node they keep a few bytes. The zero value is
// of no hashes. Not for concurrent use.
type HashSums struct {
	sums   map[sumKey]recordHash
	hasher recordHasher
}

type sumKey struct {
	lane  int64
	node  string
	slice int64
}

// Add adds the hashes of what comes out of a node in a lane: 32 bytes for each row from number from of the chunk on, zero for one of which
// nothing does. There are SliceRows of them, or as many as the chunk has after the slice before.
func (s *HashSums) Add(lane int64, node string, from int, hashes []byte) {
	r := sliceHashes(hashes)
	if r.Rows == 0 {
		return
	}
	if s.sums == nil {
		s.sums = map[sumKey]recordHash{}
	}
	r.Lane, r.Node, r.Slice = lane, node, int64(from/SliceRows)
	s.sums[r.sumKey()] = s.of(r)
}

func (r HashesRecord) sumKey() sumKey { return sumKey{r.Lane, r.Node, r.Slice} }

func (s *HashSums) of(r HashesRecord) recordHash {
	_, sum := s.hasher.hash(TableOf(r), r)
	return sum
}

// areStored reports whether these hashes are recorded of the chunk, and no others.
func (s *HashSums) areStored(ctx context.Context, d RecordReader, p Passage) (bool, error) {
	found, same := 0, true
	err := each(ctx, d, []any{p.Run, p.Source, p.Chunk}, func(r HashesRecord) bool {
		want, wanted := s.sums[r.sumKey()]
		same = wanted && want == s.of(r)
		found++
		return same
	})
	return same && found == len(s.sums), err
}
