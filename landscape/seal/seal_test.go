package seal_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"waymark/landscape/seal"
)

// TestRootsAreThoseOfRFC6962 holds roots against the tree of another program.
func TestRootsAreThoseOfRFC6962(t *testing.T) {
	key := seal.Key{7}
	for n := range 130 {
		r := big(n)
		var stored []tlog.Hash
		read := tlog.HashReaderFunc(func(indexes []int64) (hashes []tlog.Hash, err error) {
			for _, i := range indexes {
				hashes = append(hashes, stored[i])
			}
			return hashes, nil
		})
		for i := range n {
			salt := saltOf(key, i, n)
			hashes, err := tlog.StoredHashes(int64(i), append(salt[:], r.Body(i)...), read)
			require.NoError(t, err)
			stored = append(stored, hashes...)
		}
		want := tlog.Hash(sha256.Sum256(nil))
		if n > 0 {
			var err error
			want, err = tlog.TreeHash(int64(n), read)
			require.NoError(t, err)
		}
		require.Equal(t, want, chunkRootOf(r, key), n)
	}
}

// TestSaltsInOrderAreThoseOneByOne holds the walk over all salts against the way to each, on chunks below and above a level of keys.
func TestSaltsInOrderAreThoseOneByOne(t *testing.T) {
	for _, n := range []int{1, 31, 32, 33, 1025, 32_769, 40_000} {
		key, seen := seal.Key{byte(n)}, map[seal.Key]bool{}
		r := big(n)
		leaves := make([]tlog.Hash, n)
		for i := range n {
			salt := saltOf(key, i, n)
			require.False(t, seen[salt], "every leaf has a salt of its own")
			seen[salt] = true
			leaves[i] = tlog.RecordHash(append(salt[:], r.Body(i)...))
		}
		require.Equal(t, mth(leaves), chunkRootOf(r, key), n)
	}
}

// mth is the tree hash as RFC 6962 writes it down.
func mth(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	half := 1
	for 2*half < len(leaves) {
		half *= 2
	}
	return tlog.NodeHash(mth(leaves[:half]), mth(leaves[half:]))
}

func TestEveryChunkHasAKeyOfItsOwn(t *testing.T) {
	seen := map[seal.Key]string{}
	for _, run := range []seal.Key{{1}, {2}} {
		for _, source := range []string{"a", "b", "a\x00", ""} {
			for chunk := range int64(300) {
				key := run.Chunk(source, chunk)
				require.Empty(t, seen[key])
				seen[key] = "taken"
			}
		}
	}
	_, err := seal.ParseKey(make([]byte, 15))
	require.ErrorContains(t, err, "16 bytes")
	require.NotEqual(t, seal.NewKey(), seal.NewKey())
}

