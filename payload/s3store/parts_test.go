package s3store

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/tests/sample"
	"waymark/tests/services/buckets"
)

const mebi = 1 << 20

// TestALongObjectIsWrittenInParts with the limits that users get at night, and with lower ones by day.
func TestALongObjectIsWrittenInParts(t *testing.T) {
	users := limits{single: 64 * mebi, part: 16 * mebi}
	require.Equal(t, users, defaultLimits)
	for name, cuts := range map[string]limits{"low": {single: 20 * mebi, part: 5 * mebi}, "of users": users} {
		t.Run(name, func(t *testing.T) {
			if cuts == users {
				sample.Rarely(t)
			}
			writeLongObject(t, cuts)
		})
	}
}

func writeLongObject(t *testing.T, cuts limits) {
	t.Helper()
	var parts, whole atomic.Int64
	s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodPut && r.URL.Query().Has("partNumber"):
				parts.Add(1)
			case r.Method == http.MethodPut:
				whole.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	require.Equal(t, defaultLimits, s.limits)
	s.limits = cuts
	data := random(cuts.single+1, 1)
	key := string(payload.Of(data))
	require.NoError(t, s.Write(t.Context(), key, data))
	require.EqualValues(t, 5, parts.Load())
	require.Zero(t, whole.Load())

	store := payload.New(s, payload.Options{})
	got, err := store.Get(t.Context(), payload.Digest(key))
	require.NoError(t, err)
	require.Equal(t, payload.Digest(key), payload.Of(got))

	require.NoError(t, s.Write(t.Context(), key, data), "the same again is compared")
	requireNoUploads(t, s)

	_, err = store.Put(t.Context(), data[:cuts.single])
	require.NoError(t, err)
	require.EqualValues(t, 1, whole.Load(), "what is not over the limit goes in one request")
}

// TestPoisonUnderALongObjectIsReplaced also where the replacement comes in parts.
func TestPoisonUnderALongObjectIsReplaced(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	s.limits = limits{single: 5 * mebi, part: 5 * mebi}
	data := random(11*mebi, 2)
	plant(t, s, nameOf(data), random(11*mebi, 3))
	healed := 0
	d, err := payload.New(s, payload.Options{OnHeal: func(payload.Heal) { healed++ }}).Put(t.Context(), data)
	require.NoError(t, err)
	require.Equal(t, 1, healed)
	got, err := s.Read(t.Context(), string(d), noLimit)
	require.NoError(t, err)
	require.Equal(t, d, payload.Of(got))
	requireNoUploads(t, s)
}

// TestAWriteInPartsThatFailsLeavesNothing: neither an object nor an upload. If the writer cannot even throw its upload
// away, as when it is killed, Sweep does, but not before the upload is old.
func TestAWriteInPartsThatFailsLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		fails func(r *http.Request) bool
		left  int
	}{
		"the third part":          {func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "3" }, 0},
		"the completion":          {func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }, 0},
		"everything after a part": {after("2"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := buckets.New(t)
			s := openBucket(t, b, func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if test.fails(r) {
						return refusal(r, http.StatusForbidden, "AccessDenied", "no"), nil
					}
					return next.RoundTrip(r)
				})
			})
			s.limits = limits{single: 5 * mebi, part: 5 * mebi}
			data := random(16*mebi, 4)
			err := s.Write(t.Context(), string(payload.Of(data)), data)
			require.ErrorContains(t, err, "access is denied")

			other := openBucket(t, b, nil)
			_, err = other.Stat(t.Context(), string(payload.Of(data)))
			require.ErrorIs(t, err, payload.ErrNotFound)
			require.Len(t, uploads(t, other), test.left)

			removed, err := other.Sweep(t.Context(), time.Hour)
			require.NoError(t, err)
			require.Zero(t, removed, "its writer may live")
			removed, err = other.Sweep(t.Context(), -time.Hour)
			require.NoError(t, err)
			require.Equal(t, test.left, removed)
			requireNoUploads(t, other)
		})
	}
}

// after fails every request that comes after the one for the given part.
func after(part string) func(r *http.Request) bool {
	var now atomic.Bool
	return func(r *http.Request) bool {
		if now.Load() {
			return true
		}
		if r.URL.Query().Get("partNumber") == part {
			now.Store(true)
		}
		return false
	}
}

// TestAWriterWhoseUploadWasSweptWritesAgain: it was stopped for longer than the grace period, and continues.
func TestAWriterWhoseUploadWasSweptWritesAgain(t *testing.T) {
	b := buckets.New(t)
	sweeper := openBucket(t, b, nil)
	var swept atomic.Bool
	s := openBucket(t, b, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && swept.CompareAndSwap(false, true) {
				if n, err := sweeper.Sweep(r.Context(), -time.Hour); n != 1 || err != nil {
					t.Errorf("swept %d, %v", n, err)
				}
			}
			return next.RoundTrip(r)
		})
	})
	s.limits = limits{single: 5 * mebi, part: 5 * mebi}
	data := random(6*mebi, 5)
	require.NoError(t, s.Write(t.Context(), string(payload.Of(data)), data))
	require.True(t, swept.Load())
	got, err := s.Read(t.Context(), string(payload.Of(data)), noLimit)
	require.NoError(t, err)
	require.Equal(t, payload.Of(data), payload.Of(got))
	requireNoUploads(t, s)
}

// TestSweepLeavesUploadsOfOthersAlone that do not stand below the prefix.
func TestSweepLeavesUploadsOfOthersAlone(t *testing.T) {
	b := buckets.New(t)
	s := openBucket(t, b, nil)
	whole := openWhole(t, b)
	whole.limits = limits{single: 0, part: 5 * mebi}
	upload, err := whole.begin(t.Context(), "objects/elsewhere")
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Zero(t, removed)
	for range 2 {
		require.NoError(t, whole.abandon(t.Context(), "objects/elsewhere", upload), "also if it is gone")
	}
}
