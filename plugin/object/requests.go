package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"waymark/internal/defect"
	"waymark/plugin"
)

// Answers to conditional requests.
var (
	errNone  = errors.New("there is no such object")
	errThere = errors.New("there is an object already, or another one than was expected")
)

// content is an object as it was read.
type content struct {
	data  []byte
	etag  string
	about map[string]string
}

// description is what the service says of an object.
type description struct {
	bytes int64
	etag  string
	sum   string // hex SHA-256 as the service computed it; "" if it keeps none
	about map[string]string

	version string // "" if the bucket keeps none
}

// client returns the client for the target's bucket.
func (t *target) client(ctx context.Context) (*bucketClient, error) {
	client, err := t.remote.client(ctx, t.options)
	if refused, ok := errors.AsType[*refusal](err); ok {
		err = t.fault(codeTargetRefused, "%s", refused.message)
	}
	return client, err
}

// read returns a whole object, or errNone.
func (t *target) read(ctx context.Context, key string) (content, error) {
	client, err := t.client(ctx)
	if err != nil {
		return content{}, err
	}
	var last error
	for attempt := range t.remote.wait.again {
		if err := t.rest(ctx, attempt); err != nil {
			return content{}, err
		}
		out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &t.bucket, Key: &key})
		if err != nil {
			return content{}, t.judge(ctx, err, client)
		}
		data, err := readAll(out.Body, t.remote.wait.idle)
		if err == nil {
			return content{data, aws.ToString(out.ETag), lower(out.Metadata)}, nil
		}
		last = err
	}
	return content{}, t.judge(ctx, last, client)
}

// readAll reads a body whose bytes follow each other within the time.
func readAll(body io.ReadCloser, idle time.Duration) ([]byte, error) {
	watch := time.AfterFunc(idle, defect.Guard("objects", func() { _ = body.Close() })) // the read fails then
	var data bytes.Buffer
	_, err := io.Copy(&data, resetting{body, watch, idle})
	watch.Stop()
	return data.Bytes(), errors.Join(err, body.Close())
}

type resetting struct {
	io.Reader
	watch *time.Timer
	idle  time.Duration
}

func (r resetting) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.watch.Reset(r.idle)
	return n, err
}

// rest waits before an attempt that is not the first.
func (t *target) rest(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(t.remote.wait.before << (attempt - 1)):
		return nil
	}
}

// lower returns metadata with names in lower case: services differ.
func lower(metadata map[string]string) map[string]string {
	all := make(map[string]string, len(metadata))
	for name, value := range metadata {
		all[strings.ToLower(name)] = value
	}
	return all
}

// head describes an object, or fails with errNone.
func (t *target) head(ctx context.Context, key string) (description, error) {
	client, err := t.client(ctx)
	if err != nil {
		return description{}, err
	}
	out, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &t.bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return description{}, t.judge(ctx, err, client)
	}
	d := description{bytes: aws.ToInt64(out.ContentLength), etag: aws.ToString(out.ETag), about: lower(out.Metadata)}
	if version := aws.ToString(out.VersionId); version != "null" {
		d.version = version
	}
	if sum, err := base64.StdEncoding.DecodeString(aws.ToString(out.ChecksumSHA256)); err == nil && len(sum) == sha256.Size {
		d.sum = hex.EncodeToString(sum)
	}
	return d, nil
}

// create puts an object where none is, or fails with errThere.
func (t *target) create(ctx context.Context, key string, data []byte, about map[string]string) error {
	return t.put(ctx, &s3.PutObjectInput{Key: &key, IfNoneMatch: aws.String("*"), Metadata: about}, data)
}

// replace puts an object in the place of the one with the ETag. It fails with errThere if there is another one, and with errNone if
// there is none.
func (t *target) replace(ctx context.Context, key, etag string, data []byte, about map[string]string) error {
	return t.put(ctx, &s3.PutObjectInput{Key: &key, IfMatch: &etag, Metadata: about}, data)
}

// put lets the service compare the SHA-256 of what it got. A request that another one came between is repeated.
func (t *target) put(ctx context.Context, in *s3.PutObjectInput, data []byte) error {
	client, err := t.client(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	in.Bucket, in.ContentLength = &t.bucket, aws.Int64(int64(len(data)))
	in.ChecksumAlgorithm, in.ChecksumSHA256 = types.ChecksumAlgorithmSha256, aws.String(base64.StdEncoding.EncodeToString(sum[:]))
	for attempt := range t.remote.wait.again {
		if err := t.rest(ctx, attempt); err != nil {
			return err
		}
		in.Body = bytes.NewReader(data)
		if _, err = client.PutObject(ctx, in); statusOf(err) != http.StatusConflict {
			break
		}
	}
	return t.judge(ctx, err, client)
}

// remove removes an object, if it is there.
func (t *target) remove(ctx context.Context, key string) error {
	client, err := t.client(ctx)
	if err != nil {
		return err
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &t.bucket, Key: &key})
	if err = t.judge(ctx, err, client); errors.Is(err, errNone) {
		return nil
	}
	return err
}

// list returns the keys in the run's folder.
func (t *target) list(ctx context.Context) ([]string, error) {
	client, err := t.client(ctx)
	if err != nil {
		return nil, err
	}
	var keys []string
	in := &s3.ListObjectsV2Input{Bucket: &t.bucket, Prefix: aws.String(t.key(""))}
	for pages := s3.NewListObjectsV2Paginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, t.judge(ctx, err, client)
		}
		for _, object := range page.Contents {
			keys = append(keys, aws.ToString(object.Key))
		}
	}
	return keys, nil
}

// judge turns an error of the client into one of ours.
func (t *target) judge(ctx context.Context, err error, client *bucketClient) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r := refusalOf(err, client.service)
	switch {
	case statusOf(err) == http.StatusPreconditionFailed:
		return errThere
	case r != nil && r.code == codeNotFound && !strings.HasPrefix(r.message, "no such bucket"):
		return errNone
	case r != nil && r.code == codeEgressDenied:
		return &plugin.TargetError{Code: codeEgressDenied, Target: t.Location(), Message: r.message}
	case r != nil:
		return t.fault(codeTargetRefused, "%s", r.message)
	}
	return unreached(err, client.service)
}
