package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"waymark/payload"
)

var (
	// errTooLong says that an object is longer than the reader takes.
	errTooLong = errors.New("longer than the limit")

	// errCut says that a body ended before its end, or that its connection broke.
	errCut = errors.New("the reply was cut off")
)

// Read returns the bytes of the object. A reply that is cut off is asked for again.
func (s *Store) Read(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := admit(ctx, key); err != nil {
		return nil, err
	}
	data, err := s.fetch(ctx, s.place.name(objectName(key)), limit)
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%w: %s: %w", payload.ErrTooLarge, key, err)
	}
	return data, s.failed("read", key, err)
}

func (s *Store) fetch(ctx context.Context, name string, limit int64) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		data, err := s.fetchOnce(ctx, name, limit)
		if !errors.Is(err, errCut) || attempt == requestAttempts {
			return data, err
		}
		if err := sleep(ctx, pause(attempt)); err != nil {
			return nil, err
		}
	}
}

func (s *Store) fetchOnce(ctx context.Context, name string, limit int64) (data []byte, err error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.place.bucket, Key: &name})
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := out.Body.Close(); err == nil && closing != nil {
			data, err = nil, cut(ctx, closing)
		}
	}()
	if out.ContentLength == nil {
		return nil, errors.New("the server does not say how long the object is")
	}
	if *out.ContentLength > limit {
		return nil, fmt.Errorf("%w: it is %d bytes long, the limit is %d", errTooLong, *out.ContentLength, limit)
	}
	data = make([]byte, *out.ContentLength)
	if _, err := io.ReadFull(out.Body, data); err != nil {
		return nil, cut(ctx, err)
	}
	return data, nil
}

// cut marks the error of a body that did not come to its end. That of an ended context stays what it is.
func cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", errCut, err)
}

// Stat describes the object. What a server shows is durable. The version changes with the content, as entity tags do, and
// with the time of the last change.
func (s *Store) Stat(ctx context.Context, key string) (payload.Info, error) {
	if err := admit(ctx, key); err != nil {
		return payload.Info{}, err
	}
	there, err := s.head(ctx, s.place.name(objectName(key)))
	if err != nil {
		return payload.Info{}, s.failed("look for", key, err)
	}
	version := there.etag + " " + strconv.FormatInt(there.modified.UnixNano(), 10) + " " + there.version
	return payload.Info{Bytes: there.bytes, Version: version}, nil
}

// reason asks for the reason of a refusal that came without any, as in reply to HEAD. It returns err if there is none.
func (s *Store) reason(ctx context.Context, err error) error {
	if !isUnexplained(err) {
		return err
	}
	if why := s.look(ctx, func(o *s3.Options) { o.RetryMaxAttempts = 1 }); why != nil {
		return why
	}
	return err
}
