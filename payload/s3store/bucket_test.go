package s3store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/payloadtest"
	"waymark/tests/services/buckets"
)

// random returns size bytes that depend on seed only.
func random(size int, seed byte) []byte {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

// plant puts bytes under a name of the bucket as some other program would.
func plant(t *testing.T, s *Store, name string, data []byte) {
	t.Helper()
	_, err := s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.place.bucket, Key: &name, Body: bytes.NewReader(data)})
	require.NoError(t, err)
}

// contents returns all objects of the bucket by name.
func contents(t *testing.T, s *Store) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	require.NoError(t, s.list(t.Context(), "", func(name string) error {
		got, err := s.client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &s.place.bucket, Key: &name})
		require.NoError(t, err)
		all[name], err = io.ReadAll(got.Body)
		require.NoError(t, err)
		return got.Body.Close()
	}))
	return all
}

func nameOf(data []byte) string { return "pay/loads/" + objectName(string(payload.Of(data))) }

func TestAnObjectStandsUnderItsHash(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	d, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("hello"))
	require.NoError(t, err)
	require.EqualValues(t, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", d)
	require.Equal(t, map[string][]byte{"pay/loads/objects/2c/" + string(d): []byte("hello")}, contents(t, s))
	there, err := s.client.HeadObject(t.Context(), &s3.HeadObjectInput{
		Bucket: &s.place.bucket, Key: aws.String("pay/loads/objects/2c/" + string(d)), ChecksumMode: types.ChecksumModeEnabled,
	})
	require.NoError(t, err)
	require.Equal(t, "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", aws.ToString(there.ChecksumSHA256), "the server knows the hash, too")
}

// TestPoisonIsSetAsideAndReplaced plants what another program wrote, with the checksums that belong to it.
func TestPoisonIsSetAsideAndReplaced(t *testing.T) {
	data := random(5000, 1)
	flipped := bytes.Clone(data)
	flipped[2500] ^= 1
	for name, wrong := range map[string][]byte{
		"truncated": data[:4999], "bit flipped": flipped, "empty": {}, "longer": append(bytes.Clone(data), 0),
	} {
		t.Run(name, func(t *testing.T) {
			s := openBucket(t, buckets.New(t), nil)
			payloadtest.Heals(t, s, data, func() { plant(t, s, nameOf(data), wrong) })
			all := contents(t, s)
			require.Equal(t, data, all[nameOf(data)])
			delete(all, nameOf(data))
			require.Len(t, all, 2, "both poisoned copies are kept")
			for place, kept := range all {
				require.True(t, strings.HasPrefix(place, "pay/loads/quarantine/"+string(payload.Of(data))+"."), place)
				require.Equal(t, wrong, kept)
			}

			require.NoError(t, s.Delete(t.Context(), string(payload.Of(data))))
			require.Empty(t, contents(t, s), "what was set aside goes with the object")
		})
	}
}

// TestManyWritersWriteOneObjectOnce: each writer has a connection pool of its own, as processes do.
func TestManyWritersWriteOneObjectOnce(t *testing.T) {
	b := buckets.New(t)
	data := random(100_000, 2)
	var written atomic.Int64
	count := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodPut && response.StatusCode == http.StatusOK {
				written.Add(1)
			}
			return response, err
		})
	}
	var looked, writers sync.WaitGroup
	looked.Add(64)
	for range 64 {
		s := payload.New(&hesitant{Store: openBucket(t, b, count), looked: &looked}, payload.Options{
			OnHeal: func(h payload.Heal) { t.Errorf("healed: %+v", h) },
		})
		writers.Go(func() {
			if _, err := s.Put(t.Context(), data); err != nil {
				t.Errorf("put: %v", err)
			}
		})
	}
	writers.Wait()
	require.EqualValues(t, 1, written.Load(), "good bytes are never written over")
	require.Equal(t, map[string][]byte{nameOf(data): data}, contents(t, openBucket(t, b, nil)))
}

// hesitant is a writer that has seen that nothing is there, and waits until all others have.
type hesitant struct {
	*Store
	looked *sync.WaitGroup
}

func (h *hesitant) Write(ctx context.Context, key string, data []byte) error {
	h.looked.Done()
	h.looked.Wait()
	return h.Store.Write(ctx, key, data)
}

