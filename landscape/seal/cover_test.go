package seal_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/seal"
)

func saltOf(key seal.Key, leaf, leaves int) seal.Key {
	salt, _ := seal.Whole(key, leaves).Salt(leaf)
	return salt
}

func chunkRootOf(rows *seal.Rows, key seal.Key) seal.Hash {
	return rows.Root(seal.Whole(key, rows.Len()))
}

func leafOf(t *testing.T, salts seal.RunSalts, leaf int, line string) seal.Hash {
	t.Helper()
	hash, ok := salts.Leaf(leaf, []byte(line))
	require.True(t, ok)
	return hash
}

// TestCoverLosesTheSaltsOfSomeLeavesOnly destroys salts one after the other: all others follow from the keys that are left, and the root with them.
func TestCoverLosesTheSaltsOfSomeLeavesOnly(t *testing.T) {
	key := seal.Key{9}
	for _, n := range []int{1, 2, 31, 32, 33, 1025, 32_769} {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		cover, without := seal.Whole(key, n), []int{}
		for range 4 {
			leaf := random.IntN(n)
			cover = cover.Without(leaf)
			without = append(without, leaf)
			slices.Sort(without)
			without = slices.Compact(without)
			parsed, err := seal.ParseCover(cover.Keys(), n, without)
			require.NoError(t, err, n)
			require.Equal(t, cover.Keys(), parsed.Keys())
			cover = parsed
		}
		for i := range n {
			salt, ok := cover.Salt(i)
			require.Equal(t, !slices.Contains(without, i), ok, "leaf %d of %d", i, n)
			if ok {
				require.Equal(t, saltOf(key, i, n), salt)
			}
		}
		_, ok := cover.Salt(n)
		require.False(t, ok)
	}
	one := seal.Whole(key, 32_768).Without(77)
	require.Len(t, one.Keys(), 93*seal.KeyBytes, "31 siblings on each of 3 levels")
	_, err := seal.ParseCover(one.Keys(), 32_768, []int{76, 4000})
	require.Error(t, err)
	_, err = seal.ParseCover(one.Keys()[seal.KeyBytes:], 32_768, []int{77})
	require.Error(t, err)
}

// TestRootsStayWhenRowsAreForgotten keeps the leaves of two rows in place of their columns and salts.
func TestRootsStayWhenRowsAreForgotten(t *testing.T) {
	key, rows := seal.Key{3}, big(70)
	want, salts := chunkRootOf(rows, key), seal.Whole(key, rows.Len())
	forgotten := map[int]seal.Hash{}
	for _, i := range []int{0, 40} {
		forgotten[i] = rows.Leaf(salts, i)
		salts = salts.Without(i)
	}
	for i := range forgotten {
		clear(rows.Hashes[32*i : 32*i+32])
		for _, column := range slices.Concat(rows.Columns) {
			clear(column.Values[32*i : 32*i+32])
		}
		for _, column := range rows.Keys {
			clear(column.Values[4*i : 4*i+4])
		}
		require.True(t, rows.Blank(i))
	}
	require.NotEqual(t, want, rows.Root(salts))
	rows.Forgotten = forgotten
	require.Equal(t, want, rows.Root(salts))
	require.Equal(t, forgotten[40], rows.Leaf(salts, 40))
	_, _, ok := rows.Prove(salts, 40)
	require.False(t, ok)
	require.False(t, rows.Blank(41))
	rows.Hashes[32*41]++
	require.NotEqual(t, want, rows.Root(salts), "others still count")
}
