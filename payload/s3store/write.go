package s3store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithytime "github.com/aws/smithy-go/time"
)

const (
	// writeAttempts bounds how often a write begins again because the object changed under it.
	writeAttempts = 30

	// patientAttempts is how many of them follow each other without a pause.
	patientAttempts = 3
)

// limits are the sizes at which a Store cuts.
type limits struct {
	single int // the longest object that is written by one request
	part   int // bytes in each part of a longer one; Amazon takes no less than 5 MiB
}

var defaultLimits = limits{single: 64 << 20, part: 16 << 20}

// object is what Write has to store.
type object struct {
	name string
	data []byte
	sum  sum
}

// sum is a SHA-256.
type sum [sha256.Size]byte

func sumOf(data []byte) sum { return sha256.Sum256(data) }

// base64 is the form in which S3 gives and takes checksums.
func (s sum) base64() *string { return aws.String(base64.StdEncoding.EncodeToString(s[:])) }

// condition says what must stand under a name for a write to happen.
type condition struct {
	etag string // empty: nothing may
}

func (c condition) ifMatch() *string {
	if c.etag == "" {
		return nil
	}
	return &c.etag
}

func (c condition) ifNoneMatch() *string {
	if c.etag == "" {
		return aws.String("*")
	}
	return nil
}

// Write stores data under the condition that nothing is there. If something is, it is compared: equal bytes are what was
// to be done, perhaps by an earlier request of this very Write whose reply was lost; other bytes are replaced under the
// condition that they are still the same. The server verifies the SHA-256 of what it got before it shows it to anybody.
func (s *Store) Write(ctx context.Context, key string, data []byte) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	o := object{name: s.place.name(objectName(key)), data: data, sum: sumOf(data)}
	return s.failed("write", key, s.publish(ctx, o))
}

func (s *Store) publish(ctx context.Context, o object) error {
	var must condition
	var err error
	for attempt := range writeAttempts {
		if attempt >= patientAttempts {
			if err := smithytime.SleepWithContext(ctx, pause(attempt-patientAttempts+1)); err != nil {
				return err
			}
		}
		if err = s.put(ctx, o, must); !isOvertaken(err) {
			return err
		}
		there, err := s.head(ctx, o.name)
		switch {
		case isMissing(err):
			must = condition{}
			continue
		case err != nil:
			return err
		}
		same, err := s.same(ctx, o, there)
		if same || err != nil {
			return err
		}
		must = condition{etag: there.etag}
	}
	return fmt.Errorf("gave up after %d attempts, because others write under the same name: %w", writeAttempts, err)
}

func (s *Store) put(ctx context.Context, o object, must condition) error {
	if len(o.data) > s.limits.single {
		return s.putParts(ctx, o, must)
	}
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.place.bucket, Key: &o.name, Body: bytes.NewReader(o.data),
		ChecksumSHA256: o.sum.base64(), IfMatch: must.ifMatch(), IfNoneMatch: must.ifNoneMatch(),
	}, signedBody(o.sum))
	return err
}

// signedBody spares the SDK the hashing of a body whose hash is known.
func signedBody(hash sum) func(*s3.Options) {
	set := middleware.InitializeMiddlewareFunc("KnownBody", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		return next.HandleInitialize(v4.SetPayloadHash(ctx, hex.EncodeToString(hash[:])), in)
	})
	return s3.WithAPIOptions(func(stack *middleware.Stack) error { return stack.Initialize.Add(set, middleware.Before) })
}

// seen is what the server says of an object.
type seen struct {
	bytes    int64
	etag     string
	version  string // empty in a bucket that keeps no versions
	modified time.Time
}

// head asks the server for its description of an object.
func (s *Store) head(ctx context.Context, name string) (seen, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.place.bucket, Key: &name})
	if err != nil {
		return seen{}, s.reason(ctx, err)
	}
	return seen{
		bytes: aws.ToInt64(out.ContentLength), etag: aws.ToString(out.ETag), version: aws.ToString(out.VersionId),
		modified: aws.ToTime(out.LastModified),
	}, nil
}

// same reports whether the object that is there has the bytes of o. Longer or shorter it cannot have; else the bytes are read:
// what the server says their SHA-256 is was true when they came, and may not be of what its disk has now.
func (s *Store) same(ctx context.Context, o object, there seen) (bool, error) {
	if there.bytes != int64(len(o.data)) {
		return false, nil
	}
	data, err := s.fetch(ctx, &s3.GetObjectInput{Key: &o.name}, wholeUpTo(there.bytes))
	if isMissing(err) || errors.Is(err, errTooLong) {
		return false, nil
	}
	return bytes.Equal(data, o.data), err
}
