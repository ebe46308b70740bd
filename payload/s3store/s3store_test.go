package s3store

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"waymark/payload/payloadtest"
	"waymark/tests/sample"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

// shortly makes the counts of the contract's tests what they are with -short, because each of their calls is a request here.
func shortly(t *testing.T) {
	t.Helper()
	short := flag.Lookup("test.short")
	before := short.Value.String()
	require.NoError(t, short.Value.Set("true"))
	t.Cleanup(func() { require.NoError(t, short.Value.Set(before)) })
}

// openBucket returns the Store in a bucket, with the way its requests take.
func openBucket(t testing.TB, b *buckets.Bucket, way way) *Store {
	t.Helper()
	b.Setenv(t)
	s, err := open(t.Context(), b.URL("pay/loads"), way)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// openWhole returns the Store that has the bucket for itself.
func openWhole(t testing.TB, b *buckets.Bucket) *Store {
	t.Helper()
	b.Setenv(t)
	s, err := Open(t.Context(), b.URL(""))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestBackend runs the contract; make nightly runs it in full, which takes half a minute more.
func TestBackend(t *testing.T) {
	if !sample.All() {
		shortly(t)
	}
	payloadtest.Run(t, func(t *testing.T) payloadtest.Subject {
		b := buckets.New(t)
		return subject(b, openBucket(t, b, nil))
	})
}

// TestBackendInParts runs the contract with every object but the empty one written in parts.
func TestBackendInParts(t *testing.T) {
	shortly(t)
	payloadtest.Run(t, func(t *testing.T) payloadtest.Subject {
		b := buckets.New(t)
		s := openBucket(t, b, nil)
		s.limits = limits{single: 0, part: 5 << 20}
		t.Cleanup(func() { requireNoUploads(t, s) })
		return subject(b, s)
	})
}

// subject lets bytes rot on the disk of the server, which keeps its checksum and its entity tag of them.
func subject(b *buckets.Bucket, s *Store) payloadtest.Subject {
	return payloadtest.Subject{Backend: s, Rot: func(t *testing.T, key string, data []byte) {
		t.Helper()
		b.Rot(t, s.place.name(objectName(key)), data)
	}}
}

// requireNoUploads requires that no upload was left unfinished.
func requireNoUploads(t *testing.T, s *Store) {
	t.Helper()
	require.Empty(t, uploads(t, s))
}

func uploads(t *testing.T, s *Store) []types.MultipartUpload {
	t.Helper()
	listed, err := s.client.ListMultipartUploads(context.Background(), &s3.ListMultipartUploadsInput{Bucket: &s.place.bucket})
	require.NoError(t, err)
	return listed.Uploads
}
