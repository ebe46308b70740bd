package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
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

// Put writes a note. The error wraps ErrTaken if another text has its name; if the same one has, there is nothing to do.
func (n *Notes) Put(ctx context.Context, name string, text []byte) error {
	key := n.place.name(name)
	in := &s3.PutObjectInput{
		Bucket: &n.place.bucket, Key: &key, Body: bytes.NewReader(text), ChecksumSHA256: sumOf(text).base64(), IfNoneMatch: condition{}.ifNoneMatch(),
	}
	if n.lock > 0 {
		in.ObjectLockMode, in.ObjectLockRetainUntilDate = types.ObjectLockModeCompliance, aws.Time(time.Now().Add(n.lock))
	}
	_, err := n.client.PutObject(ctx, in, signedBody(sumOf(text)))
	if !isOvertaken(err) {
		return n.failed("write", name, err)
	}
	is, err := n.Get(ctx, name)
	if err == nil && !bytes.Equal(is, text) {
		err = fmt.Errorf("%s/%s: %w", n.place, name, ErrTaken)
	}
	return err
}

// Get returns a note. The error wraps payload.ErrNotFound if there is none of this name.
func (n *Notes) Get(ctx context.Context, name string) ([]byte, error) {
	text, err := n.fetch(ctx, &s3.GetObjectInput{Key: aws.String(n.place.name(name))}, wholeUpTo(maxNote))
	return text, n.failed("read", name, err)
}

// Names calls fn with the name of each note that begins with prefix, in ascending order, until it returns false.
func (n *Notes) Names(ctx context.Context, prefix string, fn func(name string) bool) error {
	below := n.place.name("")
	err := n.list(ctx, n.place.name(prefix), func(name string) error {
		if !fn(strings.TrimPrefix(name, below)) {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return n.failed("list", "", err)
}

// errEnough ends a list.
var errEnough = errors.New("enough")
