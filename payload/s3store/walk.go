package s3store

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"waymark/payload"
)

// Walk asks for 1,000 names at a time. Names that are no objects of ours are passed over.
func (s *Store) Walk(ctx context.Context, fn func(key string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var stopped error
	err := s.list(ctx, s.place.name(objectsPrefix), func(name string) error {
		if key := name[max(0, len(name)-payload.DigestLen):]; s.isObject(name, key) {
			stopped = fn(key)
		}
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return s.failed("list", "", err)
}

// isObject reports whether name is that of the object under key.
func (s *Store) isObject(name, key string) bool {
	_, err := payload.ParseDigest(key)
	return err == nil && name == s.place.name(objectName(key))
}

// list calls fn with every name in the bucket that begins with prefix, in ascending order. It stops at the first error.
func (s *Store) list(ctx context.Context, prefix string, fn func(name string) error) error {
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{
		Bucket: &s.place.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl,
	})
	last := ""
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, entry := range page.Contents {
			name, err := decodeName(aws.ToString(entry.Key), page.EncodingType)
			if err != nil {
				return err
			}
			if !strings.HasPrefix(name, prefix) || name <= last {
				return fmt.Errorf("the server does not list names in order: %q comes after %q", name, last)
			}
			last = name
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := fn(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeName(name string, encoding types.EncodingType) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return name, nil
	}
	decoded, err := url.QueryUnescape(name)
	if err != nil {
		return "", fmt.Errorf("the server lists a name that cannot be decoded: %w", err)
	}
	return decoded, nil
}
