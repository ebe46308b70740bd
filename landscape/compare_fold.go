package landscape

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// FoldComparison holds the folds of one barrier against what is recorded about them. It stores nothing. It is not safe for
// concurrent use.
type FoldComparison struct {
	reader    *Reader
	run, node string
	all       lanes
	hashes    map[string]map[int64]recordHash // by table and batch: records of which no fold that was compared told
}

// CompareFolds returns a comparison for the folds of a barrier. It reads the barrier's batches and merges once, and keeps 24
// bytes of each until its fold is compared. Folds that are recorded later may be compared as well.
func (r *Reader) CompareFolds(ctx context.Context, run, node string) (*FoldComparison, error) {
	all, err := r.lanesOf(ctx, run)
	if err != nil {
		return nil, err
	}
	c := &FoldComparison{reader: r, run: run, node: node, all: all, hashes: map[string]map[int64]recordHash{}}
	for _, kind := range []Record{BatchRecord{}, MergeRecord{}} {
		if err := c.load(ctx, kind); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// load reads the hashes of a table whose key is run, node and batch.
func (c *FoldComparison) load(ctx context.Context, kind Record) error {
	t, hashes := TableOf(kind), map[int64]recordHash{}
	c.hashes[t.Name] = hashes
	var hasher recordHasher
	return c.reader.from.Read(ctx, kind, Query{Prefix: []any{c.run, c.node}}, func(r Record) bool {
		batch, hash := hasher.hash(t, r)
		hashes[batch] = hash
		return true
	})
}

// Compare holds everything on record about a fold of the barrier against what RecordFold would make of f: its counts,
// members, batches, merges, the rows that came out, and the barrier's state if one is recorded.
//
// The error says that the counts of f cannot follow those on record of the fold before it, which comparing that fold tells
// in full.
func (c *FoldComparison) Compare(ctx context.Context, f Fold) ([]Difference, error) {
	if f.Run != c.run || f.Node != c.node {
		return nil, fmt.Errorf("fold %d of %s in run %s: compare it with the folds of %s in run %s", f.Fold, f.Node, f.Run, c.node, c.run)
	}
	var whole []Record
	if f.Kind == ChunkFold {
		whole = append(whole, MembersRecord{Run: f.Run, Node: f.Node, Source: f.Source, Chunk: f.Chunk})
	}
	before, err := c.reader.foldBefore(ctx, f)
	if errors.Is(err, ErrNotFound) {
		return []Difference{{Table: "folds", Key: fmt.Sprintf("%s/%s/%d", f.Run, f.Node, f.Fold-1), Stored: absent, Wanted: "one"}}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &rehearsal{source: c.reader.from, alike: c.alike()}
	found, err := r.compare(ctx, whole, func(l *Log) error { return l.insertFold(ctx, c.all, before, f) })
	if err != nil {
		return nil, err
	}
	return c.appendState(ctx, found, f)
}

// appendState compares the state after a fold. Repeats need not agree on whether one is kept: a record without one is as good.
func (c *FoldComparison) appendState(ctx context.Context, found []Difference, f Fold) ([]Difference, error) {
	stored, err := get[FoldRecord](ctx, c.reader.from, f.Run, f.Node, f.Fold)
	switch {
	case errors.Is(err, ErrNotFound): // which was found already
		return found, nil
	case err != nil:
		return nil, err
	case stored.State == "" || stored.State == f.State:
		return found, nil
	}
	key := fmt.Sprintf("%s/%s/%d", f.Run, f.Node, f.Fold)
	return append(found, Difference{Table: stored.Table(), Key: key, Column: "state", Stored: shown(stored.State), Wanted: shown(f.State)}), nil
}

// alike returns a function that strikes a batch or merge off the list, and reports whether it is recorded as it should be.
func (c *FoldComparison) alike() func(Record) bool {
	var hasher recordHasher
	return func(r Record) bool {
		hashes, listed := c.hashes[r.Table()]
		if !listed {
			return false
		}
		batch, hash := hasher.hash(TableOf(r), r)
		stored, found := hashes[batch]
		delete(hashes, batch)
		return found && stored == hash
	}
}

// Others returns the batches and merges on record of which none of the folds that were compared told, by table and number; nil
// if there is none. It makes sense when all folds were compared.
func (c *FoldComparison) Others() []Difference {
	var found []Difference
	for _, table := range slices.Sorted(maps.Keys(c.hashes)) {
		for _, batch := range slices.Sorted(maps.Keys(c.hashes[table])) {
			key := fmt.Sprintf("%s/%s/%d", c.run, c.node, batch)
			found = append(found, Difference{Table: table, Key: key, Stored: "one", Wanted: absent})
		}
	}
	return found
}

// recordHash stands for what a record says besides its key.
type recordHash [16]byte

// recordHasher makes hashes through buffers of its own.
type recordHasher struct {
	values []any
	text   []byte
}

// hash returns the number of a record whose key is run, node and number, and its hash.
func (s *recordHasher) hash(t *Table, r Record) (number int64, hash recordHash) {
	s.values, s.text = t.AppendValues(s.values[:0], r), s.text[:0]
	for _, value := range s.values[t.Keys:] {
		s.text = appendStored(s.text, value)
	}
	whole := sha256.Sum256(s.text)
	return s.values[t.Keys-1].(int64), recordHash(whole[:len(hash)])
}

// appendStored appends a stored value so that no two lists of values give the same bytes.
func appendStored(dst []byte, value any) []byte {
	switch value := value.(type) {
	case nil:
		return append(dst, 0)
	case int64:
		return binary.BigEndian.AppendUint64(append(dst, 1), uint64(value))
	case string:
		return append(binary.AppendUvarint(append(dst, 2), uint64(len(value))), value...)
	case []byte:
		return append(binary.AppendUvarint(append(dst, 3), uint64(len(value))), value...)
	default:
		panic(fmt.Sprintf("a %T is not stored", value))
	}
}
