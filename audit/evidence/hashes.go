package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape"
)

// compute computes all hashes of the tree of the first entries from the entries themselves. Those that the landscape
// keeps otherwise, or does not keep, are taken from memory from then on: log_hashes is a cache, into which every writer
// of the landscape may insert.
func (t *tree) compute(size int64) error {
	fresh := &tree{ctx: t.ctx, log: t.log, new: map[int64]tlog.Hash{}}
	for from := int64(0); from < size; from += most {
		entries, err := t.log.LogEntries(t.ctx, from, int(min(most, size-from)))
		if err != nil {
			return err
		}
		for i := range min(most, size-from) {
			if i >= int64(len(entries)) || entries[i].Position != from+i {
				return fmt.Errorf("log: the entry %d is missing", from+i)
			}
			if _, err := fresh.grow(from+i, tlog.RecordHash([]byte(entries[i].Entry))); err != nil {
				return err
			}
		}
	}
	if t.new == nil {
		t.new = map[int64]tlog.Hash{}
	}
	err := landscape.Each(t.ctx, t.log, func(kept landscape.LogHash) bool {
		if hash, is := fresh.new[kept.Number]; is && bytes.Equal(hash[:], kept.Hash) {
			delete(fresh.new, kept.Number)
		}
		return true
	})
	maps.Copy(t.new, fresh.new)
	return err
}

// keepable returns those of some hashes that can be kept: all but those in whose place another one is. The tree
// remembers the others.
func (t *tree) keepable(hashes []landscape.LogHash) (can []landscape.LogHash, err error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	kept := map[int64][]byte{}
	q := landscape.Query{After: []any{hashes[0].Number - 1}, Limit: len(hashes)}
	found, err := landscape.Page[landscape.LogHash](t.ctx, t.log, q)
	for _, h := range found {
		kept[h.Number] = h.Hash
	}
	for _, h := range hashes {
		if is, there := kept[h.Number]; !there || bytes.Equal(is, h.Hash) {
			can = append(can, h)
			delete(t.new, h.Number)
		}
	}
	return can, err
}

// proven does something with the hashes of the tree that the landscape keeps, and returns what comes out if that is
// right; if not, it does it once more with hashes that it computes.
func proven[T any](t *tree, head Head, do func(tlog.HashReader) (T, error), right func(T) error) (T, error) {
	made, err := do(t)
	if err == nil {
		if err = right(made); err == nil {
			return made, nil
		}
	}
	if failed := t.has(head, "log_heads"); failed != nil {
		return made, failed
	}
	if failed := t.compute(head.Size); failed != nil {
		return made, failed
	}
	if made, err = do(t); err == nil {
		err = right(made)
	}
	return made, err
}

// proveRecord returns the path of an entry in the tree of a head.
func (t *tree) proveRecord(head Head, e landscape.LogEntry) (tlog.RecordProof, error) {
	return proven(t, head, func(hashes tlog.HashReader) (tlog.RecordProof, error) {
		return tlog.ProveRecord(head.Size, e.Position, hashes)
	}, func(path tlog.RecordProof) error {
		return tlog.CheckRecord(path, head.Size, head.Root, e.Position, tlog.RecordHash([]byte(e.Entry)))
	})
}

// proveTree returns the proof that the tree of a head continues that of the first entries: at least one, and not all.
func (t *tree) proveTree(head Head, old int64) (tlog.TreeProof, error) {
	return proven(t, head, func(hashes tlog.HashReader) (tlog.TreeProof, error) {
		return tlog.ProveTree(head.Size, old, hashes)
	}, func(proof tlog.TreeProof) error {
		root, err := t.root(old)
		if err == nil {
			err = tlog.CheckTree(proof, head.Size, head.Root, old, root)
		}
		return err
	})
}

// tileData returns the data of a tile in the tree of a head.
func (t *tree) tileData(head Head, tile tlog.Tile) ([]byte, error) {
	return proven(t, head, func(hashes tlog.HashReader) ([]byte, error) {
		return tlog.ReadTileData(tile, hashes)
	}, func(data []byte) error { return t.rightTile(head, tile, data) })
}

// rightTile returns an error if data is not that of a tile in the tree of a head. The hashes of entries are compared
// with these; those of subtrees, which change once in 256 entries, with the root.
func (t *tree) rightTile(head Head, tile tlog.Tile, data []byte) error {
	if tile.L > 0 {
		is, err := tlog.ReadTileData(tile, tlog.TileHashReader(tlog.Tree{N: head.Size, Hash: head.Root}, keptTiles{t}))
		if err == nil && !bytes.Equal(is, data) {
			err = errNotOfEntries
		}
		return err
	}
	entries, err := t.log.LogEntries(t.ctx, tile.N<<tileHeight, tile.W)
	if err == nil && len(entries)*tlog.HashSize != len(data) {
		err = errNotOfEntries
	}
	for i, e := range entries {
		leaf, at := tlog.RecordHash([]byte(e.Entry)), i*tlog.HashSize
		if err == nil && !bytes.Equal(leaf[:], data[at:at+tlog.HashSize]) {
			err = errNotOfEntries
		}
	}
	return err
}

