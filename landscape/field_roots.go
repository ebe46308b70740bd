package landscape

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/landscape/seal"
)

// FieldRootsRecord holds, of one slice of a chunk in which a row reached a sink that declares what can be disclosed of it, the roots of the trees over the
// rows' fields. Who does not have the salts learns nothing of a value from a root: it stays when the row is forgotten.
type FieldRootsRecord struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Slice  int64  `db:"slice,key"`
	Rows   int64  `db:"rows"`  // that have one
	Roots  []byte `db:"roots"` // 32 × rows of the slice; zero for a row without fields
}

// Table returns field_roots.
func (FieldRootsRecord) Table() string { return "field_roots" }

// appendFieldRoots appends the records of the roots over fields, one per slice of the chunk in which a row has some.
func (r *Reader) appendFieldRoots(ctx context.Context, insert []Record, chunk Chunk, fields []seal.Fields) ([]Record, error) {
	if len(fields) == 0 {
		return insert, nil
	}
	salts, err := r.ChunkSalts(ctx, chunk)
	if err != nil {
		return nil, err
	}
	roots := seal.FieldRoots(salts, chunk.FirstRow, int(chunk.Rows), fields)
	for from := 0; from < len(roots); from += HashBytes * SliceRows {
		record := FieldRootsRecord{
			Run: chunk.Run, Source: chunk.Source, Chunk: chunk.Chunk, Slice: int64(from / HashBytes / SliceRows), Roots: roots[from:min(from+HashBytes*SliceRows, len(roots))],
		}
		for root := range slices.Chunk(record.Roots, HashBytes) {
			if [HashBytes]byte(root) != noHash {
				record.Rows++
			}
		}
		if record.Rows > 0 {
			insert = append(insert, record)
		}
	}
	return insert, nil
}

// fieldRoots puts the slices among records into one column for the whole chunk; nil if there is none.
func fieldRoots(chunk Chunk, records []Record) (roots []byte, err error) {
	for _, record := range records {
		r, is := record.(FieldRootsRecord)
		if !is {
			continue
		}
		if r.Slice < 0 || r.Slice*SliceRows >= chunk.Rows || len(r.Roots) != HashBytes*chunk.sliceRows(r.Slice) {
			return nil, incomplete("slice %d of the roots over fields does not hold the rows of %s chunk %d", r.Slice, chunk.Source, chunk.Chunk)
		}
		if roots == nil {
			roots = make([]byte, HashBytes*chunk.Rows)
		}
		copy(roots[HashBytes*SliceRows*r.Slice:], r.Roots)
	}
	return roots, nil
}

// ErrNoFields says that nothing of a row can be disclosed: it did not reach a sink that declares what can be.
var ErrNoFields = errors.New("no field of it can be shown")

// Commitments returns the leaves of the tree over the fields of one row of a chunk, in their order. fields are those of the chunk's rows, computed again. The
// error wraps ErrForgotten if the row's salt was destroyed, ErrNoFields if nothing of the row can be disclosed, and ErrSealBroken if
// the fields do not have the root that is recorded.
func (r *Reader) Commitments(ctx context.Context, chunk Chunk, i int, fields []seal.Fields) ([]seal.Commitment, error) {
	salts, err := r.ChunkSalts(ctx, chunk)
	if err != nil {
		return nil, err
	}
	key, ok := salts.Salt(i)
	if !ok {
		return nil, ErrForgotten
	}
	stored, err := Select[FieldRootsRecord](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk, int64(i/SliceRows))
	if err != nil {
		return nil, err
	}
	at := i % SliceRows
	if len(stored) == 0 || len(stored[0].Roots) < HashBytes*(at+1) || [HashBytes]byte(hashAt(stored[0].Roots, at)) == noHash {
		return nil, ErrNoFields
	}
	leaves := seal.Commitments(key, chunk.FirstRow, i, fields)
	if root := seal.FieldRoot(leaves); root != seal.Hash(hashAt(stored[0].Roots, at)) {
		return nil, fmt.Errorf("the fields of the row, computed again, are not those that were sealed: %w", ErrSealBroken)
	}
	return leaves, nil
}
