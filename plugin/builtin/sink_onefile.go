package builtin

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

	"waymark/plugin"
)

// oneFile is the layout of an output that is a single file: the header, then every part at its offset.
type oneFile struct{ place }

func (l oneFile) open(at string, header []byte) (made bool, err error) {
	f, err := openRegular(l.root, at, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = openRegular(l.root, at, os.O_WRONLY)
	}
	if err != nil {
		return false, err
	}
	return made, writeAt(f, header, 0)
}

func (l oneFile) write(at string, part plugin.Part, data []byte) error {
	f, err := openRegular(l.root, at, os.O_WRONLY)
	if err != nil {
		return err
	}
	return writeAt(f, data, part.Offset)
}

// writeAt makes the data durable at the offset, and closes the file in any case.
func writeAt(f *os.File, data []byte, offset int64) error {
	_, err := f.WriteAt(data, offset)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (l oneFile) holds(at string, part plugin.Part) (bool, error) {
	f, err := openRegular(l.root, at, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return holdsAt(f, part, part.Offset)
}

// holdsAt reports whether the file has the part at the offset, and if so makes it durable.
func holdsAt(f *os.File, part plugin.Part, offset int64) (bool, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(f, offset, part.Bytes))
	if err != nil || n < part.Bytes || [sha256.Size]byte(hash.Sum(nil)) != part.SHA256 {
		return false, err
	}
	return true, f.Sync()
}

func (l oneFile) seal(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	f, err := openRegular(l.root, at, os.O_RDONLY)
	if err != nil {
		return plugin.Artifact{}, err
	}
	defer f.Close()
	artifact, err := l.inspect(ctx, f, header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	return artifact, f.Sync()
}

func (l oneFile) confirm(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	return l.seal(ctx, at, header, parts)
}

// inspect reads the whole file and compares every piece with what was recorded of it.
func (l oneFile) inspect(ctx context.Context, f *os.File, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
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

func (p place) inspectSize(f *os.File, want int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() != want {
		err = p.fault(codeTargetChanged, "%s has %d bytes and this run wrote %d; start the run again", path.Base(f.Name()), info.Size(), want)
	}
	return err
}

func (p place) inspectHeader(from io.Reader, name string, header []byte) error {
	found := make([]byte, len(header))
	if _, err := io.ReadFull(from, found); err != nil && !cutShort(err) {
		return err
	}
	if !bytes.Equal(found, header) {
		return p.fault(codeTargetChanged, "the header in %s is not the one this run wrote; start the run again", path.Base(name))
	}
	return nil
}

func (p place) inspectPart(ctx context.Context, from io.Reader, name string, part plugin.Part) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, from, part.Bytes); err != nil && !cutShort(err) {
		return err
	}
	if [sha256.Size]byte(hash.Sum(nil)) != part.SHA256 {
		return p.fault(codeTargetChanged, "part %d, %d bytes at byte %d of the output, is not in %s as this run wrote it; start the run again",
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
func (l oneFile) move(staging string) error {
	if l.overwrite {
		return l.root.Rename(staging, l.name)
	}
	err := l.root.Link(staging, l.name)
	if errors.Is(err, fs.ErrExist) {
		err = l.sameFile(staging)
	}
	if err != nil {
		return err
	}
	return ignore(l.root.Remove(staging), fs.ErrNotExist)
}

func (l oneFile) sameFile(staging string) error {
	mine, err := l.root.Lstat(staging)
	if err != nil {
		return err
	}
	final, err := l.root.Lstat(l.name)
	if err != nil {
		return err
	}
	if !os.SameFile(mine, final) {
		return l.occupied()
	}
	return nil
}

func (l oneFile) discard(staging string) error {
	return ignore(l.root.Remove(staging), fs.ErrNotExist)
}
