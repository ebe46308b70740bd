package evidence

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"waymark/landscape"
	"waymark/payload/s3store"
)

// Bucket is an anchor in a bucket of S3: every head is an object of its own, which is never replaced, and which nobody can remove for as long as
// the bucket locks it. It has no entries.
type Bucket struct {
	url   string
	mu    sync.Mutex
	notes *s3store.Notes // nil until the first request
}

// NewBucket returns the anchor at a URL of s3store.OpenNotes.
func NewBucket(url string) *Bucket { return &Bucket{url: url} }

// String is the URL, without its parameters.
func (b *Bucket) String() string {
	name, _, _ := strings.Cut(b.url, "?")
	return name
}

// UnreachableError says that an anchor could not be asked.
type UnreachableError struct {
	Anchor string
	Err    error
}

// Error names the anchor and the reason.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the anchor %s of the log cannot be reached: %v", e.Anchor, e.Err)
}

// Unwrap returns the reason.
func (e *UnreachableError) Unwrap() error { return e.Err }

// patience is how long a bucket or a witness may take for its answer.
const patience = 3 * time.Second

// ask lets do ask the bucket.
func (b *Bucket) ask(ctx context.Context, do func(context.Context, *s3store.Notes) error) (err error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	b.mu.Lock()
	if b.notes == nil {
		b.notes, err = s3store.OpenNotes(ctx, b.url)
	}
	notes := b.notes
	b.mu.Unlock()
	if err == nil {
		err = do(ctx, notes)
	}
	if err != nil {
		return &UnreachableError{b.String(), err}
	}
	return nil
}

const (
	headsPrefix = "heads/"
	mostSize    = 999_999_999_999
	mostHeads   = 1_000 // of a bucket, that are compared
)

// noteName names the head of so many entries. A bucket lists names in ascending order: so the last head comes first.
func noteName(size int64) string {
	return fmt.Sprintf("%s%012d.%d.note", headsPrefix, mostSize-size, size)
}

// sizeOf returns the number of entries that a name says; 0 if no head has this name.
func sizeOf(name string) int64 {
	parts := strings.Split(strings.TrimPrefix(name, headsPrefix), ".")
	if len(parts) != 3 {
		return 0
	}
	size, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || noteName(size) != name {
		return 0
	}
	return size
}

// names returns the names of the last heads, the last one first.
func (b *Bucket) names(ctx context.Context, most int) (names []string, err error) {
	err = b.ask(ctx, func(ctx context.Context, notes *s3store.Notes) error {
		return notes.Names(ctx, headsPrefix, func(name string) bool {
			names = append(names, name)
			return len(names) < most
		})
	})
	return names, err
}

// Begun does what Place says.
func (b *Bucket) Begun(ctx context.Context) (bool, error) {
	names, err := b.names(ctx, 1)
	return names != nil, err
}

// Head does what keeper says. The error is an *UnreachableError if the bucket does not answer.
func (b *Bucket) Head(ctx context.Context, by note.Verifier) (Head, error) {
	heads, err := b.last(ctx, by, 1)
	if err != nil || heads == nil {
		return Head{}, err
	}
	return heads[0], nil
}

// Heads returns the last heads, at most 1,000. Otherwise it does what keeper says.
func (b *Bucket) Heads(ctx context.Context, by note.Verifier) ([]Head, error) {
	return b.last(ctx, by, mostHeads)
}

// last returns the last heads, as they came.
func (b *Bucket) last(ctx context.Context, by note.Verifier, most int) (heads []Head, err error) {
	names, err := b.names(ctx, most)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		head, err := b.read(ctx, name, by)
		if err != nil {
			return heads, err
		}
		heads = append(heads, head)
	}
	return heads, nil
}

func (b *Bucket) read(ctx context.Context, name string, by note.Verifier) (head Head, err error) {
	var text []byte
	err = b.ask(ctx, func(ctx context.Context, notes *s3store.Notes) (err error) {
		text, err = notes.Get(ctx, name)
		return err
	})
	if err != nil {
		return head, err
	}
	if head, err = openHead(string(text), by); err == nil && head.Size != sizeOf(name) {
		err = fmt.Errorf("it is of %d entries", head.Size)
	}
	if err != nil {
		return Head{}, fmt.Errorf("%s/%s: this head is not one that the log signed: %w", b, name, err)
	}
	return head, nil
}

func (b *Bucket) agrees(ctx context.Context, here here) error { return lastAgrees(ctx, b, here) }

func (b *Bucket) bring(ctx context.Context, log *landscape.Reader, by note.Verifier, head Head) (receipt string, err error) {
	if known, err := log.LastAnchored(ctx, b.String()); err != nil || known >= head.Size {
		return "", err
	}
	if err := lastBefore(ctx, b, log, by, head); err != nil {
		return "", err
	}
	return "", b.ask(ctx, func(ctx context.Context, notes *s3store.Notes) error {
		return notes.Put(ctx, noteName(head.Size), []byte(head.Note))
	})
}

// check compares the heads: a bucket has nothing else.
func (b *Bucket) check(ctx context.Context, c *checker, said int64) error {
	_, err := c.compareHeads(ctx, b, said)
	return err
}
