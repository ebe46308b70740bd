package s3store

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Delete removes what was set aside under the key, and the object. A bucket that keeps versions keeps them: their end is
// for the rules of the bucket to say.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := admit(ctx, key); err != nil {
		return err
	}
	return s.failed("delete", key, s.remove(ctx, key))
}

func (s *Store) remove(ctx context.Context, key string) error {
	err := s.list(ctx, s.place.name(quarantinePrefix+key+"."), func(name string) error { return s.drop(ctx, name) })
	if err != nil {
		return err
	}
	return s.drop(ctx, s.place.name(objectName(key)))
}

func (s *Store) drop(ctx context.Context, name string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.place.bucket, Key: &name})
	if isMissing(err) {
		return nil
	}
	return err
}

// Quarantine copies what stands under key to quarantine/<key>.<time>-<letters>, inside the server. The object stays until
// Write replaces it, so that two writers that heal at once cannot take each other's good object away.
func (s *Store) Quarantine(ctx context.Context, key string) (string, error) {
	if err := admit(ctx, key); err != nil {
		return "", err
	}
	relative := fmt.Sprintf("%s%s.%s-%s", quarantinePrefix, key, time.Now().UTC().Format("20060102T150405Z"), rand.Text())
	if err := s.copyAside(ctx, s.place.name(objectName(key)), s.place.name(relative)); err != nil {
		return "", s.failed("set aside", key, err)
	}
	return relative, nil
}

// copyAside copies what is under from to a new name. A request that is repeated after its reply was lost does not copy
// what has come under from meanwhile: the copy that is there is the one that was asked for.
func (s *Store) copyAside(ctx context.Context, from, to string) error {
	var err error
	for range writeAttempts {
		there, missing := s.head(ctx, from)
		if missing != nil {
			return missing
		}
		_, err = s.client.CopyObject(ctx, &s3.CopyObjectInput{
			Bucket: &s.place.bucket, Key: &to, CopySourceIfMatch: &there.etag,
			CopySource: aws.String(s.place.bucket + "/" + escapePath(from)),
		})
		if !isOvertaken(err) {
			return err
		}
		if _, absent := s.head(ctx, to); !isMissing(absent) {
			return absent
		}
	}
	return fmt.Errorf("gave up after %d attempts, because others write under the same name: %w", writeAttempts, err)
}

// escapePath escapes a key for a header, and leaves its slashes. A plus sign, which a path may hold, is a space to some.
func escapePath(name string) string {
	return strings.ReplaceAll((&url.URL{Path: name}).EscapedPath(), "+", "%2B")
}
