package spans

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/proto/otlp/trace/v1"
)

// taker is a collector.
type taker struct {
	mu     sync.Mutex
	away   bool
	refuse string // the span that it never takes
	took   []string
}

func (k *taker) Start(context.Context) error { return nil }
func (k *taker) Stop(context.Context) error  { return nil }

func (k *taker) UploadTraces(_ context.Context, spans []*v1.ResourceSpans) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := spans[0].GetScopeSpans()[0].GetSpans()[0].GetName()
	if k.away || name == k.refuse {
		return errors.New("away")
	}
	k.took = append(k.took, name)
	return nil
}

func (k *taker) is(away bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away = away
}

func (k *taker) has(names ...string) func() bool {
	return func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return slices.Equal(names, k.took)
	}
}

func batch(name string) []*v1.ResourceSpans {
	return []*v1.ResourceSpans{{ScopeSpans: []*v1.ScopeSpans{{Spans: []*v1.Span{{Name: name}, {Name: "beside"}}}}}}
}

func started(t *testing.T, k *taker, folder Folder) *Client {
	t.Helper()
	c := New(k, folder, slog.New(slog.DiscardHandler))
	require.NoError(t, c.Start(t.Context()))
	return c
}

const patience = 30 * time.Second

// TestSpansWait: what comes while the collector is away is sent when it is back, in order, also by another process.
func TestSpansWait(t *testing.T) {
	k, folder := &taker{}, Folder(filepath.Join(t.TempDir(), "spans"))
	c := started(t, k, folder)
	require.NoError(t, c.UploadTraces(t.Context(), batch("a")))
	require.NoDirExists(t, string(folder))
	k.is(true)
	require.NoError(t, c.UploadTraces(t.Context(), batch("b")))
	require.NoError(t, c.UploadTraces(t.Context(), batch("c")))
	require.NoError(t, c.Stop(t.Context()))
	waits, err := folder.Waiting()
	require.NoError(t, err)
	require.Equal(t, []int64{4, 0}, []int64{waits.Spans, waits.Dropped})
	require.WithinDuration(t, time.Now(), waits.Since, patience)
	k.is(false)
	next := started(t, k, folder)
	require.Eventually(t, k.has("a", "b", "c"), patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { waits, err = folder.Waiting(); return err == nil && waits.files == nil }, patience, 5*time.Millisecond)
	require.NoError(t, next.Stop(t.Context()))
	require.Zero(t, waits.Dropped)
}

// TestRefusedSpans: what the collector never takes keeps nothing else from it, and is counted.
func TestRefusedSpans(t *testing.T) {
	k, folder := &taker{away: true, refuse: "bad"}, Folder(t.TempDir())
	c := started(t, k, folder)
	for _, name := range []string{"bad", "good"} {
		require.NoError(t, c.UploadTraces(t.Context(), batch(name)))
	}
	k.is(false)
	require.Eventually(t, k.has("good"), patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { waits, err := folder.Waiting(); return err == nil && waits.Dropped == 2 }, patience, 5*time.Millisecond)
	require.NoError(t, c.Stop(t.Context()))
}

// TestTooManySpans: the oldest are dropped, and counted.
func TestTooManySpans(t *testing.T) {
	folder := Folder(t.TempDir())
	for range 5 {
		require.NoError(t, folder.keep(make([]byte, mostBytes/4), 7))
	}
	waits, err := folder.Waiting()
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(4, 28, 7), fmt.Sprint(len(waits.files), waits.Spans, waits.Dropped))
	require.LessOrEqual(t, waits.Bytes, int64(mostBytes))
}
