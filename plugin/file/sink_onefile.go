package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"waymark/internal/disk"
	"waymark/plugin"
)

// oneFile is the layout of an output that is a single file: the header, then every part at its offset.
type oneFile struct{ location }

func (l oneFile) open(at string, header []byte) (made bool, err error) {
	f, err := openRegular(l.disk, at, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = openRegular(l.disk, at, os.O_WRONLY)
	}
	if err != nil {
		return false, err
	}
	return made, write(f, aHeader, false, 0, header)
}

func (l oneFile) write(at string, part plugin.Part, data []byte) error {
	f, err := openRegular(l.disk, at, os.O_WRONLY)
	if err != nil {
		return err
	}
	return write(f, aPart, false, part.Offset, data)
}

func (l oneFile) holds(at string, part plugin.Part) (bool, error) {
	f, err := openRegular(l.disk, at, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return holdsAt(f, part, part.Offset)
}

// holdsAt reports whether the file has the part at the offset, and if so makes it durable.
func holdsAt(f disk.File, part plugin.Part, offset int64) (bool, error) {
	hash := sha256.New()
	if _, err := io.CopyN(hash, io.NewSectionReader(f, offset, part.Bytes), part.Bytes); err != nil {
		return false, disk.Ignore(err, io.EOF)
	}
	if [sha256.Size]byte(hash.Sum(nil)) != part.SHA256 {
		return false, nil
	}
	return true, f.Sync()
}

func (l oneFile) seal(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, fs.FileInfo, error) {
	f, err := openRegular(l.disk, at, os.O_RDONLY)
	if err != nil {
		return plugin.Artifact{}, nil, err
	}
	defer f.Close()
	artifact, err := l.inspect(ctx, f, header, parts)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return plugin.Artifact{}, nil, err
	}
	sealed, err := f.Stat()
	return artifact, sealed, err
}

func (l oneFile) inspectStaged(ctx context.Context, at string, header []byte, parts []plugin.Part) error {
	f, err := openRegular(l.disk, at, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = l.inspect(ctx, f, header, parts)
	return err
}

func (l oneFile) confirm(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	artifact, _, err := l.seal(ctx, at, header, parts)
	return artifact, err
}

// inspect reads the whole file and compares every piece with what was recorded of it.
func (l oneFile) inspect(ctx context.Context, f disk.File, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	artifact := plugin.Artifact{Bytes: int64(len(header))}
	for _, part := range parts {
		artifact.Bytes += part.Bytes
		artifact.Rows += part.Rows
	}
	if err := l.inspectSize(f, artifact.Bytes); err != nil {
		return plugin.Artifact{}, err
	}
	whole := sha256.New()
	if err := l.inspectHeader(io.TeeReader(f, whole), f.Name(), header); err != nil {
		return plugin.Artifact{}, err
	}
	for _, part := range parts {
		if err := l.inspectPart(ctx, io.TeeReader(f, whole), f.Name(), part); err != nil {
			return plugin.Artifact{}, err
		}
	}
	artifact.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return artifact, nil
}

func (p location) inspectSize(f disk.File, want int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() != want {
		err = p.changed("%s has %d bytes and this run wrote %d", path.Base(f.Name()), info.Size(), want)
	}
	return err
}

func (p location) inspectHeader(from io.Reader, name string, header []byte) error {
	found := make([]byte, len(header))
	if _, err := io.ReadFull(from, found); err != nil && !cutShort(err) {
		return err
	}
	if !bytes.Equal(found, header) {
		return p.changed("the header in %s is not the one this run wrote", path.Base(name))
	}
	return nil
}

func (p location) inspectPart(ctx context.Context, from io.Reader, name string, part plugin.Part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, from, part.Bytes); err != nil && !cutShort(err) {
		return err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != part.SHA256 {
		return p.changed("part %d, %d bytes at byte %d of the output, is not in %s as this run wrote it",
			part.Ordinal, part.Bytes, part.Offset, path.Base(name))
	}
	return nil
}

// cutShort reports whether a read ended because the file did: the bytes that are missing show in the comparison.
func cutShort(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// move links the file to its final name, because a link, unlike a rename, never replaces anything. A staging that is the
// final file already was linked by an attempt that was cut off.
func (l oneFile) move(staging string, sealed fs.FileInfo) error {
	if err := l.isStill(staging, sealed); err != nil {
		return err
	}
	if l.overwrite {
		return moved(l.disk.Rename(staging, l.name))
	}
	err := l.disk.Link(staging, l.name)
	if errors.Is(err, fs.ErrExist) {
		err = l.linkedBefore(sealed)
	}
	if err := l.settle(err); err != nil {
		return err
	}
	return disk.Ignore(l.disk.Remove(staging), fs.ErrNotExist)
}

func (l oneFile) linkedBefore(sealed fs.FileInfo) error {
	err := l.isStill(l.name, sealed)
	if errors.Is(err, errBusy) {
		return l.occupied()
	}
	return err
}

func (l oneFile) discard(staging string) error {
	return disk.Ignore(l.disk.Remove(staging), fs.ErrNotExist)
}
