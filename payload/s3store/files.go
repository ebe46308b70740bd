package s3store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// maxFile is the longest object that one request of S3 writes, in bytes.
const maxFile = 5 << 30

// PutFile writes a note that is as long as a file, and may be longer than one that Get reads. sum is the SHA-256 of the file, which has size bytes. Otherwise it does what
// Put does.
func (n *Notes) PutFile(ctx context.Context, name string, file io.ReadSeeker, size int64, sum [sha256.Size]byte) error {
	if size > maxFile {
		return fmt.Errorf("%s/%s: a file of %d bytes is longer than one object of %d bytes", n.place, name, size, maxFile)
	}
	err := n.putFile(ctx, name, file, size, sum, condition{}.ifNoneMatch())
	if !isOvertaken(err) {
		return n.failed("write", name, err)
	}
	is := sha256.New()
	switch err := n.GetFile(ctx, name, is); {
	case err != nil:
		return err
	case [sha256.Size]byte(is.Sum(nil)) != sum:
		return fmt.Errorf("%s/%s: %w", n.place, name, ErrTaken)
	case n.lock > 0:
		return n.failed("write", name, n.putFile(ctx, name, file, size, sum, nil))
	}
	return nil
}

func (n *Notes) putFile(ctx context.Context, name string, file io.ReadSeeker, size int64, hash sum, ifNoneMatch *string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	key := n.place.name(name)
	in := &s3.PutObjectInput{Bucket: &n.place.bucket, Key: &key, Body: file, ContentLength: &size, ChecksumSHA256: hash.base64(), IfNoneMatch: ifNoneMatch}
	if n.lock > 0 {
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, aws.Time(time.Now().Add(n.lock))
	}
	_, err := n.client.PutObject(ctx, in, signedBody(hash))
	return err
}

// GetFile writes a note to to, from its first byte to its last. The error wraps payload.ErrNotFound if there is none of this name; what was written is of no use after
// any error.
func (n *Notes) GetFile(ctx context.Context, name string, to io.Writer) error {
	out, err := n.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &n.place.bucket, Key: aws.String(n.place.name(name))})
	if err != nil {
		return n.failed("read", name, err)
	}
	_, err = io.Copy(to, out.Body)
	return n.failed("read", name, errors.Join(err, out.Body.Close()))
}
