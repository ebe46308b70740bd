package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"waymark/internal/defect"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// What FileInfo.Version begins with. Stored; never rename.
const (
	byVersion = "version:" // the object's version: nobody can change what it names
	byETag    = "etag:"    // the object's ETag
)

// inParallel is how many small requests are in flight at once.
const inParallel = 8

// metaCharacters make a key a pattern.
const metaCharacters = `*?[\`

// bucketStore is the objects of a bucket.
type bucketStore struct {
	remote  *Remote
	options pipeline.S3
	bucket  string
}

func (*bucketStore) OnHost() bool { return false }

func (*bucketStore) Fixed(info plugin.FileInfo) bool {
	return strings.HasPrefix(info.Version, byVersion)
}

// List finds the objects whose keys the pattern matches, as files are matched: element by element, and a name that begins with a dot
// by a leading dot only. Keys that end with a slash stand for folders and are left out.
func (b *bucketStore) List(ctx context.Context, pattern string) ([]plugin.FileInfo, error) {
	client, err := b.remote.client(ctx, b.options)
	if err != nil {
		return nil, sourceFault(pattern, err, "")
	}
	_, key := pipeline.CutBucket(pattern)
	if !strings.ContainsAny(key, metaCharacters) {
		info, err := b.describe(ctx, client, key)
		if err != nil {
			return nil, b.fault(key, err, client)
		}
		return []plugin.FileInfo{info}, nil
	}
	found, err := b.match(ctx, client, key)
	if err == nil {
		err = b.addVersions(ctx, client, found)
	}
	if err != nil {
		return nil, b.fault(key, err, client)
	}
	slices.SortFunc(found, func(a, b plugin.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// Look finds the objects that the pattern matches, as List does, and knows each by its ETag alone: to ask for the version of every object would take long.
func (b *bucketStore) Look(ctx context.Context, pattern string) (found []plugin.FileInfo, left []error, err error) {
	client, err := b.remote.client(ctx, b.options)
	if err != nil {
		return nil, nil, sourceFault(pattern, err, "")
	}
	_, key := pipeline.CutBucket(pattern)
	if found, err = b.match(ctx, client, key); err != nil {
		return nil, nil, b.fault(key, err, client)
	}
	slices.SortFunc(found, func(a, b plugin.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return found, nil, nil
}

func (b *bucketStore) match(ctx context.Context, client *bucketClient, pattern string) ([]plugin.FileInfo, error) {
	begins := literal(pattern)
	in := &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &begins}
	if !strings.Contains(pattern[len(begins):], "/") {
		in.Delimiter = aws.String("/")
	}
	var found []plugin.FileInfo
	for pages := s3.NewListObjectsV2Paginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			if key := aws.ToString(object.Key); matches(pattern, key) {
				if err := b.remote.reservedFault(b.options, b.bucket, key); err != nil {
					return nil, err
				}
				found = append(found, b.info(key, aws.ToInt64(object.Size), object.ETag))
			}
		}
	}
	return found, nil
}

// literal returns what every key that the pattern matches begins with.
func literal(pattern string) string {
	if at := strings.IndexAny(pattern, metaCharacters); at >= 0 {
		return pattern[:at]
	}
	return pattern
}

// matches reports whether the pattern, which is well-formed, matches the key.
func matches(pattern, key string) bool {
	if key == "" || strings.HasSuffix(key, "/") {
		return false
	}
	ok, err := path.Match(pattern, key)
	if !ok || err != nil {
		return false
	}
	elements := strings.Split(pattern, "/")
	for i, name := range strings.Split(key, "/") {
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(elements[i], ".") {
			return false
		}
	}
	return true
}

// info describes an object by its ETag alone: one that was put back as it was is the same, whenever that was.
func (b *bucketStore) info(key string, size int64, etag *string) plugin.FileInfo {
	return plugin.FileInfo{Path: "s3://" + b.bucket + "/" + key, Bytes: size, Version: byETag + unquoted(etag)}
}

// describe asks for one object, and for its version if the bucket keeps versions.
func (b *bucketStore) describe(ctx context.Context, client *bucketClient, key string) (plugin.FileInfo, error) {
	if err := b.remote.reservedFault(b.options, b.bucket, key); err != nil {
		return plugin.FileInfo{}, err
	}
	head, err := client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return plugin.FileInfo{}, err
	}
	info := b.info(key, aws.ToInt64(head.ContentLength), head.ETag)
	if version := aws.ToString(head.VersionId); version != "" && version != "null" {
		info.Version = byVersion + version
	}
	return info, nil
}

// addVersions asks for the version of every object, unless the first one shows that there are none: lists do not tell.
func (b *bucketStore) addVersions(ctx context.Context, client *bucketClient, found []plugin.FileInfo) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inParallel)
	for i := range found {
		ask := func() error {
			_, key := pipeline.CutBucket(found[i].Path)
			info, err := b.describe(ctx, client, key)
			if err == nil {
				found[i] = info
			}
			return err
		}
		if i > 0 {
			group.Go(func() error { return defect.Catch("objects", ask) })
			continue
		}
		if err := ask(); err != nil || !b.Fixed(found[0]) {
			return errors.Join(err, group.Wait())
		}
	}
	return group.Wait()
}

// fault says what no retry cures, with the key or pattern that it is about.
func (b *bucketStore) fault(key string, err error, client *bucketClient) error {
	at := "s3://" + b.bucket + "/" + key
	if _, ok := errors.AsType[*plugin.SourceError](err); ok {
		return err
	}
	if r := refusalOf(err, client.service); r != nil && statusOf(err) == http.StatusNotFound && r.message != "no such bucket at "+client.service {
		return &plugin.SourceError{Code: codeNotFound, File: at, Message: "no such object at " + client.service}
	}
	return sourceFault(at, err, client.service)
}

// Open opens an object. It is there as long as requests for it, which name its version or ETag, find it.
func (b *bucketStore) Open(ctx context.Context, info plugin.FileInfo) (file.File, error) {
	client, err := b.remote.client(ctx, b.options)
	if err != nil {
		return nil, sourceFault(info.Path, err, "")
	}
	_, key := pipeline.CutBucket(info.Path)
	if err := b.remote.reservedFault(b.options, b.bucket, key); err != nil {
		return nil, err
	}
	get := func(ctx context.Context, from, to int64) (io.ReadCloser, error) {
		return b.get(ctx, client, key, info, from, to)
	}
	return &object{info: info, pinned: true, wait: b.remote.wait, get: get}, nil
}

// get returns the bytes from one offset up to another, or to the end if that is negative.
func (b *bucketStore) get(ctx context.Context, client *bucketClient, key string, info plugin.FileInfo, from, to int64) (io.ReadCloser, error) {
	in := &s3.GetObjectInput{Bucket: &b.bucket, Key: &key}
	if version, ok := strings.CutPrefix(info.Version, byVersion); ok {
		in.VersionId = &version
	} else {
		in.IfMatch = aws.String(`"` + strings.TrimPrefix(info.Version, byETag) + `"`)
	}
	if from == info.Bytes {
		return http.NoBody, nil // a range must not be empty
	}
	if to >= 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1))
	} else if from > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	out, err := client.GetObject(ctx, in)
	if err != nil {
		switch statusOf(err) {
		case http.StatusNotFound, http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
			return nil, file.Changed(info.Path)
		}
		return nil, sourceFault(info.Path, err, client.service)
	}
	if total := totalOf(out); total != info.Bytes {
		return nil, errors.Join(file.Changed(info.Path), out.Body.Close())
	}
	return out.Body, nil
}

// totalOf returns how long the whole object is by the reply to a request for it or for a part of it.
func totalOf(out *s3.GetObjectOutput) int64 {
	if _, total, ok := parseContentRange(aws.ToString(out.ContentRange)); ok {
		return total
	}
	return aws.ToInt64(out.ContentLength)
}
