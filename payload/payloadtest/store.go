package payloadtest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
)

func runStore(t *testing.T, newBackend func(t *testing.T) payload.Backend) {
	for name, test := range map[string]func(*testing.T, payload.Backend){
		"sizes":               storeSizes,
		"bad keys":            storeRefusesBadKeys,
		"plants":              storeHealsPlants,
		"every byte flipped":  storeFindsEveryFlip,
		"concurrent puts":     storeConcurrentPuts,
		"concurrent heals":    storeConcurrentHeals,
		"lost request":        storeLostRequest,
		"lost reply":          storeLostReply,
		"scrub":               storeScrub,
		"modified after read": storeNoticesModification,
	} {
		t.Run(name, func(t *testing.T) { test(t, newBackend(t)) })
	}
}

func storeSizes(t *testing.T, b payload.Backend) {
	s := payload.New(b, payload.Options{})
	for _, size := range []int{0, 1, 4096, smaller(64<<20, 4<<20)} {
		key, data := object(size, 3)
		d := payload.Digest(key)
		found, err := s.Has(t.Context(), d)
		require.NoError(t, err)
		require.False(t, found)

		got, err := s.Put(t.Context(), data)
		require.NoError(t, err)
		require.Equal(t, d, got)
		found, err = s.Has(t.Context(), d)
		require.NoError(t, err)
		require.True(t, found)
		requireGet(t, s, d, data)

		require.NoError(t, s.Delete(t.Context(), d))
		_, err = s.Get(t.Context(), d)
		require.ErrorIs(t, err, payload.ErrNotFound)
		require.NotErrorIs(t, err, payload.ErrCorrupt)
	}
}

func requireGet(t *testing.T, s *payload.Store, d payload.Digest, data []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), d)
	require.NoError(t, err)
	require.NotNil(t, got)
	require.True(t, bytes.Equal(data, got))
}

func storeRefusesBadKeys(t *testing.T, b payload.Backend) {
	s := payload.New(b, payload.Options{})
	for name, key := range BadKeys() {
		d := payload.Digest(key)
		_, err := s.Get(t.Context(), d)
		require.ErrorIs(t, err, payload.ErrBadKey, name)
		_, err = s.Has(t.Context(), d)
		require.ErrorIs(t, err, payload.ErrBadKey, name)
		require.ErrorIs(t, s.Delete(t.Context(), d), payload.ErrBadKey, name)
	}
}

// storeHealsPlants puts wrong bytes in an object's place.
func storeHealsPlants(t *testing.T, b payload.Backend) {
	key, data := object(5000, 4)
	flipped := bytes.Clone(data)
	flipped[2500] ^= 1
	for name, wrong := range map[string][]byte{
		"truncated":   data[:4999],
		"zeroed":      make([]byte, len(data)),
		"half zeroed": append(bytes.Clone(data[:2500]), make([]byte, 2500)...),
		"bit flipped": flipped,
		"empty":       {},
		"longer":      append(bytes.Clone(data), 0),
	} {
		t.Run(name, func(t *testing.T) {
			Heals(t, b, data, func() { require.NoError(t, b.Write(t.Context(), key, wrong)) })
		})
	}
}

// Heals requires of a Store over b that what plant puts in the place of data is never returned, is found by Scrub, and is
// set aside, reported and replaced by the next Put, in a Store that knew the object as good before and in a new one.
func Heals(t *testing.T, b payload.Backend, data []byte, plant func()) {
	t.Helper()
	var heals []payload.Heal
	opts := payload.Options{OnHeal: func(h payload.Heal) { heals = append(heals, h) }}
	knew := payload.New(b, opts)
	for range 2 { // the second Put verifies, and remembers
		_, err := knew.Put(t.Context(), data)
		require.NoError(t, err)
	}
	for _, s := range []*payload.Store{knew, payload.New(b, opts)} {
		heals = nil
		plant()
		requirePoisoned(t, s, payload.Of(data))
		d, err := s.Put(t.Context(), data)
		require.NoError(t, err)
		requireGet(t, s, d, data)
		require.Len(t, heals, 1)
		require.Equal(t, d, heals[0].Digest)
		require.NotEmpty(t, heals[0].Reason)
		require.NotEmpty(t, heals[0].Place)
	}
}

// requirePoisoned requires that Get refuses the object under d as corrupt, twice, and that Scrub reports it alone.
func requirePoisoned(t *testing.T, s *payload.Store, d payload.Digest) {
	t.Helper()
	for range 2 {
		got, err := s.Get(t.Context(), d)
		require.Nil(t, got)
		require.ErrorIs(t, err, payload.ErrCorrupt)
		require.NotErrorIs(t, err, payload.ErrNotFound)
	}
	var problems []payload.Digest
	report, err := s.Scrub(t.Context(), func(p payload.Problem) {
		require.ErrorIs(t, p.Err, payload.ErrCorrupt)
		problems = append(problems, p.Digest)
	})
	require.NoError(t, err)
	require.Equal(t, 1, report.Corrupt)
	require.Equal(t, []payload.Digest{d}, problems)
}

