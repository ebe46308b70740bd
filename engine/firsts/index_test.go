package firsts

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// valueOf is the value with a number.
func valueOf(n uint64) Value {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, n))
	return Value(sum[:16])
}

// small returns an index that goes to disk early, in a folder of the test's own.
func small(t *testing.T, most int) *Index {
	x := New(t.TempDir())
	x.most = most
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestFirst asks for values in a random order, with repeats near and far, and compares with a map.
func TestFirst(t *testing.T) {
	x := small(t, 64)
	random := rand.New(rand.NewPCG(1, 2))
	want := map[uint64]uint64{}
	for token := uint64(1); token <= 20_000; token++ {
		n := random.Uint64N(12_000)
		if want[n] == 0 {
			want[n] = token
		}
		first, err := x.First(valueOf(n), token)
		require.NoError(t, err)
		require.Equal(t, want[n], first, "value %d of token %d", n, token)
	}
	for n := range uint64(12_000) {
		token, err := x.Find(valueOf(n))
		require.NoError(t, err)
		require.Equal(t, want[n], token)
	}
	levels := map[int]int{}
	for _, run := range x.runs {
		levels[run.level]++
		require.Less(t, levels[run.level], fanIn)
	}
	require.Greater(t, len(levels), 1, "runs were merged, and merged again")
	require.Greater(t, x.runs[0].level, 1)
}

// TestEqualHalves has keys that differ in one half alone, at the ends of the range, and all on one page.
func TestEqualHalves(t *testing.T) {
	x := small(t, 300)
	var values []Value
	for n := range uint64(1000) {
		for _, hi := range []uint64{0, 7, 1<<64 - 1} {
			var v Value
			binary.BigEndian.PutUint64(v[:], hi)
			binary.BigEndian.PutUint64(v[8:], n*0x9e3779b97f4a7c15)
			values = append(values, v)
		}
	}
	for i, v := range values {
		first, err := x.First(v, uint64(i)+1)
		require.NoError(t, err)
		require.Equal(t, uint64(i)+1, first)
	}
	for i, v := range values {
		token, err := x.Find(v)
		require.NoError(t, err)
		require.Equal(t, uint64(i)+1, token)
	}
}

// TestNothingIsLeftInTheFolder holds while the index is open: a process that dies leaves nothing.
func TestNothingIsLeftInTheFolder(t *testing.T) {
	x := small(t, 8)
	for n := range uint64(1000) {
		_, err := x.First(valueOf(n), n+1)
		require.NoError(t, err)
	}
	require.NotEmpty(t, x.runs)
	left, err := os.ReadDir(x.folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestFolderComesBack fails as long as no file can be made, and then continues as if nothing had been.
func TestFolderComesBack(t *testing.T) {
	x := small(t, 100)
	x.folder = filepath.Join(x.folder, "gone")
	for n := range uint64(99) {
		_, err := x.First(valueOf(n), n+1)
		require.NoError(t, err)
	}
	_, err := x.First(valueOf(99), 100)
	require.ErrorIs(t, err, os.ErrNotExist)
	layer := x.Layer()
	for n := range uint64(200) {
		first, err := layer.First(valueOf(n), 1000+n)
		require.NoError(t, err)
		require.Equal(t, n < 100, first == n+1, "what was there is there")
	}
	require.ErrorIs(t, layer.Settle(), os.ErrNotExist)
	require.NoError(t, os.Mkdir(x.folder, 0o700))
	require.NoError(t, layer.Settle())
	for n := range uint64(200) {
		want := n + 1
		if n >= 100 {
			want = 1000 + n
		}
		token, err := x.Find(valueOf(n))
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
}

func TestLayer(t *testing.T) {
	x := small(t, 4)
	first := func(l *Layer, n, token uint64) uint64 {
		first, err := l.First(valueOf(n), token)
		require.NoError(t, err)
		return first
	}
	stands := func(l *Layer) bool {
		stands, err := l.Stands()
		require.NoError(t, err)
		return stands
	}
	one, two, three := x.Layer(), x.Layer(), x.Layer()
	require.EqualValues(t, 1, first(one, 10, 1))
	require.EqualValues(t, 1, first(one, 10, 2), "within the layer")
	require.EqualValues(t, 3, first(one, 20, 3))
	require.EqualValues(t, 4, first(two, 20, 4), "it does not see what is not settled")
	require.EqualValues(t, 5, first(three, 30, 5))
	require.True(t, stands(one))
	require.NoError(t, one.Settle())
	require.False(t, stands(two), "value 20 has come in the meantime")
	require.True(t, stands(three))
	two = x.Layer()
	require.EqualValues(t, 3, first(two, 20, 4))
	require.EqualValues(t, 3, first(two, 20, 6), "and a second time")
	require.True(t, stands(two), "what it knows of others does no harm")
	require.NoError(t, two.Settle())
	require.NoError(t, three.Settle())
	token, err := x.Find(valueOf(30))
	require.NoError(t, err)
	require.EqualValues(t, 5, token)
}

func TestClosed(t *testing.T) {
	x := small(t, 4)
	layer := x.Layer()
	_, err := layer.First(valueOf(1), 1)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	_, err = x.Find(valueOf(1))
	require.ErrorIs(t, err, errClosed)
	_, err = x.First(valueOf(1), 1)
	require.ErrorIs(t, err, errClosed)
	_, err = layer.First(valueOf(2), 1)
	require.ErrorIs(t, err, errClosed)
	_, err = layer.Stands()
	require.ErrorIs(t, err, errClosed)
	require.ErrorIs(t, layer.Settle(), errClosed)
}

// TestSideBySide lets layers be filled while others are settled.
func TestSideBySide(t *testing.T) {
	x := small(t, 100)
	var group sync.WaitGroup
	for worker := range uint64(4) {
		group.Go(func() {
			for chunk := range uint64(10) {
				layer := x.Layer()
				for i := range uint64(200) {
					n := worker*1_000_000 + chunk*1000 + i
					if _, err := layer.First(valueOf(n), n+1); err != nil {
						t.Error(err)
					}
				}
				if err := layer.Settle(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for worker := range uint64(4) {
		n := worker*1_000_000 + 3*1000 + 7
		token, err := x.Find(valueOf(n))
		require.NoError(t, err)
		require.Equal(t, n+1, token)
	}
}

// BenchmarkSettle settles a million values, a chunk at a time, over 4 million.
func BenchmarkSettle(b *testing.B) {
	const rows, before = 32_768, 4 << 20
	x := New(b.TempDir())
	defer x.Close()
	n := uint64(1)
	fill := func() {
		layer := x.Layer()
		for range rows {
			if _, err := layer.First(valueOf(n), n); err != nil {
				b.Fatal(err)
			}
			n++
		}
		if stands, err := layer.Stands(); err != nil || !stands {
			b.Fatal(stands, err)
		}
		if err := layer.Settle(); err != nil {
			b.Fatal(err)
		}
	}
	for n < before {
		fill()
	}
	for b.Loop() {
		fill()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/value")
}

// BenchmarkFound looks up values of which all are there.
func BenchmarkFound(b *testing.B) {
	x := New(b.TempDir())
	defer x.Close()
	const values = 4 << 20
	for n := range uint64(values) {
		if _, err := x.First(valueOf(n), n+1); err != nil {
			b.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		if token, err := x.Find(valueOf(random.Uint64N(values))); err != nil || token == 0 {
			b.Fatal(token, err)
		}
	}
}