// TestHealersReplaceOnlyThePoison: a healer that comes late does not write over what another one put right.
func TestHealersReplaceOnlyThePoison(t *testing.T) {
	for name, cuts := range map[string]limits{"in one request": defaultLimits, "in parts": {single: 0, part: 5 * mebi}} {
		t.Run(name, func(t *testing.T) {
			data := random(5000, 3)
			s := openBucket(t, buckets.New(t), nil)
			s.limits = cuts
			plant(t, s, nameOf(data), []byte("poison"))
			before, err := s.head(t.Context(), nameOf(data))
			require.NoError(t, err)
			require.NoError(t, s.Write(t.Context(), string(payload.Of(data)), data))
			good, err := s.head(t.Context(), nameOf(data))
			require.NoError(t, err)

			late := object{name: nameOf(data), data: []byte("late"), sum: sumOf([]byte("late"))}
			require.True(t, isOvertaken(s.put(t.Context(), late, condition{etag: before.etag})), "the poison is gone")
			require.True(t, isOvertaken(s.put(t.Context(), late, condition{})), "something is there")
			after, err := s.head(t.Context(), nameOf(data))
			require.NoError(t, err)
			require.Equal(t, good, after)
			requireNoUploads(t, s)
		})
	}
}

// TestWhatWasSetAsideIsNotWrittenOver: the reply to the copying is lost, another writer heals, and the request is repeated.
func TestWhatWasSetAsideIsNotWrittenOver(t *testing.T) {
	b := buckets.New(t)
	other := openBucket(t, b, nil)
	data := random(5000, 6)
	key := string(payload.Of(data))
	lost := false
	s := openBucket(t, b, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("X-Amz-Copy-Source") == "" || lost {
				return next.RoundTrip(r)
			}
			lost = true
			response, err := next.RoundTrip(r)
			if err := errors.Join(err, response.Body.Close(), other.Write(r.Context(), key, data)); err != nil {
				t.Errorf("copy, then heal: %v", err)
			}
			return nil, errReset
		})
	})
	plant(t, s, nameOf(data), []byte("poison"))
	place, err := s.Quarantine(t.Context(), key)
	require.NoError(t, err)
	require.True(t, lost)
	require.Equal(t, map[string][]byte{nameOf(data): data, "pay/loads/" + place: []byte("poison")}, contents(t, s))
}

func TestServerChecksHash(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	o := object{name: nameOf([]byte("good")), data: []byte("evil"), sum: sumOf([]byte("good"))}
	err := s.failed("write", "", s.put(t.Context(), o, condition{}))
	require.ErrorContains(t, err, "what arrived is not what was sent")
	require.Empty(t, contents(t, s))
}

func TestWalkPassesOverWhatIsNotOurs(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	key := string(payload.Of([]byte("x")))
	require.NoError(t, s.Write(t.Context(), key, []byte("x")))
	other := string(payload.Of([]byte("y")))
	for _, name := range []string{
		"pay/loads/objects/readme", "pay/loads/objects/a b+c&d<é", "pay/loads/objects/00/" + other, "pay/loads/objects/" + other,
		"pay/loads2/objects/" + other[:2] + "/" + other, "objects/" + other[:2] + "/" + other, "pay/loads/quarantine/" + other + ".0",
		"pay/loads/objects/" + other[:2] + "/" + other + ".tmp",
	} {
		plant(t, s, name, []byte("y"))
	}
	var seen []string
	require.NoError(t, s.Walk(t.Context(), func(key string) error { seen = append(seen, key); return nil }))
	require.Equal(t, []string{key}, seen)

	_, err := s.Stat(t.Context(), other)
	require.ErrorIs(t, err, payload.ErrNotFound)
}