var errNotOfEntries = errors.New("log_hashes: what is kept is not of the entries")

// cloned returns a copy of a map, and an empty one of none.
func cloned(hashes map[int64]tlog.Hash) map[int64]tlog.Hash {
	copied := map[int64]tlog.Hash{}
	maps.Copy(copied, hashes)
	return copied
}

// keptTiles are the tiles of a tree, as the landscape keeps its hashes.
type keptTiles struct{ tree *tree }

// Height does what tlog.TileReader says.
func (keptTiles) Height() int { return tileHeight }

// ReadTiles does what tlog.TileReader says.
func (k keptTiles) ReadTiles(tiles []tlog.Tile) (all [][]byte, err error) {
	for _, tile := range tiles {
		data, err := tlog.ReadTileData(tile, k.tree)
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// SaveTiles does nothing: the hashes are kept.
func (keptTiles) SaveTiles([]tlog.Tile, [][]byte) {}

// keptHead is the newest head that the landscape keeps and that the log signed; with the size 0 if there is none.
type keptHead struct {
	Head
	at      landscape.Micros // when it was kept
	foreign []int64          // sizes for which newer ones are kept that the log did not sign, the greatest first
}

// headsAtOnce is how many heads are read at once.
const headsAtOnce = 16

// lastHead returns the newest head that the landscape keeps and that one of these keys signed, which may be none. A
// role that may write the landscape can insert others: they do not count.
func lastHead(ctx context.Context, log *landscape.Reader, by LogKeys) (last keptHead, err error) {
	q := landscape.Query{Descending: true, Limit: 1} // it is nearly always the first
	for {
		page, err := landscape.Page[landscape.SignedHead](ctx, log, q)
		if err != nil || len(page) == 0 {
			return last, err
		}
		for _, stored := range page {
			if head, wrong := headOf(stored, by); wrong == nil {
				last.Head, last.at = head, stored.At
				return last, nil
			}
			last.foreign = append(last.foreign, stored.Size)
		}
		q.After, q.Limit = []any{page[len(page)-1].Size}, headsAtOnce
	}
}

// signedSoFar returns the newest head that the log signed, and the keys that sign heads.
func signedSoFar(ctx context.Context, log *landscape.Reader) (last keptHead, by LogKeys, err error) {
	if by, err = keysForHeads(ctx, log); err == nil {
		last, err = lastHead(ctx, log, by)
	}
	return last, by, err
}

// lastAnchored returns the size of the newest head at an anchor, as the landscape notes it, that one of these keys
// signed; 0 if there is none.
func lastAnchored(ctx context.Context, log *landscape.Reader, by LogKeys, anchor string) (int64, error) {
	q := landscape.Query{Prefix: []any{anchor}, Descending: true, Limit: 1}
	for {
		page, err := landscape.Page[landscape.Anchored](ctx, log, q)
		if err != nil || len(page) == 0 {
			return 0, err
		}
		for _, noted := range page {
			if head, err := signedHead(ctx, log, by, noted.Size); err != nil || head.Size > 0 {
				return head.Size, err
			}
		}
		q.After, q.Limit = []any{page[len(page)-1].Size}, headsAtOnce
	}
}

// headsCounted is how many heads ForeignHeads looks at.
const headsCounted = 1000

// ForeignHeads counts those of the newest heads that the landscape keeps which the log did not sign: a role that may
// write the landscape inserted them. They do not count anywhere; waymark log check names all of them.
func ForeignHeads(ctx context.Context, log *landscape.Reader) (foreign int64, err error) {
	by, err := keysForHeads(ctx, log)
	if err != nil {
		return 0, err
	}
	q := landscape.Query{Descending: true, Limit: headsCounted}
	newest, err := landscape.Page[landscape.SignedHead](ctx, log, q)
	for _, stored := range newest {
		if _, wrong := headOf(stored, by); wrong != nil {
			foreign++
		}
	}
	return foreign, err
}

// keysForHeads returns the keys that sign heads; nil if the log has not begun, or has no genesis that counts.
func keysForHeads(ctx context.Context, log *landscape.Reader) (LogKeys, error) {
	size, err := log.LogSize(ctx)
	if err != nil || size == 0 {
		return nil, err
	}
	ring, err := keysOf(ctx, log, size)
	if errors.Is(err, errNoGenesis) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ring.log, nil
}
