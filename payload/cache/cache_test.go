package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/payload/payloadtest"
)

func TestBackend(t *testing.T) {
	for name, bytes := range map[string]int64{"roomy": 1 << 30, "tight": 10_000, "no room": 0} {
		t.Run(name, func(t *testing.T) {
			payloadtest.Run(t, func(*testing.T) payloadtest.Subject {
				far := &memstore.Store{}
				return payloadtest.Subject{
					Backend: New(far, bytes), Rot: func(_ *testing.T, key string, data []byte) { far.Rot(key, data) },
				}
			})
		})
	}
}

// far counts the reads that reach it, and can hold them up.
type far struct {
	memstore.Store
	reads  atomic.Int64
	onRead func(ctx context.Context) error
}

func (f *far) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	f.reads.Add(1)
	if f.onRead != nil {
		if err := f.onRead(ctx); err != nil {
			return nil, err
		}
	}
	return f.Store.Read(ctx, key, limit)
}

// put stores 100 bytes that depend on n, and returns their key.
func put(t *testing.T, b payload.Backend, n int) (key, data string) {
	t.Helper()
	data = fmt.Sprintf("%0100d", n)
	key = string(payload.Of([]byte(data)))
	require.NoError(t, b.Write(t.Context(), key, []byte(data)))
	return key, data
}

func read(t *testing.T, b payload.Backend, key string) string {
	t.Helper()
	data, err := b.Read(t.Context(), key, 1000)
	require.NoError(t, err)
	return string(data)
}

func TestAnObjectIsReadOnce(t *testing.T) {
	f := &far{}
	c := New(f, 1000)
	key, data := put(t, c, 1)
	for range 5 {
		require.Equal(t, data, read(t, c, key))
	}
	require.EqualValues(t, 1, f.reads.Load(), "the first read is not answered from what was written")
}

func TestWhatOthersDidIsSeenAtOnce(t *testing.T) {
	f := &far{}
	one, two := New(f, 1000), New(f, 1000)
	key, data := put(t, one, 1)
	require.Equal(t, data, read(t, one, key))

	require.NoError(t, two.Write(t.Context(), key, []byte("replaced")))
	require.Equal(t, "replaced", read(t, one, key))

	require.NoError(t, two.Delete(t.Context(), key))
	_, err := one.Read(t.Context(), key, 1000)
	require.ErrorIs(t, err, payload.ErrNotFound)
}

func TestReplacedObjectIsReadAgain(t *testing.T) {
	f := &far{}
	c := New(f, 1000)
	key, _ := put(t, c, 1)
	f.onRead = func(context.Context) error {
		f.onRead = nil
		f.Plant(key, []byte("second"))
		return nil
	}
	require.Equal(t, "second", read(t, c, key))
	f.Plant(key, []byte("third"))
	require.Equal(t, "third", read(t, c, key))
}

func TestMemoryIsBoundedAndTheLongestUnusedGoes(t *testing.T) {
	f := &far{}
	c := New(f, 350) // three objects
	var keys []string
	for n := range 4 {
		key, _ := put(t, c, n)
		keys = append(keys, key)
	}
	for _, n := range []int{0, 1, 2, 0, 3} { // 1 goes
		read(t, c, keys[n])
		require.LessOrEqual(t, c.used, c.maxBytes)
	}
	require.EqualValues(t, 4, f.reads.Load())
	for _, n := range []int{0, 2, 3} {
		read(t, c, keys[n])
	}
	require.EqualValues(t, 4, f.reads.Load(), "these are kept")
	read(t, c, keys[1])
	require.EqualValues(t, 5, f.reads.Load())

	for _, key := range keys {
		require.NoError(t, c.Delete(t.Context(), key))
	}
	require.Zero(t, c.used)
	require.Empty(t, c.entries)
	require.Zero(t, c.recent.Len())
}

func TestAnObjectOverTheBoundIsNotKept(t *testing.T) {
	f := &far{}
	c := New(f, 99)
	key, data := put(t, c, 1)
	for range 2 {
		require.Equal(t, data, read(t, c, key))
	}
	require.EqualValues(t, 2, f.reads.Load())
	require.Zero(t, c.used)
}

