package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/payload/s3store"
)

// scheme begins the URL of a bucket.
const scheme = "s3://"

// CheckPlace refuses what cannot be a place for bundles: a folder that is there, or the URL of a bucket as s3store.OpenNotes takes it. It asks no server.
func CheckPlace(place string) error {
	if strings.HasPrefix(place, scheme) {
		return s3store.CheckNotes(place)
	}
	info, err := os.Stat(place)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", place)
	}
	return err
}

// Whole returns a place so that it is the same one from any folder.
func Whole(place string) (string, error) {
	if strings.HasPrefix(place, scheme) {
		return place, nil
	}
	return filepath.Abs(place)
}

// location returns where a bundle of this name is at a place: the path of a file, or the URL of an object, with what it takes to reach the bucket.
func location(place, name string) (string, error) {
	address, parameters, _ := strings.Cut(place, "?")
	if !strings.HasPrefix(place, scheme) {
		folder, err := filepath.Abs(place)
		return filepath.Join(folder, name), err
	}
	query, err := url.ParseQuery(parameters)
	query.Del("lock") // of who writes
	return strings.TrimSuffix(strings.TrimSuffix(address, "/")+"/"+name+"?"+query.Encode(), "?"), err
}

// put writes a bundle to a place, where nothing is replaced; if the same bytes are there, there is nothing to do. It returns where the bundle is. After nil it is durable.
func put(ctx context.Context, place, name string, b *file) (string, error) {
	at, err := location(place, name)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(place, scheme) {
		notes, err := s3store.OpenNotes(ctx, place)
		if err == nil {
			err = notes.PutFile(ctx, name, b, b.size, b.sum)
		}
		return at, err
	}
	return at, b.link(at)
}

// file is a bundle in a file without a name.
type file struct {
	*os.File
	size int64
	sum  [sha256.Size]byte
}

// newFile returns a file with what fill writes. Close it.
func newFile(fill func(io.Writer) error) (*file, error) {
	f, err := os.CreateTemp("", "waymark-archive-*")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	err = errors.Join(os.Remove(f.Name()), fill(io.MultiWriter(f, sum)))
	info, unknown := f.Stat()
	if err = errors.Join(err, unknown); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f, info.Size(), [sha256.Size]byte(sum.Sum(nil))}, nil
}

// digest is the SHA-256 in hex.
func (f *file) digest() string { return hex.EncodeToString(f.sum[:]) }

// link writes the file to a path where none is: under another name first, so that a reader there never sees a part of it. A file with the same bytes is left as it is.
func (f *file) link(path string) error {
	folder := filepath.Dir(path)
	temporary, err := os.CreateTemp(folder, ".waymark-archive-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // a file without use, that the next one does not disturb
	_, err = f.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.Copy(temporary, f)
	}
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err == nil {
		err = cmp.Or(failpoint.Hit("archive.filled"), os.Link(temporary.Name(), path))
	}
	if errors.Is(err, fs.ErrExist) {
		err = f.same(path)
	}
	if err != nil {
		return err
	}
	names, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(names.Sync(), names.Close())
}

// same requires that a file has the same bytes.
func (f *file) same(path string) error {
	there, err := fetch(context.Background(), path)
	if err != nil {
		return err
	}
	if there.sum != f.sum {
		err = fmt.Errorf("%s is there, and is another file: its SHA-256 is %s, not %s", path, there.digest(), f.digest())
	}
	return errors.Join(err, there.Close())
}

// fetch reads a bundle, from its first byte to its last, into a file without a name, or opens the file that it is. Close it.
func fetch(ctx context.Context, at string) (*file, error) {
	if strings.HasPrefix(at, scheme) {
		address, parameters, _ := strings.Cut(at, "?")
		place, name, _ := cutLast(address, "/")
		notes, err := s3store.OpenNotes(ctx, strings.TrimSuffix(place+"?"+parameters, "?"))
		if err != nil {
			return nil, err
		}
		return newFile(func(to io.Writer) error { return notes.GetFile(ctx, name, to) })
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{f, size, [sha256.Size]byte(sum.Sum(nil))}, nil
}

// There requires that the bundle of an archived run is a file of the recorded size, and reads none of it. An object of a bucket is not looked for.
func There(a landscape.Archive) error {
	if strings.HasPrefix(a.Location, scheme) {
		return nil
	}
	info, err := os.Stat(a.Location)
	if err == nil && info.Size() != a.Bytes {
		err = fmt.Errorf("%s has %d bytes, not %d", a.Location, info.Size(), a.Bytes)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.Run, err)
	}
	return nil
}

func cutLast(text, at string) (before, after string, found bool) {
	if i := strings.LastIndex(text, at); i >= 0 {
		return text[:i], text[i+len(at):], true
	}
	return text, "", false
}
