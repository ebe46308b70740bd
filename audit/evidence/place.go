package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"waymark/landscape"
	"waymark/payload/s3store"
)

// A Place is an anchor: it keeps the signed heads of a log, outside the landscape. A Folder is one, and a Bucket.
type Place interface {
	fmt.Stringer // the name under which the landscape notes what is there

	// Begun reports whether the place has heads of a log, whichever key signed them. The error says why a server cannot be asked.
	Begun(context.Context) (bool, error)
	// Heads returns the heads that are there, as they came; nil if there are none. The error names one that this key did not sign.
	Heads(context.Context, note.Verifier) ([]Head, error)
	// Head returns the last head that is there; the zero Head if there is none.
	Head(context.Context, note.Verifier) (Head, error)

	// bring brings a head, unless it is there. Killed anywhere, it may be repeated.
	bring(context.Context, *landscape.Reader, note.Verifier, Head) error
	// compare looks for what is wrong with the heads that are there, which fit the log; said is how many entries the landscape says are there.
	compare(c *checker, good []Head, said int64) error
}

const bucketScheme = "s3://"

// PlaceOf returns the anchor with this path or URL.
func PlaceOf(anchor string) Place {
	if strings.HasPrefix(anchor, bucketScheme) {
		return NewBucket(anchor)
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
	if whole, err := filepath.Abs(anchor); err == nil && !strings.HasPrefix(anchor, bucketScheme) {
		return whole
	}
	return anchor
}

// CheckAnchor refuses what cannot be an anchor: a path that is no folder, or a URL that is none of a bucket. It asks no server.
func CheckAnchor(anchor string) error {
	if strings.HasPrefix(anchor, bucketScheme) {
		if err := s3store.CheckNotes(anchor); err != nil {
			return fmt.Errorf("an anchor of the log: %w", err)
		}
		return nil
	}
	if info, err := os.Stat(anchor); err != nil || !info.IsDir() {
		return fmt.Errorf("the anchor %q of the log is not a folder", anchor)
	}
	return nil
}