func storeFindsEveryFlip(t *testing.T, b payload.Backend) {
	s := payload.New(b, payload.Options{})
	key, data := object(512, 5)
	for i := 0; i < len(data); i += smaller(1, 8) {
		data[i] ^= 1 << (i % 8)
		require.NoError(t, b.Write(t.Context(), key, data))
		_, err := s.Get(t.Context(), payload.Digest(key))
		require.ErrorIs(t, err, payload.ErrCorrupt, "byte %d", i)
		data[i] ^= 1 << (i % 8)
	}
	_, err := s.Put(t.Context(), data)
	require.NoError(t, err)
	requireGet(t, s, payload.Digest(key), data)
}

// storeConcurrentPuts gives every goroutine a Store of its own, as processes would have.
func storeConcurrentPuts(t *testing.T, b payload.Backend) {
	key, data := object(5000, 6)
	var writers sync.WaitGroup
	for range 16 {
		s := payload.New(b, payload.Options{OnHeal: func(h payload.Heal) { t.Errorf("healed: %+v", h) }})
		writers.Go(func() {
			for range smaller(250, 50) {
				if _, err := s.Put(t.Context(), data); err != nil {
					t.Errorf("put: %v", err)
				}
			}
		})
	}
	writers.Wait()
	require.Equal(t, []string{key}, keys(t, b))
	holds(t, b, key, data)
}

// storeConcurrentHeals: as soon as one Put returned, the good object is never away again.
func storeConcurrentHeals(t *testing.T, b payload.Backend) {
	key, data := object(5000, 7)
	for range smaller(50, 5) {
		require.NoError(t, b.Write(t.Context(), key, data[:100]))
		var writers sync.WaitGroup
		for range 4 {
			s := payload.New(b, payload.Options{})
			writers.Go(func() {
				d, err := s.Put(t.Context(), data)
				for n := 0; err == nil && n < 20; n++ {
					_, err = s.Get(t.Context(), d)
				}
				if err != nil {
					t.Errorf("put or get while others heal: %v", err)
				}
			})
		}
		writers.Wait()
	}
}

// fated is a backend whose first write is lost: on the way there, or only its reply.
type fated struct {
	payload.Backend
	keep bool
	err  error
}

func (f *fated) Write(ctx context.Context, key string, data []byte) error {
	err := f.err
	if err == nil || f.keep {
		err = errors.Join(err, f.Backend.Write(ctx, key, data))
	}
	f.err = nil
	return err
}

func storeLostRequest(t *testing.T, b payload.Backend) { requireSecondPut(t, b, false) }

func storeLostReply(t *testing.T, b payload.Backend) { requireSecondPut(t, b, true) }

func requireSecondPut(t *testing.T, b payload.Backend, keep bool) {
	t.Helper()
	lost := errors.New("connection reset")
	s := payload.New(&fated{Backend: b, keep: keep, err: lost}, payload.Options{})
	_, data := object(5000, 8)
	d, err := s.Put(t.Context(), data)
	require.ErrorIs(t, err, lost)
	require.Empty(t, d)
	found, err := s.Has(t.Context(), payload.Of(data))
	require.NoError(t, err)
	require.Equal(t, keep, found)

	d, err = s.Put(t.Context(), data)
	require.NoError(t, err)
	requireGet(t, s, d, data)
}

func storeScrub(t *testing.T, b payload.Backend) {
	s := payload.New(b, payload.Options{MaxBytes: 100})
	report, err := s.Scrub(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, report)

	for seed := range uint64(9) {
		_, data := object(100, seed)
		_, err := s.Put(t.Context(), data)
		require.NoError(t, err)
	}
	wrong, _ := object(100, 9)
	require.NoError(t, b.Write(t.Context(), wrong, []byte("wrong")))
	long, data := object(101, 10)
	require.NoError(t, b.Write(t.Context(), long, data))

	var problems []payload.Problem
	report, err = s.Scrub(t.Context(), func(p payload.Problem) { problems = append(problems, p) })
	require.NoError(t, err)
	require.Equal(t, payload.ScrubReport{Objects: 11, Bytes: 900, Corrupt: 1, Unreadable: 1}, report)
	require.Len(t, problems, 2)

	_, err = s.Scrub(ended(t), nil)
	require.ErrorIs(t, err, context.Canceled)
}

// storeNoticesModification: content is verified once per version, not once for ever.
func storeNoticesModification(t *testing.T, b payload.Backend) {
	healed := 0
	s := payload.New(b, payload.Options{OnHeal: func(payload.Heal) { healed++ }})
	key, data := object(5000, 11)
	for range 3 {
		_, err := s.Put(t.Context(), data)
		require.NoError(t, err)
	}
	require.NoError(t, b.Write(t.Context(), key, make([]byte, 5000)))
	_, err := s.Put(t.Context(), data)
	require.NoError(t, err)
	require.Equal(t, 1, healed)
	requireGet(t, s, payload.Digest(key), data)
}
