package fsstore_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
)

func benchStore(b *testing.B) *payload.Store {
	b.Helper()
	s, err := fsstore.Create(filepath.Join(b.TempDir(), "payloads"))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return payload.New(s, payload.Options{})
}

var benchSizes = []int{1 << 10, 1 << 20, 4 << 20}

func BenchmarkPutNew(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			store, data := benchStore(b), make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				rand.Read(data[:16])
				if _, err := store.Put(b.Context(), data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPutAgain(b *testing.B) {
	store, data := benchStore(b), make([]byte, 1<<20)
	for range 2 {
		_, err := store.Put(b.Context(), data)
		require.NoError(b, err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := store.Put(b.Context(), data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			store := benchStore(b)
			d, err := store.Put(b.Context(), make([]byte, size))
			require.NoError(b, err)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := store.Get(b.Context(), d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
