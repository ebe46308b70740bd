package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithytime "github.com/aws/smithy-go/time"
	smithyhttp "github.com/aws/smithy-go/transport/http"

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
	data, err := s.fetch(ctx, &s3.GetObjectInput{Key: aws.String(s.place.name(objectName(key)))}, wholeUpTo(limit))
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%w: %s: %w", payload.ErrTooLarge, key, err)
	}
	return data, s.failed("read", key, err)
}

// ReadRange asks for a part of the object. A reply that is cut off is asked for again.
func (s *Store) ReadRange(ctx context.Context, key string, offset, length int64) (data []byte, size int64, err error) {
	if err := admit(ctx, key); err != nil {
		return nil, 0, err
	}
	wanted := fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
	if offset < 0 {
		wanted = fmt.Sprintf("bytes=%d", offset)
	}
	in := &s3.GetObjectInput{Key: aws.String(s.place.name(objectName(key))), Range: &wanted}
	data, err = s.fetch(ctx, in, func(out *s3.GetObjectOutput) (skip, take int64, err error) {
		begin := int64(0) // a server may ignore the range
		if size = *out.ContentLength; out.ContentRange != nil {
			if _, err := fmt.Sscanf(*out.ContentRange, "bytes %d-%d/%d", &begin, new(int64), &size); err != nil {
				return 0, 0, fmt.Errorf("the server describes a part of an object as %q: %w", *out.ContentRange, err)
			}
		}
		from, to := payload.Range(size, offset, length)
		return from - begin, to - from, nil
	})
	if isUnsatisfiable(err) {
		info, err := s.Stat(ctx, key)
		return []byte{}, info.Bytes, err
	}
	return data, size, s.failed("read", key, err)
}

// isUnsatisfiable reports whether no byte of the object is in the range.
func isUnsatisfiable(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && response.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable
}

// A portion says how many bytes of a reply to skip, and how many to take then.
type portion func(out *s3.GetObjectOutput) (skip, take int64, err error)

func wholeUpTo(limit int64) portion {
	return func(out *s3.GetObjectOutput) (skip, take int64, err error) {
		if *out.ContentLength > limit {
			return 0, 0, fmt.Errorf("%w: it is %d bytes long, the limit is %d", errTooLong, *out.ContentLength, limit)
		}
		return 0, *out.ContentLength, nil
	}
}

func (s *Store) fetch(ctx context.Context, in *s3.GetObjectInput, portion portion) ([]byte, error) {
	in.Bucket = &s.place.bucket
	for attempt := 1; ; attempt++ {
		data, err := s.fetchOnce(ctx, in, portion)
		if !errors.Is(err, errCut) || attempt == requestAttempts {
			return data, err
		}
		if err := smithytime.SleepWithContext(ctx, pause(attempt)); err != nil {
			return nil, err
		}
	}
}

func (s *Store) fetchOnce(ctx context.Context, in *s3.GetObjectInput, portion portion) (data []byte, err error) {
	out, err := s.client.GetObject(ctx, in)
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
	skip, take, err := portion(out)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, out.Body, skip); err != nil {
		return nil, cut(ctx, err)
	}
	data = make([]byte, take)
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
