package payloadtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
)

// noLimit is a Read limit that no test object reaches.
const noLimit = 1 << 30

func runBackend(t *testing.T, newBackend func(t *testing.T) payload.Backend) {
	for name, test := range map[string]func(*testing.T, payload.Backend){
		"write then read":              writeThenRead,
		"write replaces":               writeReplaces,
		"write does not keep data":     writeDoesNotKeepData,
		"nobody sees a part":           nobodySeesAPart,
		"reader owns the slice":        readerOwnsTheSlice,
		"nothing there":                nothingThere,
		"read limit":                   readLimit,
		"read range":                   readRange,
		"stat":                         statDescribes,
		"delete":                       deleteRemoves,
		"walk":                         walkAscends,
		"walk stops at an error":       walkStops,
		"quarantine keeps everything":  quarantineKeeps,
		"quarantined is not an object": quarantinedIsNoObject,
		"bad keys":                     refusesBadKeys,
		"ended context":                refusesEndedContext,
	} {
		t.Run(name, func(t *testing.T) { test(t, newBackend(t)) })
	}
}

// holds requires that exactly data is under key.
func holds(t *testing.T, b payload.Backend, key string, data []byte) {
	t.Helper()
	got, err := b.Read(t.Context(), key, noLimit)
	require.NoError(t, err)
	require.NotNil(t, got)
	require.True(t, bytes.Equal(data, got), "%s holds %d other bytes", key, len(got))
}

func keys(t *testing.T, b payload.Backend) []string {
	t.Helper()
	var all []string
	require.NoError(t, b.Walk(t.Context(), func(key string) error { all = append(all, key); return nil }))
	return all
}

func writeThenRead(t *testing.T, b payload.Backend) {
	for _, size := range []int{0, 1, 4095, 4096, 4097, 1 << 20} {
		key, data := object(size, 1)
		require.NoError(t, b.Write(t.Context(), key, data))
		holds(t, b, key, data)
		require.NoError(t, b.Write(t.Context(), key, data), "the same bytes again")
		holds(t, b, key, data)
	}
}

func writeReplaces(t *testing.T, b payload.Backend) {
	key, data := object(1000, 1)
	for _, before := range [][]byte{{}, data[:999], append(data[:len(data):len(data)], 'x'), make([]byte, 1000)} {
		require.NoError(t, b.Write(t.Context(), key, before))
		require.NoError(t, b.Write(t.Context(), key, data))
		holds(t, b, key, data)
	}
}

func writeDoesNotKeepData(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	mine := bytes.Clone(data)
	require.NoError(t, b.Write(t.Context(), key, mine))
	clear(mine)
	holds(t, b, key, data)
}

