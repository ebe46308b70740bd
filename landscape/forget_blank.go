package landscape

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"waymark/plugin"
)

// Blanked says what becomes of each column that may tell the values of a row, or a hash that can be guessed, when the row is forgotten.
// What is not here holds none, or says in Kept why it stays. A test asks this of every column.
var Blanked = map[string]string{
	"chunks.cursor":         "without the digest of the file before the chunk's end, by which the last bytes there could be guessed",
	"chunk_rows.raw_hashes": "the row's slot is zero",
	"hashes.hashes":         "the row's slots are zero",
	"key_hashes.hashes":     "the row's slots are zero",
	"errors.message":        "empty",
	"errors.raw":            "empty",
	"errors.error_hash":     "zeros",
	"salts.keys":            "replaced by keys from which the row's salt does not follow",
}

// Blank removes what the rows of a chunk that an order forgets left in its columns. It may be repeated. Rows of other orders stay as they are: one that is still to
// delete rows in targets needs them.
func (l *Log) Blank(ctx context.Context, order int64, run string, at ChunkKey) error {
	forgotten, err := l.Forgotten(ctx, run, at)
	forgotten = slices.DeleteFunc(forgotten, func(f Forgotten) bool { return f.Order != order })
	if err != nil || len(forgotten) == 0 {
		return err
	}
	b := &blanking{Log: l, forgotten: forgotten}
	for _, step := range []func(context.Context, string, ChunkKey) error{b.cursors, b.rows, b.hashes, b.keys, b.errors} {
		if err := step(ctx, run, at); err != nil {
			return err
		}
	}
	if b.moves == nil {
		return nil
	}
	return l.driver.Commit(ctx, Tx{Move: b.moves})
}

// blanking collects the changes of a chunk's columns.
type blanking struct {
	*Log
	forgotten []Forgotten
	moves     []Move
}

// blank returns a column without the values of forgotten rows. at returns where in the column that of a row is; -1 if it has none.
func (b *blanking) blank(column []byte, size int, at func(slot int64) int) []byte {
	blanked := slices.Clone(column)
	for _, f := range b.forgotten {
		if i := at(f.Slot); i >= 0 && (i+1)*size <= len(column) {
			clear(blanked[i*size : (i+1)*size])
		}
	}
	return blanked
}

// add adds a change, if it is one.
func (b *blanking) add(from, to Record, was, is []byte) {
	if !bytes.Equal(was, is) {
		b.moves = append(b.moves, Move{From: from, To: to})
	}
}

// inSlice returns where in a slice of a column a row is; -1 if it is in another.
func inSlice(slice int64) func(slot int64) int {
	return func(slot int64) int {
		if slot/SliceRows != slice {
			return -1
		}
		return int(slot % SliceRows)
	}
}

// cursors removes the digests by which a part of the records could be guessed.
func (b *blanking) cursors(ctx context.Context, run string, at ChunkKey) error {
	tails, err := b.tails(ctx, run, at)
	for _, chunk := range tails {
		now := cursorToBlank{chunk.Run, chunk.Source, chunk.Chunk, chunk.Cursor}
		next := now
		if next.Cursor, err = withoutDigest(chunk); err != nil {
			return err
		}
		b.moves = append(b.moves, Move{From: now, To: next})
	}
	return err
}

// blockBytes is the size of a block of SHA-256: digests on both sides of fewer bytes let them be guessed.
const blockBytes = 64

// tails returns a chunk, and those after it that end within a block of it, whose cursors have a digest.
func (r *Reader) tails(ctx context.Context, run string, at ChunkKey) (tails []Chunk, err error) {
	end, found := plugin.Cursor{}, false
	for chunk, err := range r.Chunks(ctx, run, at.Source) {
		if err != nil {
			return nil, err
		}
		if chunk.Chunk < at.Chunk {
			continue
		}
		cursor, err := chunk.End()
		if err != nil {
			return nil, incomplete("the cursor of %s chunk %d of run %s: %v", chunk.Source, chunk.Chunk, run, err)
		}
		if !found {
			end, found = cursor, true
		}
		if cursor.File != end.File || cursor.Offset-end.Offset >= blockBytes {
			break
		}
		if cursor.Digest != nil {
			tails = append(tails, chunk)
		}
	}
	return tails, nil
}

