package payload_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/memstore"
)

func TestPutRefusesWhatIsTooLarge(t *testing.T) {
	b := &memstore.Store{}
	s := payload.New(b, payload.Options{MaxBytes: 10})
	_, err := s.Put(t.Context(), make([]byte, 10))
	require.NoError(t, err)
	_, err = s.Put(t.Context(), make([]byte, 11))
	require.ErrorIs(t, err, payload.ErrTooLarge)
	require.ErrorContains(t, err, "11 bytes, the limit is 10")

	large := payload.Of(make([]byte, 11))
	b.Plant(string(large), make([]byte, 11))
	_, err = s.Get(t.Context(), large)
	require.ErrorIs(t, err, payload.ErrTooLarge)
	require.NotErrorIs(t, err, payload.ErrCorrupt)
}

// counting counts the reads of a backend.
type counting struct {
	payload.Backend
	reads int
}

func (c *counting) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	c.reads++
	return c.Backend.Read(ctx, key, limit)
}

func TestDedupReadsAnObjectOncePerProcess(t *testing.T) {
	c := &counting{Backend: &memstore.Store{}}
	s := payload.New(c, payload.Options{})
	for range 100 {
		_, err := s.Put(t.Context(), []byte("the same"))
		require.NoError(t, err)
	}
	require.Equal(t, 1, c.reads)
}

func TestWrongLengthIsFoundWithoutReading(t *testing.T) {
	b := &memstore.Store{}
	c := &counting{Backend: b}
	s := payload.New(c, payload.Options{})
	b.Plant(string(payload.Of([]byte("good"))), []byte("goo"))
	_, err := s.Put(t.Context(), []byte("good"))
	require.NoError(t, err)
	require.Equal(t, 1, c.reads, "what replaced it is read back")
	require.Len(t, b.Aside(), 1)
}

// TestHealIsReadBack: a backend that says it wrote, and did not, heals nothing.
func TestHealIsReadBack(t *testing.T) {
	var heals []payload.Heal
	b := &memstore.Store{OnWrite: func(string) (bool, error) { return false, nil }}
	s := payload.New(b, payload.Options{OnHeal: func(h payload.Heal) { heals = append(heals, h) }})
	b.Plant(string(payload.Of([]byte("good"))), []byte("evil"))
	_, err := s.Put(t.Context(), []byte("good"))
	require.ErrorContains(t, err, "still wrong after good bytes were written")
	require.NotErrorIs(t, err, payload.ErrCorrupt, "it may be cured by trying again")
	require.Empty(t, heals)

	b.OnWrite = nil
	_, err = s.Put(t.Context(), []byte("good"))
	require.NoError(t, err)
	require.Len(t, heals, 1)
}

// TestMemoryIsBounded: what was forgotten is read again, and a dedup hit on a recent object is not.
func TestMemoryIsBounded(t *testing.T) {
	const many = 40_000 // over two generations
	c := &counting{Backend: &memstore.Store{}}
	s := payload.New(c, payload.Options{})
	put := func(i int) (reads int) {
		before := c.reads
		_, err := s.Put(t.Context(), fmt.Append(nil, i))
		require.NoError(t, err)
		return c.reads - before
	}
	for i := range many {
		put(i)
		put(i)
	}
	require.Equal(t, many, c.reads)
	require.Equal(t, 1, put(0), "the oldest is forgotten")
	require.Equal(t, 0, put(many-1), "the newest is not")
}

// broken is a backend with one method that fails.
type broken struct {
	payload.Backend
	method string
	err    error
}

func (b *broken) fail(method string) error {
	if method == b.method {
		return b.err
	}
	return nil
}

func (b *broken) Stat(ctx context.Context, key string) (payload.Info, error) {
	info, err := b.Backend.Stat(ctx, key)
	return info, errors.Join(b.fail("Stat"), err)
}

func (b *broken) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, err := b.Backend.Read(ctx, key, limit)
	return data, errors.Join(b.fail("Read"), err)
}

func (b *broken) Write(ctx context.Context, key string, data []byte) error {
	if err := b.fail("Write"); err != nil {
		return err
	}
	return b.Backend.Write(ctx, key, data)
}

func (b *broken) Quarantine(ctx context.Context, key string) (string, error) {
	if err := b.fail("Quarantine"); err != nil {
		return "", err
	}
	return b.Backend.Quarantine(ctx, key)
}

// TestPutNeverHidesAFailure: a poisoned object, and each method of the backend failing in turn.
func TestPutNeverHidesAFailure(t *testing.T) {
	data := []byte("good bytes")
	d := payload.Of(data)
	for _, method := range []string{"Stat", "Read", "Write", "Quarantine"} {
		t.Run(method, func(t *testing.T) {
			b := &memstore.Store{}
			b.Plant(string(d), []byte("poisonous!"))
			down := errors.New("backend is down")
			failing := &broken{Backend: b, method: method, err: down}
			s := payload.New(failing, payload.Options{OnHeal: func(payload.Heal) { t.Error("reported a heal") }})
			_, err := s.Put(t.Context(), data)
			require.ErrorIs(t, err, down)
			require.ErrorContains(t, err, string(d))
			_, err = payload.New(b, payload.Options{}).Get(t.Context(), d)
			require.ErrorIs(t, err, payload.ErrCorrupt)

			failing.method = ""
			healed := payload.New(failing, payload.Options{})
			_, err = healed.Put(t.Context(), data)
			require.NoError(t, err)
		})
	}
}

func TestScrubTellsUnreadableFromCorrupt(t *testing.T) {
	b := &memstore.Store{}
	d, err := payload.New(b, payload.Options{}).Put(t.Context(), []byte("good"))
	require.NoError(t, err)
	down := errors.New("backend is down")
	s := payload.New(&broken{Backend: b, method: "Read", err: down}, payload.Options{})
	var problems []payload.Problem
	report, err := s.Scrub(t.Context(), func(p payload.Problem) { problems = append(problems, p) })
	require.NoError(t, err)
	require.Equal(t, 1, report.Unreadable)
	require.Zero(t, report.Corrupt)
	require.Len(t, problems, 1)
	require.Equal(t, d, problems[0].Digest)
	require.ErrorIs(t, problems[0].Err, down)
}

// TestScrubWhileOthersDelete: an object that is gone when its turn comes is no problem.
func TestScrubWhileOthersDelete(t *testing.T) {
	b := &memstore.Store{}
	s := payload.New(b, payload.Options{})
	b.Plant(strings.Repeat("0", 64), []byte("poison"))
	d, err := s.Put(t.Context(), []byte("good"))
	require.NoError(t, err)
	report, err := s.Scrub(t.Context(), func(payload.Problem) { require.NoError(t, s.Delete(t.Context(), d)) })
	require.NoError(t, err)
	require.Equal(t, payload.ScrubReport{Objects: 1, Corrupt: 1}, report)
}

func TestErrorsNameTheDigest(t *testing.T) {
	b := &memstore.Store{}
	s := payload.New(b, payload.Options{})
	d := payload.Of([]byte("good"))
	_, err := s.Get(t.Context(), d)
	require.EqualError(t, err, "get payload: payload not found: "+string(d))

	b.Plant(string(d), []byte("evil"))
	_, err = s.Get(t.Context(), d)
	var corrupt *payload.CorruptError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, d, corrupt.Digest)
	require.EqualError(t, err, "get payload: payload corrupt: "+string(d)+": its 4 bytes hash to "+string(payload.Of([]byte("evil"))))
}
