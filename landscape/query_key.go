package landscape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// KeyCandidates returns the rows of a source, ascending, whose business key may have these values: for each field the
// first 4 bytes of the SHA-256 of the value's canonical bytes. The caller compares the values. unkeyed are the chunks, ascending, whose rows have no
// such hashes, because they were read and did not go through the steps: any of them may have the values. The error wraps
// ErrNotFound if a field is not part of the source's key.
func (r *Reader) KeyCandidates(ctx context.Context, run, source string, hashes map[string][4]byte) (candidates []int64, unkeyed []Chunk, err error) {
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

// matchKeys returns the indexes of the rows that have all the hashes.
func matchKeys(columns []KeyHashes, hashes map[string][4]byte) ([]int, error) {
	var wanted [][]byte // pairs of column and hash
	for field, hash := range hashes {
		at := slices.IndexFunc(columns, func(c KeyHashes) bool { return c.Field == field })
		if at < 0 {
			return nil, fmt.Errorf("key field %s: %w", field, ErrNotFound)
		}
		wanted = append(wanted, columns[at].Hashes, hash[:])
	}
	var matches []int
	for i := range len(columns[0].Hashes) / 4 {
		match := true
		for j := 0; match && j < len(wanted); j += 2 {
			match = string(wanted[j][4*i:4*i+4]) == string(wanted[j+1])
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