// withoutDigest returns the cursor of a chunk without the digest.
func withoutDigest(chunk Chunk) (string, error) {
	cursor, err := chunk.End()
	if err != nil {
		return "", err
	}
	cursor.Digest = nil
	text, err := json.Marshal(cursor)
	return string(text), err
}

func (b *blanking) rows(ctx context.Context, run string, at ChunkKey) error {
	return each(ctx, b, []any{run, at.Source, at.Chunk}, func(now rowsToBlank) bool {
		next := now
		next.RawHashes = b.blank(now.RawHashes, HashBytes, inSlice(now.Slice))
		b.add(now, next, now.RawHashes, next.RawHashes)
		return true
	})
}

func (b *blanking) hashes(ctx context.Context, run string, at ChunkKey) error {
	return each(ctx, b, []any{run, at.Source, at.Chunk}, func(stored HashesRecord) bool {
		now := hashesToBlank{stored.Run, stored.Source, stored.Chunk, stored.Lane, stored.Node, stored.Slice, stored.Hashes}
		next := now
		next.Hashes = b.blank(now.Hashes, HashBytes, func(slot int64) int {
			i := inSlice(now.Slice)(slot)
			if i >= 0 && stored.Slots != nil { // packed: 1 is the first hash, 0 none
				i = int(binary.BigEndian.Uint16(stored.Slots[2*i:])) - 1
			}
			return i
		})
		b.add(now, next, now.Hashes, next.Hashes)
		return true
	})
}

func (b *blanking) keys(ctx context.Context, run string, at ChunkKey) error {
	return each(ctx, b, []any{run, at.Source, at.Chunk}, func(now keysToBlank) bool {
		next := now
		next.Hashes = b.blank(now.Hashes, 4, func(slot int64) int { return int(slot) })
		b.add(now, next, now.Hashes, next.Hashes)
		return true
	})
}

func (b *blanking) errors(ctx context.Context, run string, at ChunkKey) error {
	for _, f := range b.forgotten {
		err := each(ctx, b, []any{run, at.Source, f.Row}, func(now errorToBlank) bool {
			next := now
			next.Message, next.Hash, next.Raw = "", NoHash, []byte{}
			if now.Message != "" || now.Hash != NoHash || len(now.Raw) > 0 {
				b.moves = append(b.moves, Move{From: now, To: next})
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cursorToBlank is what changes of a Chunk.
type cursorToBlank struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Cursor string `db:"cursor,move"`
}

// Table returns chunks.
func (cursorToBlank) Table() string { return Chunk{}.Table() }

// rowsToBlank is what changes of a ChunkRowsRecord.
type rowsToBlank struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Slice     int64  `db:"slice,key"`
	RawHashes []byte `db:"raw_hashes,move"`
}

// hashesToBlank is what changes of a HashesRecord.
type hashesToBlank struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Lane   int64  `db:"lane,key"`
	Node   string `db:"node,key"`
	Slice  int64  `db:"slice,key"`
	Hashes []byte `db:"hashes,move"`
}

// keysToBlank is what changes of a KeyHashes.
type keysToBlank struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Field  string `db:"field,key"`
	Hashes []byte `db:"hashes,move"`
}

// errorToBlank is what changes of a RowError.
type errorToBlank struct {
	Run     string `db:"run_id,key"`
	Source  string `db:"source,key"`
	Row     int64  `db:"row,key"`
	Lane    int64  `db:"lane,key"`
	Node    string `db:"node,key"`
	Message string `db:"message,move"`
	Hash    string `db:"error_hash,move"`
	Raw     []byte `db:"raw,move"`
}

// Table returns chunk_rows.
func (rowsToBlank) Table() string { return ChunkRowsRecord{}.Table() }

// Table returns hashes.
func (hashesToBlank) Table() string { return HashesRecord{}.Table() }

// Table returns key_hashes.
func (keysToBlank) Table() string { return KeyHashes{}.Table() }

// Table returns errors.
func (errorToBlank) Table() string { return RowError{}.Table() }