// TestNamesAreDecoded as servers encode them that heed the request to; versitygw does not.
func TestNamesAreDecoded(t *testing.T) {
	for encoding, want := range map[types.EncodingType]string{types.EncodingTypeUrl: "a b/+c", "": "a+b/%2Bc"} {
		got, err := decodeName("a+b/%2Bc", encoding)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := decodeName("%", types.EncodingTypeUrl)
	require.ErrorContains(t, err, "cannot be decoded")
}

// TestWalkSeesAllPages lists more names than fit into one reply.
func TestWalkSeesAllPages(t *testing.T) {
	const want = 31
	s := openBucket(t, buckets.New(t), nil)
	for n := range want {
		require.NoError(t, s.Write(t.Context(), keyOf(n), bodyOf(n)))
	}
	pages := 0
	s.client = pagedClient(s, 7, &pages)
	last, seen := "", 0
	require.NoError(t, s.Walk(t.Context(), func(key string) error {
		require.Greater(t, key, last)
		last, seen = key, seen+1
		return nil
	}))
	require.Equal(t, want, seen)
	require.Equal(t, 5, pages)
}

func TestDeleteLeavesOtherKeys(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	var places []string
	for n := range 2 {
		require.NoError(t, s.Write(t.Context(), keyOf(n), []byte("poison")))
		place, err := s.Quarantine(t.Context(), keyOf(n))
		require.NoError(t, err)
		places = append(places, place)
	}
	require.NoError(t, s.Delete(t.Context(), keyOf(0)))
	left := contents(t, s)
	require.Contains(t, left, "pay/loads/"+places[1])
	require.Contains(t, left, "pay/loads/"+objectName(keyOf(1)))
	require.Len(t, left, 2)
}

// TestAPrefixMayHoldAnyCharacters that a URL can name.
func TestAPrefixMayHoldAnyCharacters(t *testing.T) {
	b := buckets.New(t)
	b.Setenv(t)
	s, err := Open(t.Context(), strings.Replace(b.URL("p"), "/p?", "/a%20b+c%25d%26e=é%3F%23/*'!~?", 1))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.Equal(t, "a b+c%d&e=é?#/*'!~/", s.place.prefix)
	key, data := keyOf(1), bodyOf(1)
	require.NoError(t, s.Write(t.Context(), key, []byte("poison")))
	place, err := s.Quarantine(t.Context(), key)
	require.NoError(t, err)
	require.NoError(t, s.Write(t.Context(), key, data))
	require.Equal(t, map[string][]byte{s.place.name(objectName(key)): data, s.place.name(place): []byte("poison")}, contents(t, s))
	var seen []string
	require.NoError(t, s.Walk(t.Context(), func(key string) error { seen = append(seen, key); return nil }))
	require.Equal(t, []string{key}, seen)
	_, err = s.begin(t.Context(), s.place.name(objectName(key)))
	require.NoError(t, err)
	removed, err := s.Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoError(t, s.Delete(t.Context(), key))
	require.Empty(t, contents(t, s))
}

func TestStoresUnderOtherPrefixesDoNotMeet(t *testing.T) {
	b := buckets.New(t)
	whole := openWhole(t, b)
	one := openBucket(t, b, nil)
	key := string(payload.Of([]byte("x")))
	require.NoError(t, one.Write(t.Context(), key, []byte("x")))
	_, err := whole.Read(t.Context(), key, 10)
	require.ErrorIs(t, err, payload.ErrNotFound)
	require.NoError(t, whole.Delete(t.Context(), key))
	data, err := one.Read(t.Context(), key, 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func TestReadStopsAtTheLimitBeforeReading(t *testing.T) {
	s := openBucket(t, buckets.New(t), nil)
	data := random(1<<20, 4)
	key := string(payload.Of(data))
	require.NoError(t, s.Write(t.Context(), key, data))
	_, err := s.Read(t.Context(), key, 1<<20-1)
	require.ErrorIs(t, err, payload.ErrTooLarge)
	require.ErrorContains(t, err, "it is 1048576 bytes long")
}

func TestAContextThatEndsIsObeyed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := openBucket(t, buckets.New(t), func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut {
				cancel()
				return nil, io.ErrUnexpectedEOF
			}
			return next.RoundTrip(r)
		})
	})
	err := s.Write(ctx, string(payload.Of([]byte("x"))), []byte("x"))
	require.ErrorIs(t, err, context.Canceled)
}

// pagedClient asks for lists in pages of the given length, and counts them.
func pagedClient(s *Store, length int32, pages *int) *s3.Client {
	set := middleware.InitializeMiddlewareFunc("ShortPages", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if list, ok := in.Parameters.(*s3.ListObjectsV2Input); ok {
			list.MaxKeys = &length
			*pages++
		}
		return next.HandleInitialize(ctx, in)
	})
	return s3.New(s.client.Options(), s3.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Initialize.Add(set, middleware.Before)
	}))
}
