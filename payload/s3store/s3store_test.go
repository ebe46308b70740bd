package s3store

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/payloadtest"
	"waymark/tests/services"
)

// TestMain makes the contract's tests as short as with -short, because each of their calls is a request here. CI runs
// them in full, which takes half a minute more.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("CI") == "" {
		if err := flag.Set("test.short", "true"); err != nil {
			panic(err)
		}
	}
	os.Exit(services.Main(m))
}

// openBucket returns the Store in a bucket, with the way its requests take.
func openBucket(t testing.TB, b *services.Bucket, way way) *Store {
	t.Helper()
	b.Setenv(t)
	s, err := open(t.Context(), b.URL("pay/loads"), way)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestBackend(t *testing.T) {
	payloadtest.Run(t, func(t *testing.T) payload.Backend { return openBucket(t, services.S3(t), nil) })
}

// TestBackendInParts runs the contract with every object but the empty one written in parts.
func TestBackendInParts(t *testing.T) {
	payloadtest.Run(t, func(t *testing.T) payload.Backend {
		s := openBucket(t, services.S3(t), nil)
		s.limits = limits{single: 0, part: 5 << 20}
		t.Cleanup(func() { requireNoUploads(t, s) })
		return s
	})
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