func TestTheLimitHoldsForWhatIsKept(t *testing.T) {
	c := New(&memstore.Store{}, 1000)
	key, data := put(t, c, 1)
	require.Equal(t, data, read(t, c, key))
	_, err := c.Read(t.Context(), key, 99)
	require.ErrorIs(t, err, payload.ErrTooLarge)
}

// TestUncachedReadsRunInParallel: each read ends only after the other has begun.
func TestUncachedReadsRunInParallel(t *testing.T) {
	f := &far{}
	c := New(f, 99)
	key, data := put(t, c, 1)
	var began, readers sync.WaitGroup
	began.Add(2)
	f.onRead = func(context.Context) error { began.Done(); began.Wait(); return nil }
	for range 2 {
		readers.Go(func() {
			got, err := c.Read(t.Context(), key, 1000)
			if err != nil || string(got) != data {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}
	readers.Wait()
}

func TestOneReadsAndOthersWait(t *testing.T) {
	c := New(&memstore.Store{}, 1000)
	_, _, done := c.begin("key", "v1")
	require.NotNil(t, done)
	_, others, second := c.begin("key", "v1")
	require.Nil(t, second)
	select {
	case <-others:
		t.Fatal("the read is not over")
	default:
	}
	done([]byte("data"))
	<-others
	data, _, _ := c.begin("key", "v1")
	require.Equal(t, "data", string(data))
}

func TestReadersAtOnceReadOnce(t *testing.T) {
	f := &far{}
	c := New(f, 1000)
	key, data := put(t, c, 1)
	goOn := make(chan struct{})
	f.onRead = func(context.Context) error { <-goOn; return nil }
	var readers sync.WaitGroup
	for range 64 {
		readers.Go(func() {
			got, err := c.Read(t.Context(), key, 1000)
			if err != nil || string(got) != data {
				t.Errorf("read %q, %v", got, err)
			}
			clear(got) // it is ours
		})
	}
	close(goOn)
	readers.Wait()
	require.EqualValues(t, 1, f.reads.Load())
	require.Equal(t, data, read(t, c, key))
}

// TestAReaderThatGivesUpDoesNotHarmOthers: the first reader's context ends, and the second reads for itself.
func TestAReaderThatGivesUpDoesNotHarmOthers(t *testing.T) {
	f := &far{}
	c := New(f, 1000)
	key, data := put(t, c, 1)
	began := make(chan struct{}, 2)
	f.onRead = func(ctx context.Context) error {
		began <- struct{}{}
		if f.reads.Load() == 1 {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := c.Read(ctx, key, 1000)
		first <- err
	}()
	<-began
	second := make(chan error)
	go func() {
		got, err := c.Read(t.Context(), key, 1000)
		if err == nil && string(got) != data {
			err = errors.New("other bytes")
		}
		second <- err
	}()
	cancel()
	require.ErrorIs(t, <-first, context.Canceled)
	require.NoError(t, <-second)
}

// TestAWaitingReaderCanGiveUp while another one is at it.
func TestAWaitingReaderCanGiveUp(t *testing.T) {
	f := &far{}
	c := New(f, 1000)
	key, _ := put(t, c, 1)
	began, goOn := make(chan struct{}), make(chan struct{})
	f.onRead = func(context.Context) error { close(began); <-goOn; return nil }
	first := make(chan error)
	go func() {
		_, err := c.Read(t.Context(), key, 1000)
		first <- err
	}()
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, err := c.Read(ctx, key, 1000)
		second <- err
	}()
	cancel()
	require.ErrorIs(t, <-second, context.Canceled)
	close(goOn)
	require.NoError(t, <-first)
	require.EqualValues(t, 1, f.reads.Load())
}

func TestReadersOwnWhatTheyGet(t *testing.T) {
	c := New(&memstore.Store{}, 1000)
	key, data := put(t, c, 1)
	for range 3 {
		got, err := c.Read(t.Context(), key, 1000)
		require.NoError(t, err)
		require.Equal(t, data, string(got))
		clear(got)
	}
}