// nobodySeesAPart reads while two writers replace each other's bytes: a reader sees one or the other.
func nobodySeesAPart(t *testing.T, b payload.Backend) {
	key, one := object(1<<18, 1)
	_, two := object(1<<17, 2)
	require.NoError(t, b.Write(t.Context(), key, one))
	var writers sync.WaitGroup
	for _, data := range [][]byte{one, two} {
		writers.Go(func() {
			for range smaller(100, 10) {
				if err := b.Write(t.Context(), key, data); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	defer writers.Wait()
	for {
		got, err := b.Read(t.Context(), key, noLimit)
		require.NoError(t, err)
		require.True(t, bytes.Equal(got, one) || bytes.Equal(got, two), "read %d bytes that nobody wrote", len(got))
		select {
		case <-done:
			return
		default:
		}
	}
}

func readerOwnsTheSlice(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	mine, err := b.Read(t.Context(), key, noLimit)
	require.NoError(t, err)
	clear(mine)
	holds(t, b, key, data)
}

func nothingThere(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	missing := func() {
		t.Helper()
		_, err := b.Read(t.Context(), key, noLimit)
		require.ErrorIs(t, err, payload.ErrNotFound)
		_, _, err = b.ReadRange(t.Context(), key, 0, 1)
		require.ErrorIs(t, err, payload.ErrNotFound)
		_, err = b.Stat(t.Context(), key)
		require.ErrorIs(t, err, payload.ErrNotFound)
		_, err = b.Quarantine(t.Context(), key)
		require.ErrorIs(t, err, payload.ErrNotFound)
		require.NoError(t, b.Delete(t.Context(), key))
	}
	missing()
	require.NoError(t, b.Write(t.Context(), key, data))
	require.NoError(t, b.Delete(t.Context(), key))
	missing()
}

func readLimit(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	_, err := b.Read(t.Context(), key, 99)
	require.ErrorIs(t, err, payload.ErrTooLarge)
	got, err := b.Read(t.Context(), key, 100)
	require.NoError(t, err)
	require.Equal(t, data, got)
}

func readRange(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	for _, test := range []struct {
		offset, length int64
		want           []byte
	}{
		{0, 100, data}, {0, 1000, data}, {0, 1, data[:1]}, {30, 40, data[30:70]}, {99, 1, data[99:]}, {90, 20, data[90:]}, {100, 1, nil}, {1000, 5, nil},
		{-1, 1, data[99:]}, {-1, 10, data[99:]}, {-30, 30, data[70:]}, {-30, 10, data[70:80]}, {-100, 100, data}, {-110, 20, data[:10]}, {-200, 100, nil}, {-200, 200, data},
	} {
		got, size, err := b.ReadRange(t.Context(), key, test.offset, test.length)
		require.NoError(t, err, test)
		require.EqualValues(t, 100, size, test)
		require.NotNil(t, got, test)
		require.Equal(t, string(test.want), string(got), "%d bytes from %d on", test.length, test.offset)
		clear(got)
	}
	holds(t, b, key, data)

	empty, _ := object(0, 1)
	require.NoError(t, b.Write(t.Context(), empty, nil))
	for _, offset := range []int64{0, -10} {
		got, size, err := b.ReadRange(t.Context(), empty, offset, 10)
		require.NoError(t, err)
		require.Zero(t, size)
		require.Empty(t, got)
	}
}

func statDescribes(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	first, err := b.Stat(t.Context(), key)
	require.NoError(t, err)
	require.EqualValues(t, 100, first.Bytes)

	again, err := b.Stat(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, first, again, "nothing changed")

	_, other := object(100, 2)
	require.NoError(t, b.Write(t.Context(), key, other))
	replaced, err := b.Stat(t.Context(), key)
	require.NoError(t, err)
	require.EqualValues(t, 100, replaced.Bytes)
	require.NotEqual(t, first.Version, replaced.Version)
}

func deleteRemoves(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	other, otherData := object(100, 2)
	require.NoError(t, b.Write(t.Context(), key, data))
	require.NoError(t, b.Write(t.Context(), other, otherData))
	require.NoError(t, b.Delete(t.Context(), key))
	require.Equal(t, []string{other}, keys(t, b))
	holds(t, b, other, otherData)
	require.NoError(t, b.Write(t.Context(), key, data))
	holds(t, b, key, data)
}

func walkAscends(t *testing.T, b payload.Backend) {
	require.Empty(t, keys(t, b))
	var want []string
	for seed := range uint64(100) {
		key, data := object(10, seed)
		require.NoError(t, b.Write(t.Context(), key, data))
		want = append(want, key)
	}
	slices.Sort(want)
	require.Equal(t, want, keys(t, b))
}

func walkStops(t *testing.T, b payload.Backend) {
	for seed := range uint64(3) {
		key, data := object(10, seed)
		require.NoError(t, b.Write(t.Context(), key, data))
	}
	stop, calls := errors.New("stop"), 0
	require.Equal(t, stop, b.Walk(t.Context(), func(string) error { calls++; return stop }))
	require.Equal(t, 1, calls)
}

func quarantineKeeps(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	places := map[string]bool{}
	for n := range 5 {
		require.NoError(t, b.Write(t.Context(), key, data[:n]))
		place, err := b.Quarantine(t.Context(), key)
		require.NoError(t, err)
		require.False(t, places[place], "%s is used twice", place)
		places[place] = true
	}
	require.NoError(t, b.Write(t.Context(), key, data))
	holds(t, b, key, data)
}

func quarantinedIsNoObject(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	_, err := b.Quarantine(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, b.Write(t.Context(), key, data))
	require.Equal(t, []string{key}, keys(t, b))
	require.NoError(t, b.Delete(t.Context(), key))
	require.Empty(t, keys(t, b))
}

// methods calls each method that takes a key, by name.
func methods(ctx context.Context, b payload.Backend, key string) map[string]error {
	_, read := b.Read(ctx, key, noLimit)
	_, _, part := b.ReadRange(ctx, key, 0, 1)
	_, stat := b.Stat(ctx, key)
	_, quarantine := b.Quarantine(ctx, key)
	return map[string]error{
		"Write": b.Write(ctx, key, []byte("x")),
		"Read":  read, "ReadRange": part, "Stat": stat, "Delete": b.Delete(ctx, key), "Quarantine": quarantine,
	}
}

func refusesBadKeys(t *testing.T, b payload.Backend) {
	for name, key := range BadKeys() {
		for method, err := range methods(t.Context(), b, key) {
			require.ErrorIs(t, err, payload.ErrBadKey, "%s: %s", name, method)
			require.Less(t, len(err.Error()), 600, "%s: %s", name, method)
		}
	}
	require.Empty(t, keys(t, b))
}

func refusesEndedContext(t *testing.T, b payload.Backend) {
	key, data := object(100, 1)
	require.NoError(t, b.Write(t.Context(), key, data))
	for method, err := range methods(ended(t), b, key) {
		require.ErrorIs(t, err, context.Canceled, method)
	}
	require.ErrorIs(t, b.Walk(ended(t), func(string) error { return nil }), context.Canceled)
	holds(t, b, key, data)
}
