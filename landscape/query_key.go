package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// KeyCandidates returns the rows of a source, ascending, whose business key may have one of these values in each field: the
// first 4 bytes of the SHA-256 of the canonical bytes of each. The caller compares the values. unkeyed are the chunks, ascending, whose rows have no
// such hashes, because they were read and did not go through the steps: any of them may have the values. The error wraps
// ErrNotFound if a field is not part of the source's key.
func (r *Reader) KeyCandidates(ctx context.Context, run, source string, hashes map[string][][4]byte) (candidates []int64, unkeyed []Chunk, err error) {
	for chunk, err := range r.Chunks(ctx, run, source) {
		if err != nil {
			return nil, nil, err
		}
		columns, err := Select[KeyHashes](ctx, r.from, run, source, chunk.Chunk)
		if err != nil {
			return nil, nil, err
		}
		if columns == nil {
			unkeyed = append(unkeyed, chunk)
			continue
		}
		matches, err := matchKeys(columns, hashes)
		if err != nil {
			return nil, nil, fmt.Errorf("source %s: %w", source, err)
		}
		for _, i := range matches {
			candidates = append(candidates, chunk.FirstRow+int64(i))
		}
	}
	return candidates, unkeyed, nil
}

// matchKeys returns the indexes of the rows that have one of the hashes in each field.
func matchKeys(columns []KeyHashes, hashes map[string][][4]byte) ([]int, error) {
	type column struct {
		hashes []byte
		wanted [][4]byte
	}
	var of []column
	for field, some := range hashes {
		at := slices.IndexFunc(columns, func(c KeyHashes) bool { return c.Field == field })
		if at < 0 {
			return nil, fmt.Errorf("key field %s: %w", field, ErrNotFound)
		}
		of = append(of, column{columns[at].Hashes, some})
	}
	var matches []int
	for i := range len(columns[0].Hashes) / 4 {
		match := true
		for j := 0; match && j < len(of); j++ {
			match = slices.Contains(of[j].wanted, [4]byte(of[j].hashes[4*i:4*i+4]))
		}
		if match {
			matches = append(matches, i)
		}
	}
	return matches, nil
}

// sortedKeys returns the fields of a key by name.
func sortedKeys(columns []KeyColumn) []KeyColumn {
	return slices.SortedFunc(slices.Values(columns), func(a, b KeyColumn) int { return cmp.Compare(a.Field, b.Field) })
}
