package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Notes are small texts in a bucket, each of which is written once, under a name of its own, and never changed.
type Notes struct {
	*Store
	lock time.Duration // how long nobody can remove a note; 0 for no lock
}

// ErrTaken says that another text has the name of a note.
var ErrTaken = errors.New("another text is there")

// maxNote is the longest note that is read, in bytes.
const maxNote = 1 << 20

// CheckNotes refuses a URL that OpenNotes refuses, without asking the bucket.
func CheckNotes(rawURL string) error {
	_, _, err := parseNotes(rawURL)
	return err
}

// OpenNotes returns the Notes at a URL, which is one of Open, and may have another parameter:
//
//	lock   for how long nobody can change or remove a note, in days, such as 3650d: a lock of S3 in compliance mode, which the bucket must allow
//
// It asks the server nothing.
func OpenNotes(ctx context.Context, rawURL string) (*Notes, error) {
	place, lock, err := parseNotes(rawURL)
	if err != nil {
		return nil, err
	}
	client, t, err := connect(ctx, &place, nil)
	if err != nil {
		return nil, err
	}
	return &Notes{&Store{client: client, place: place, limits: defaultLimits, transport: t}, lock}, nil
}

func parseNotes(rawURL string) (place location, lock time.Duration, err error) {
	address, text, _ := strings.Cut(rawURL, "?")
	query, err := url.ParseQuery(text)
	if err != nil {
		return place, 0, errors.New("the parameters in the URL of the bucket cannot be read: write NAME=VALUE&NAME=VALUE")
	}
	if query.Has("lock") {
		if lock, err = parseDays(query.Get("lock")); err != nil {
			return place, 0, err
		}
		query.Del("lock")
	}
	place, err = parsePlace(strings.TrimSuffix(address+"?"+query.Encode(), "?"))
	return place, lock, err
}

// parseDays reads a number of days, such as 3650d.
func parseDays(text string) (time.Duration, error) {
	const day, most = 24 * time.Hour, 36_500
	number, ok := strings.CutSuffix(text, "d")
	days, err := strconv.Atoi(number)
	if !ok || err != nil || days < 1 || days > most {
		return 0, fmt.Errorf("lock=%s in the URL of the bucket: write a number of days from 1d to %dd", text, most)
	}
	return time.Duration(days) * day, nil
}

// Note is a text in a bucket, or a version of it.
type Note struct {
	Name    string
	Hidden  bool   // another version is in its place, or a mark that it was deleted
	version string // "" for what is there now
}

// Put writes a note. The error wraps ErrTaken if another text has its name. If the same one has, there is nothing to do, except that one that is to be
// locked is written once more, because the one that is there need not be.
func (n *Notes) Put(ctx context.Context, name string, text []byte) error {
	err := n.put(ctx, name, text, condition{}.ifNoneMatch())
	if !isOvertaken(err) {
		return n.failed("write", name, err)
	}
	is, err := n.Get(ctx, Note{Name: name})
	switch {
	case err != nil:
		return err
	case !bytes.Equal(is, text):
		return fmt.Errorf("%s/%s: %w", n.place, name, ErrTaken)
	case n.lock > 0:
		return n.failed("write", name, n.put(ctx, name, text, nil))
	}
	return nil
}

func (n *Notes) put(ctx context.Context, name string, text []byte, ifNoneMatch *string) error {
	key := n.place.name(name)
	in := &s3.PutObjectInput{
		Bucket: &n.place.bucket, Key: &key, Body: bytes.NewReader(text), ChecksumSHA256: sumOf(text).base64(), IfNoneMatch: ifNoneMatch,
	}
	if n.lock > 0 {
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, aws.Time(time.Now().Add(n.lock))
	}
	_, err := n.client.PutObject(ctx, in, signedBody(sumOf(text)))
	return err
}

// Get returns a note. The error wraps payload.ErrNotFound if there is none of this name.
func (n *Notes) Get(ctx context.Context, note Note) ([]byte, error) {
	in := &s3.GetObjectInput{Key: aws.String(n.place.name(note.Name))}
	if note.version != "" {
		in.VersionId = &note.version
	}
	text, err := n.fetch(ctx, in, wholeUpTo(maxNote))
	return text, n.failed("read", note.Name, err)
}

// IsUnreadable reports whether an error of Get is about this one note, which the server has and does not give, or which is longer than a note may be.
func IsUnreadable(err error) bool {
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok {
		return errors.Is(err, errTooLong)
	}
	code := response.HTTPStatusCode()
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
}

// Each calls fn with each note whose name begins with prefix, in ascending order, until it returns false. If notes are locked, it gets every version of
// each, the newest first: an ordinary deletion hides a locked one, and does not remove it.
func (n *Notes) Each(ctx context.Context, prefix string, fn func(Note) bool) error {
	below := n.place.name("")
	visit := func(note Note) error {
		note.Name = strings.TrimPrefix(note.Name, below)
		if !fn(note) {
			return errEnough
		}
		return nil
	}
	var err error
	if n.lock > 0 {
		err = n.versions(ctx, n.place.name(prefix), visit)
	} else {
		err = n.list(ctx, n.place.name(prefix), func(name string) error { return visit(Note{Name: name}) })
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return n.failed("list", "", err)
}

// errEnough ends a list.
var errEnough = errors.New("enough")

// versions calls fn with every version below a prefix. It stops at the first error.
func (n *Notes) versions(ctx context.Context, prefix string, fn func(Note) error) error {
	pages := s3.NewListObjectVersionsPaginator(n.client, &s3.ListObjectVersionsInput{Bucket: &n.place.bucket, Prefix: &prefix})
	last := ""
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, v := range page.Versions {
			name := aws.ToString(v.Key)
			if !strings.HasPrefix(name, prefix) || name < last {
				return fmt.Errorf("the server does not list names in order: %q comes after %q", name, last)
			}
			last = name
			if err := fn(Note{Name: name, Hidden: !aws.ToBool(v.IsLatest), version: aws.ToString(v.VersionId)}); err != nil {
				return err
			}
		}
	}
	return nil
}
