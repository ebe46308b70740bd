package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	notes, err := b.open(ctx)
	if err == nil {
		err = do(ctx, notes)
	}
	if err != nil {
		return &UnreachableError{b.String(), err}
	}
	return nil
}

// open returns the notes of the bucket, opened when they are first asked for.
func (b *Bucket) open(ctx context.Context) (_ *s3store.Notes, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes == nil {
		b.notes, err = s3store.OpenNotes(ctx, b.url)
	}
	return b.notes, err
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

// each calls fn with the objects of the last heads, the last one first, until it returns false.
func (b *Bucket) each(ctx context.Context, fn func(s3store.Note) bool) error {
	return b.ask(ctx, func(ctx context.Context, notes *s3store.Notes) error { return notes.Each(ctx, headsPrefix, fn) })
}

// Begun does what Place says.
func (b *Bucket) Begun(ctx context.Context) (begun bool, err error) {
	err = b.each(ctx, func(s3store.Note) bool {
		begun = true
		return false
	})
	return begun, err
}

// listed returns the objects of the last heads, at most 1,000, the last one first.
func (b *Bucket) listed(ctx context.Context) (listed []s3store.Note, err error) {
	err = b.each(ctx, func(object s3store.Note) bool {
		listed = append(listed, object)
		return len(listed) < mostHeads
	})
	return listed, err
}

// Heads returns the last heads, at most 1,000, also those that a deletion hides and the lock keeps. strays are what this key did not sign, and heads that
// are hidden. Otherwise it does what keeper says.
func (b *Bucket) Heads(ctx context.Context, by LogKeys) (heads []Head, strays []error, err error) {
	listed, err := b.listed(ctx)
	if err != nil {
		return nil, nil, err
	}
	shown := map[Head]bool{}
	for _, object := range slices.Backward(listed) {
		head, stray, err := b.read(ctx, object, by)
		switch {
		case err != nil:
			return nil, nil, err
		case stray != nil:
			strays = append(strays, stray)
			continue
		case !slices.Contains(heads, head):
			heads = append(heads, head)
		}
		shown[head] = shown[head] || !object.Hidden
	}
	for _, head := range heads {
		if !shown[head] {
			strays = append(strays, fmt.Errorf("the head of %d entries was removed or replaced there; the lock keeps it", head.Size))
		}
	}
	return heads, strays, nil
}

// newest returns the last head that this key signed, and others of its size; nil if there is none. stray is why something that is listed before it is not one.
func (b *Bucket) newest(ctx context.Context, by LogKeys) (heads []Head, stray, err error) {
	listed, err := b.listed(ctx)
	for _, object := range listed {
		if heads != nil && sizeOf(object.Name) != heads[0].Size {
			break
		}
		head, wrong, err := b.read(ctx, object, by)
		switch {
		case err != nil:
			return nil, nil, err
		case wrong != nil:
			stray = cmp.Or(stray, wrong)
		default:
			heads = append(heads, head)
		}
	}
	return heads, stray, err
}

// read returns the head that an object is; stray is why it is not one.
func (b *Bucket) read(ctx context.Context, object s3store.Note, by LogKeys) (head Head, stray, err error) {
	var text []byte
	err = b.ask(ctx, func(ctx context.Context, notes *s3store.Notes) (err error) {
		text, err = notes.Get(ctx, object)
		return err
	})
	if s3store.IsUnreadable(err) { // who may write there could else keep the bucket from being compared
		return head, fmt.Errorf("%s/%s: this head cannot be read: %w", b, object.Name, err), nil
	}
	if err != nil {
		return head, nil, err
	}
	if head, stray = openHead(string(text), by); stray == nil && head.Size != sizeOf(object.Name) {
		stray = fmt.Errorf("it is of %d entries", head.Size)
	}
	if stray != nil {
		return Head{}, fmt.Errorf("%s/%s: this head is not one that the log signed: %w", b, object.Name, stray), nil
	}
	return head, nil, nil
}

func (b *Bucket) agrees(ctx context.Context, here here) error {
	heads, stray, err := b.newest(ctx, here.by)
	if err != nil {
		return err
	}
	for _, there := range heads {
		if err := here.agrees(ctx, there, b.String()); err != nil {
			return err
		}
	}
	if stray != nil {
		return &StrayError{b.String(), stray}
	}
	return nil
}

func (b *Bucket) bring(ctx context.Context, log *landscape.Reader, by LogKeys, head Head) (receipt string, err error) {
	if known, err := lastAnchored(ctx, log, by, b.String()); err != nil || known >= head.Size {
		return "", err
	}
	err = b.agrees(ctx, here{log, by, head.Size, head.Size})
	if _, stray := errors.AsType[*StrayError](err); err != nil && !stray {
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
