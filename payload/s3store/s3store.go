// Package s3store keeps payloads in a bucket of S3, or of any service that speaks its protocol.
//
//	objects/ab/abcdef…                          an object, named by the SHA-256 of its content
//	quarantine/abcdef….20261120T150405Z-ABCD    a copy of what stood in an object's place and was wrong
//
// An object is written under the condition that there is none, and with a checksum that the server verifies before
// anybody sees it. So a request that is repeated after its reply was lost changes nothing, and a wrong object is never
// replaced unseen: only the very version that was found wrong is.
package s3store

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"waymark/payload"
)

const (
	objectsPrefix    = "objects/"
	quarantinePrefix = "quarantine/"
)

// Store is a payload.Backend over a bucket, or over what lies below a prefix in it. Several Stores, in several
// processes, may share the place.
type Store struct {
	client *s3.Client
	place  location
	limits limits

	transport *transport
}

// Open returns the Store at a URL: s3://BUCKET/PREFIX, with these parameters where they are needed:
//
//	endpoint     the server, if it is not Amazon's, such as http://127.0.0.1:7070
//	region       such as eu-central-1; without it the region is what the AWS SDK finds, or us-east-1 with an endpoint
//	path_style   true if the bucket stands in the path of a request instead of in its host name
//
// Credentials are those that the AWS SDK finds: environment, shared files, roles. A URL that holds any is refused. Open
// asks the server whether the bucket is there and may be listed, and makes nothing. Close the Store after use.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	return open(ctx, rawURL, nil)
}

// open is Open with the way that requests take.
func open(ctx context.Context, rawURL string, way way) (*Store, error) {
	p, err := parsePlace(rawURL)
	if err != nil {
		return nil, fmt.Errorf("open payload bucket: %w", err)
	}
	client, t, err := connect(ctx, &p, way)
	if err != nil {
		return nil, fmt.Errorf("open payload bucket: %w", err)
	}
	s := &Store{client: client, place: p, limits: defaultLimits, transport: t}
	if err := s.look(ctx, firstLook); err != nil {
		t.close()
		return nil, fmt.Errorf("open payload bucket: %w", s.failed("look for payloads", "", err))
	}
	return s, nil
}

// firstLook makes Open answer soon where nothing listens: somebody may have mistyped the address.
func firstLook(o *s3.Options) { o.RetryMaxAttempts = 4 }

// look lists at most one object. A server that has a reason to refuse gives it here, which it cannot in reply to HEAD.
func (s *Store) look(ctx context.Context, opts ...func(*s3.Options)) error {
	one := int32(1)
	prefix := s.place.name(objectsPrefix)
	_, err := s.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &s.place.bucket, Prefix: &prefix, MaxKeys: &one}, opts...)
	return err
}

// Close lets go of idle connections. The Store must not be used afterwards.
func (s *Store) Close() error {
	s.transport.close()
	return nil
}

// Location names the place for people. It holds no credentials.
func (s *Store) Location() string { return s.place.String() }

// admit refuses bad keys and ended contexts before any request is made.
func admit(ctx context.Context, key string) error {
	if _, err := payload.ParseDigest(key); err != nil {
		return err
	}
	return ctx.Err()
}

func objectName(key string) string { return objectsPrefix + key[:2] + "/" + key }
