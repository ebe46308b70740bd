package s3store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"waymark/internal/defect"
)

const (
	// partsAtOnce is how many parts of one object are in flight side by side.
	partsAtOnce = 4

	// abortTimeout is how long a failed write waits for its upload to be thrown away. Sweep finds what is left.
	abortTimeout = 10 * time.Second
)

// putParts writes an object in parts. None of it is visible before all parts are there and the condition holds.
func (s *Store) putParts(ctx context.Context, o object, must condition) error {
	upload, err := s.begin(ctx, o.name)
	if err != nil {
		return err
	}
	parts, err := s.sendParts(ctx, o, upload)
	if err == nil {
		_, err = s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &s.place.bucket, Key: &o.name, UploadId: upload,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			IfMatch:         must.ifMatch(), IfNoneMatch: must.ifNoneMatch(),
		})
	}
	if err != nil {
		return errors.Join(err, s.abandon(ctx, o.name, upload))
	}
	return nil
}

// begin opens an upload and returns its name.
func (s *Store) begin(ctx context.Context, name string) (upload *string, err error) {
	created, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &s.place.bucket, Key: &name, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		return nil, err
	}
	return created.UploadId, nil
}

func (s *Store) sendParts(ctx context.Context, o object, upload *string) ([]types.CompletedPart, error) {
	parts := make([]types.CompletedPart, (len(o.data)+s.limits.part-1)/s.limits.part)
	senders, ctx := errgroup.WithContext(ctx)
	senders.SetLimit(partsAtOnce)
	for i := range parts {
		senders.Go(func() error {
			return defect.Catch("payloads", func() (err error) {
				from := i * s.limits.part
				parts[i], err = s.sendPart(ctx, o.name, upload, i+1, o.data[from:min(from+s.limits.part, len(o.data))])
				return err
			})
		})
	}
	return parts, senders.Wait()
}

func (s *Store) sendPart(ctx context.Context, name string, upload *string, number int, data []byte) (types.CompletedPart, error) {
	hash := sumOf(data)
	part := types.CompletedPart{PartNumber: aws.Int32(int32(number)), ChecksumSHA256: hash.base64()}
	sent, err := s.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &s.place.bucket, Key: &name, UploadId: upload, PartNumber: part.PartNumber,
		Body: bytes.NewReader(data), ChecksumSHA256: part.ChecksumSHA256,
	}, signedBody(hash))
	if err == nil {
		part.ETag = sent.ETag
	}
	return part, err
}

// abandon throws the parts of an upload away, also after the context of the write has ended. An upload that is not there
// is no error: it may have been completed by a request whose reply was lost.
func (s *Store) abandon(ctx context.Context, name string, upload *string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.place.bucket, Key: &name, UploadId: upload})
	if isMissing(err) {
		return nil
	}
	return err
}
