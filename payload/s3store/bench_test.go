package s3store

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/cache"
	"waymark/payload/fsstore"
	"waymark/tests/services/buckets"
)

// backends are what the benchmarks compare: a bucket on this machine, with and without a cache, and a folder.
var backends = map[string]func(b *testing.B) payload.Backend{
	"s3": func(b *testing.B) payload.Backend { return openBucket(b, buckets.New(b), nil) },
	"s3+cache": func(b *testing.B) payload.Backend {
		return cache.New(openBucket(b, buckets.New(b), nil), 256*mebi)
	},
	"folder": func(b *testing.B) payload.Backend {
		s, err := fsstore.Create(filepath.Join(b.TempDir(), "payloads"))
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, s.Close()) })
		return s
	},
}

// forEach runs a benchmark for each backend and size, with one goroutine and with four.
func forEach(b *testing.B, names []string, run func(b *testing.B, s *payload.Store, size, goroutines int)) {
	for _, size := range []int{1, 4, 8} {
		for _, goroutines := range []int{1, 4} {
			for _, name := range names {
				b.Run(fmt.Sprintf("%dMiB/%d/%s", size, goroutines, name), func(b *testing.B) {
					s := payload.New(backends[name](b), payload.Options{})
					b.SetBytes(int64(size * mebi))
					b.ReportAllocs()
					run(b, s, size*mebi, goroutines)
				})
			}
		}
	}
}

// side runs do b.N times in all, by so many goroutines, and reports the time that this process kept a core busy.
func side(b *testing.B, goroutines int, do func(worker int, n int64) error) {
	before := busy(b)
	b.ResetTimer()
	var workers sync.WaitGroup
	var next atomic.Int64
	for worker := range goroutines {
		workers.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(worker, n); err != nil {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
	b.ReportMetric(float64((busy(b)-before).Microseconds())/1000/float64(b.N), "core-ms/op")
}

func busy(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkPut(b *testing.B) {
	forEach(b, []string{"s3", "folder"}, func(b *testing.B, s *payload.Store, size, goroutines int) {
		bodies := make([][]byte, goroutines)
		for worker := range bodies {
			bodies[worker] = random(size, byte(worker))
		}
		side(b, goroutines, func(worker int, n int64) error {
			binary.BigEndian.PutUint64(bodies[worker], uint64(n)) // so that it is new
			_, err := s.Put(b.Context(), bodies[worker])
			return err
		})
	})
}

func BenchmarkGet(b *testing.B) {
	forEach(b, []string{"s3", "s3+cache", "folder"}, func(b *testing.B, s *payload.Store, size, goroutines int) {
		var stored [4]payload.Digest
		for i := range stored {
			d, err := s.Put(b.Context(), random(size, byte(i)))
			require.NoError(b, err)
			stored[i] = d
		}
		side(b, goroutines, func(_ int, n int64) error {
			_, err := s.Get(b.Context(), stored[n%int64(len(stored))])
			return err
		})
	})
}
