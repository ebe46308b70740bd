package s3store

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// DefaultGrace is an age at which Sweep can safely take an unfinished upload for abandoned.
const DefaultGrace = 24 * time.Hour

// Sweep throws unfinished uploads of objects away that began at least grace ago, and returns how many. Nobody sees their
// parts, but they take space. When they began is told by the server's clock, what is long ago by this machine's. A writer
// that is still at it notices, and writes again. Sweeping twice, or in two processes at once, is safe. Call it when a
// process starts.
func (s *Store) Sweep(ctx context.Context, grace time.Duration) (removed int, err error) {
	before := time.Now().Add(-grace)
	prefix := s.place.name(objectsPrefix)
	pages := s3.NewListMultipartUploadsPaginator(s.client, &s3.ListMultipartUploadsInput{Bucket: &s.place.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return removed, fmt.Errorf("sweep uploads: %w", s.failed("list uploads", "", err))
		}
		n, err := s.sweepUploads(ctx, page.Uploads, before)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("sweep uploads: %w", s.failed("abort an upload", "", err))
		}
	}
	return removed, nil
}

func (s *Store) sweepUploads(ctx context.Context, uploads []types.MultipartUpload, before time.Time) (removed int, err error) {
	for _, upload := range uploads {
		if aws.ToTime(upload.Initiated).After(before) {
			continue
		}
		if err := s.abandon(ctx, aws.ToString(upload.Key), upload.UploadId); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