// TestEveryPartCounts changes each thing that there is of a row, one after the other: the root is another, and the table is named.
func TestEveryPartCounts(t *testing.T) {
	all := func() *seal.Rows {
		r := big(40)
		r.Lines = make([]uint32, 40)
		r.Keys = []seal.Column{{Values: make([]byte, 160)}}
		r.Firsts = []seal.Column{{Node: 1, Values: make([]byte, 320)}}
		r.Errors = []seal.Error{{Row: 3, Node: 1}}
		r.Joins = []seal.Codes{{Lane: 1, IDs: [][8]byte{{1}, {2}}, Codes: make([]uint16, 40)}}
		r.Parents = seal.Parents{Batches: make([]byte, 160), Tokens: make([]byte, 320)}
		r.Fields = make([]byte, 32*40)
		return r
	}
	key := seal.Key{1}
	was := chunkRootOf(all(), key)
	for name, change := range map[string]struct {
		table string
		do    func(r *seal.Rows)
	}{
		"a hash of a record":  {"chunk_rows", func(r *seal.Rows) { r.Hashes[32*39+31]++ }},
		"an offset":           {"chunk_rows", func(r *seal.Rows) { r.Offsets[39]++ }},
		"a length":            {"chunk_rows", func(r *seal.Rows) { r.Lengths[39]++ }},
		"a line":              {"chunk_rows", func(r *seal.Rows) { r.Lines[39]++ }},
		"a way":               {"passages", func(r *seal.Rows) { r.Ways[0].Codes[39] = 1 }},
		"no way":              {"passages", func(r *seal.Rows) { r.Ways[0].Codes[39] = seal.NoWay }},
		"the lane of ways":    {"passages", func(r *seal.Rows) { r.Ways[0].Lane = 1 }},
		"a hash of a node":    {"hashes", func(r *seal.Rows) { r.Columns[1].Values[32*39]++ }},
		"the node of a hash":  {"hashes", func(r *seal.Rows) { r.Columns[1].Node = 9 }},
		"a key":               {"key_hashes", func(r *seal.Rows) { r.Keys[0].Values[159] = 1 }},
		"a repeat":            {"repeats", func(r *seal.Rows) { r.Firsts[0].Values[319] = 1 }},
		"an error":            {"errors", func(r *seal.Rows) { r.Errors = append(r.Errors, seal.Error{Row: 39}) }},
		"what an error says":  {"errors", func(r *seal.Rows) { r.Errors = append(r.Errors[:0], seal.Error{Row: 39, Digest: seal.Hash{1}}) }},
		"how it was merged":   {"merge_codes", func(r *seal.Rows) { r.Joins[0].Codes[39] = 1 }},
		"the batch of a row":  {"parents", func(r *seal.Rows) { r.Parents.Batches[159] = 1 }},
		"a field of a row":    {"field_roots", func(r *seal.Rows) { r.Fields[32*39] = 1 }},
		"the parent of a row": {"parents", func(r *seal.Rows) { r.Parents.Tokens[319] = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			r := all()
			change.do(r)
			require.NotEqual(t, was, chunkRootOf(r, key))
			require.Equal(t, []string{change.table}, r.Differ(all(), 39))
		})
	}
	r := all()
	r.First = 2
	require.NotEqual(t, was, chunkRootOf(r, key), "numbers of rows count")
	require.NotEqual(t, was, chunkRootOf(all(), seal.Key{2}), "so do salts")
}

func TestLines(t *testing.T) {
	line := seal.AppendLine(nil, "nodes", []seal.Member{{"run_id", "r"}, {"a", nil}, {"seq", int64(-3)}, {"blob", []byte{0, 255}}, {"text", "a\"\n<ü"}})
	require.Equal(t, `{"a":null,"blob":"00ff","run_id":"r","seq":-3,"table":"nodes","text":"a\"\n<ü"}`, string(line))
}

// TestPath compares paths with those of another implementation of RFC 6962.
func TestPath(t *testing.T) {
	var leaves []seal.Hash
	var stored tlog.HashReaderFunc
	var hashes []tlog.Hash
	stored = func(indexes []int64) (found []tlog.Hash, _ error) {
		for _, index := range indexes {
			found = append(found, hashes[index])
		}
		return found, nil
	}
	for size := range int64(70) {
		for leaf := range size {
			want, err := tlog.ProveRecord(size, leaf, stored)
			require.NoError(t, err)
			got := seal.Path(leaves, int(leaf))
			require.Len(t, got, len(want), "leaf %d of %d", leaf, size)
			require.Subset(t, got, want)
			require.NoError(t, tlog.CheckRecord(got, size, rootOf(t, size, stored), leaf, leaves[leaf]))
		}
		hash := tlog.RecordHash([]byte{byte(size)})
		more, err := tlog.StoredHashesForRecordHash(size, hash, stored)
		require.NoError(t, err)
		leaves, hashes = append(leaves, hash), append(hashes, more...)
	}
}

func rootOf(t *testing.T, size int64, stored tlog.HashReader) tlog.Hash {
	t.Helper()
	root, err := tlog.TreeHash(size, stored)
	require.NoError(t, err)
	return root
}
