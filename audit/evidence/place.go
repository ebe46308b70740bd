package evidence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"waymark/landscape"
	"waymark/payload/s3store"
)

// A Place is an anchor: it keeps the signed heads of a log, or their sizes, outside the landscape. A Folder is one, a Bucket, a Git repository, a Witness, and an Authority.
type Place interface {
	fmt.Stringer // the name under which the landscape notes what is there

	// Begun reports whether the place has heads of a log, whichever key signed them. The error says why a server cannot be asked; it is ErrCannotSay
	// of a place that only answers who shows it a head.
	Begun(context.Context) (bool, error)

	// agrees compares what is there with the log here. The error is a *RolledBackError, a *ForkedError, an *UnreachableError, or, if all that the log signed
	// agrees, a *StrayError.
	agrees(context.Context, here) error
	// bring brings a head, unless it is there, and returns what the place answered. What is there is compared before. Killed anywhere, it may be repeated.
	bring(context.Context, *landscape.Reader, LogKeys, Head) (receipt string, err error)
	// check looks for what is wrong with what is there; said is how many entries the landscape says are there.
	check(ctx context.Context, c *checker, said int64) error
}

// ErrCannotSay says of a place that it does not say whether it has heads of a log.
var ErrCannotSay = errors.New("it only answers who shows it a head")

// here is the log as a place is compared with it.
type here struct {
	log    *landscape.Reader
	by     LogKeys
	size   int64 // entries
	hashed int64 // of them, those whose hashes are kept
}

// agrees compares a head that is somewhere else with the log.
func (h here) agrees(ctx context.Context, there Head, place string) error {
	if there.Size > h.size {
		return h.lacks(ctx, there.Size, place)
	}
	if there.Size == 0 || there.Size > h.hashed { // the notary was killed before it could keep it, and compares it then
		return nil
	}
	return (&tree{ctx: ctx, log: h.log}).has(there, place)
}

// lacks says that a place has a head of more entries than the log here, unless they came since that was looked at: then the
// head is compared the next time.
func (h here) lacks(ctx context.Context, there int64, place string) error {
	size, err := h.log.LogSize(ctx)
	if err == nil && there > size {
		err = &RolledBackError{Here: size, There: there, Place: place}
	}
	return err
}

// keeper is a place that keeps heads.
type keeper interface {
	Place
	// Heads returns the heads that are there, as they came; nil if there are none. strays says what is there beside them that should not be.
	Heads(context.Context, LogKeys) (heads []Head, strays []error, err error)
}

const bucketScheme = "s3://"

// PlaceOf returns the anchor with this path or URL.
func PlaceOf(anchor string) Place {
	switch {
	case strings.HasPrefix(anchor, bucketScheme):
		return NewBucket(anchor)
	case strings.HasPrefix(anchor, gitScheme):
		at, _ := parseGit(anchor) // CheckAnchor says what is wrong with it
		return at
	case strings.HasPrefix(anchor, authorityScheme):
		at, _ := parseAuthority(anchor)
		return at
	case isWitness(anchor):
		return Witness(anchor)
	}
	return Folder(anchor)
}

// placesOf returns the anchors with these paths or URLs.
func placesOf(anchors []string) (places []Place) {
	for _, anchor := range anchors {
		places = append(places, PlaceOf(anchor))
	}
	return places
}

// Whole returns the path or URL of an anchor, as it is the same wherever a process works.
func Whole(anchor string) string {
	path, scheme := anchor, ""
	switch at := PlaceOf(anchor).(type) {
	case Folder:
	case Git:
		path, scheme = strings.TrimPrefix(anchor, gitScheme), gitScheme
	case Authority:
		if whole, err := at.whole(); err == nil && at.roots != "" {
			return whole
		}
		return anchor
	default:
		return anchor
	}
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return scheme + whole
	}
	return anchor
}

// CheckAnchor refuses what cannot be an anchor: a path that is no folder or no repository, a URL that is none of a bucket, a witness without a
// key, or an authority without certificates that count. It asks no server.
func CheckAnchor(anchor string) error {
	var err error
	switch at := PlaceOf(anchor).(type) {
	case *Bucket:
		err = s3store.CheckNotes(anchor)
	case Git:
		if at, err = parseGit(anchor); err == nil {
			err = at.usable(context.Background())
		}
	case Authority:
		if at, err = parseAuthority(anchor); err == nil {
			_, err = at.pool()
		}
	case Witness:
		_, err = at.parse()
	default:
		if info, err := os.Stat(anchor); err != nil || !info.IsDir() {
			return fmt.Errorf("the anchor %q of the log is not a folder: if its disk is not mounted, mount it; if it is new, make it: mkdir -p %s; else take it out of --log-anchor", anchor, anchor)
		}
	}
	if err != nil {
		return fmt.Errorf("an anchor of the log: %w", err)
	}
	return nil
}
