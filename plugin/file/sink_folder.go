package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
	"waymark/plugin"
)

// headerName is the file in the staging, and only there, with the header for processes that did not open it.
const headerName = ".header"

// partsFolder is the layout of an output in parts: one file for each part, with the header and the part's bytes, and a manifest.
type partsFolder struct {
	location
	sink      string
	extension string
	old       string // where the output that is replaced waits until the new one is in its place
	trash     string // what is being removed
}

func (l partsFolder) partFile(at string, ordinal int64) string {
	return path.Join(at, PartName(ordinal, l.extension))
}

// PartName returns the name of a part's file.
func PartName(ordinal int64, extension string) string {
	return fmt.Sprintf("part-%05d%s", ordinal, extension)
}

func (l partsFolder) open(at string, header []byte) (made bool, err error) {
	if l.overwrite {
		if err := l.ours(l.name); err != nil {
			return false, err
		}
	}
	err = l.disk.Mkdir(at, 0o755)
	made = err == nil
	if err = disk.Ignore(err, fs.ErrExist); err != nil {
		return false, err
	}
	if disk.Exists(l.disk, path.Join(at, ManifestName)) {
		return false, nil // all parts are written, and the header is gone or about to go
	}
	err = l.writeFile(at, path.Join(at, headerName), aHeader, header)
	if err == nil && !disk.Exists(l.disk, at) {
		l.dropHeader() // the folder was sealed and published meanwhile
	}
	return made, err
}

// dropHeader removes a header that an attempt at open put into the folder when its output was all but published. There
// it does no harm, so that nothing fails where it cannot be removed.
func (l partsFolder) dropHeader() { _ = l.disk.Remove(path.Join(l.name, headerName)) }

func (l partsFolder) write(at string, part plugin.Part, data []byte) error {
	header, err := readRegular(l.disk, path.Join(at, headerName))
	if err != nil {
		return err
	}
	return l.writeFile(at, l.partFile(at, part.Ordinal), aPart, header, data)
}

// writeFile makes the file durable below the folder at. A process that writes the same pieces to the same name at the same time
// does no harm.
func (l partsFolder) writeFile(at, name string, m moments, pieces ...[]byte) error {
	f, err := openRegular(l.disk, name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	if err := write(f, m, true, 0, pieces...); err != nil {
		return err
	}
	return l.disk.SyncDir(at)
}

func (l partsFolder) holds(at string, part plugin.Part) (bool, error) {
	f, err := openRegular(l.disk, l.partFile(at, part.Ordinal), os.O_RDONLY)
	if err != nil {
		return false, l.onlyIfGone(at, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	headerBytes := info.Size() - part.Bytes
	if headerBytes < 0 {
		return false, nil
	}
	holds, err := l.holdsHeader(at, f, headerBytes)
	if err == nil && holds {
		holds, err = holdsAt(f, part, headerBytes)
	}
	if err != nil || !holds {
		return false, err
	}
	return true, l.disk.SyncDir(at) // the part's writer may have died before it did
}

// holdsHeader reports whether the first bytes of a staged part are the header: its writer may have died before they
// were there. What has no header beside it any more was looked at as a whole.
func (l partsFolder) holdsHeader(at string, f disk.File, headerBytes int64) (bool, error) {
	header, err := readRegular(l.disk, path.Join(at, headerName))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || int64(len(header)) != headerBytes {
		return false, err
	}
	found := make([]byte, headerBytes)
	_, err = f.ReadAt(found, 0)
	return bytes.Equal(found, header), disk.Ignore(err, io.EOF)
}

// onlyIfGone drops the error for a part that does not exist in a folder that does.
func (l partsFolder) onlyIfGone(at string, err error) error {
	if disk.Exists(l.disk, at) {
		return disk.Ignore(err, fs.ErrNotExist)
	}
	return err
}

func (l partsFolder) seal(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, fs.FileInfo, error) {
	if err := l.takeBack(ctx, at, header, parts); err != nil {
		return plugin.Artifact{}, nil, err
	}
	sealed, err := l.disk.Lstat(at)
	if err != nil {
		return plugin.Artifact{}, nil, err
	}
	m, err := l.inspect(ctx, at, header, parts)
	if err != nil {
		return plugin.Artifact{}, nil, err
	}
	text, err := m.Encode()
	if err == nil {
		err = l.writeFile(at, path.Join(at, ManifestName), aManifest, text)
	}
	if err != nil {
		return plugin.Artifact{}, nil, err
	}
	artifact, err := m.Artifact()
	return artifact, sealed, err
}

// takeBack gives the output the staging's name again if an attempt died while it was under the name for what is replaced: see
// removeReplaced.
func (l partsFolder) takeBack(ctx context.Context, at string, header []byte, parts []plugin.Part) error {
	if disk.Exists(l.disk, at) || !disk.Exists(l.disk, l.old) {
		return nil
	}
	if _, err := l.confirm(ctx, l.old, header, parts); err != nil {
		return ctx.Err() // what is there is not this run's
	}
	return l.disk.Rename(l.old, at)
}

// inspectStaged also finds the output where takeBack does.
func (l partsFolder) inspectStaged(ctx context.Context, at string, header []byte, parts []plugin.Part) error {
	if !disk.Exists(l.disk, at) {
		_, err := l.confirm(ctx, l.old, header, parts)
		return err
	}
	_, err := l.inspect(ctx, at, header, parts)
	return err
}

func (l partsFolder) confirm(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	m, err := l.inspect(ctx, at, header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	return l.inspectManifest(at, m)
}

// move gives the folder the final name. A rename replaces an empty folder and nothing else, so that what overwrite replaces
// changes places with the staging, and is then removed.
func (l partsFolder) move(staging string, sealed fs.FileInfo) error {
	if err := disk.Ignore(l.disk.Remove(path.Join(staging, headerName)), fs.ErrNotExist); err != nil {
		return err
	}
	if err := l.disk.SyncDir(staging); err != nil {
		return err
	}
	err := l.takeOrReplace(staging, sealed)
	if err == nil {
		l.dropHeader()
	}
	return err
}

func (l partsFolder) takeOrReplace(staging string, sealed fs.FileInfo) error {
	if !l.overwrite {
		return moved(l.take(staging))
	}
	if err := l.ours(l.name); err != nil {
		return err
	}
	return l.replace(staging, sealed)
}

func (l partsFolder) take(staging string) error {
	err := l.disk.Rename(staging, l.name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return l.occupied()
	}
	return err
}

// replace does nothing where another attempt has moved or discarded the staging: an attempt that comes late takes nothing
// away.
func (l partsFolder) replace(staging string, sealed fs.FileInfo) error {
	if err := l.isStill(staging, sealed); err != nil {
		return err
	}
	err := l.disk.Exchange(staging, l.name)
	exchanged := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = l.take(staging)
	case errors.Is(err, errors.ErrUnsupported):
		err = l.replaceInSteps(staging)
	}
	if err := moved(err); err != nil {
		return err
	}
	if exchanged {
		return l.removeReplaced(staging, sealed)
	}
	return l.removeAtOnce(l.old)
}

// removeReplaced removes what changed places with the output. If that is the output itself, two attempts made the change at
// the same time, and the second one took back what the first one did: the one that gets hold of it does it again.
func (l partsFolder) removeReplaced(staging string, sealed fs.FileInfo) error {
	err := l.disk.Rename(staging, l.old)
	if errors.Is(err, fs.ErrNotExist) {
		return l.isStill(l.name, sealed)
	}
	if err != nil {
		return err
	}
	err = l.isStill(l.old, sealed)
	if err == nil {
		err = moved(l.disk.Exchange(l.old, l.name))
	}
	if disk.Ignore(err, errBusy) != nil {
		return err
	}
	return l.removeAtOnce(l.old)
}

// replaceInSteps is for file systems that cannot exchange two names. For an instant there is no folder, but never one that
// is not whole.
func (l partsFolder) replaceInSteps(staging string) error {
	if err := disk.Ignore(l.disk.Rename(l.name, l.old), fs.ErrNotExist); err != nil {
		return err
	}
	err := failpoint.Hit("sink.aside")
	if err == nil {
		err = l.take(staging)
	}
	if err != nil {
		return errors.Join(err, l.putBack())
	}
	return nil
}

// putBack undoes a replacement in steps that was interrupted.
func (l partsFolder) putBack() error {
	if !disk.Exists(l.disk, l.old) || disk.Exists(l.disk, l.name) {
		return nil
	}
	return disk.Ignore(l.disk.Rename(l.old, l.name), fs.ErrNotExist)
}

// removeAtOnce removes a folder, and nothing of it where an attempt that continues gives it another name meanwhile. The name
// of what took its place is durable before that.
func (l partsFolder) removeAtOnce(name string) error {
	if !disk.Exists(l.disk, name) && !disk.Exists(l.disk, l.trash) {
		return nil
	}
	if err := l.disk.SyncDir(path.Dir(l.name)); err != nil {
		return err
	}
	if err := l.disk.RemoveAll(l.trash); err != nil {
		return err
	}
	if err := disk.Ignore(l.disk.Rename(name, l.trash), fs.ErrNotExist); err != nil {
		return err
	}
	return l.disk.RemoveAll(l.trash)
}

// discard also puts back what an interrupted move put aside.
func (l partsFolder) discard(staging string) error {
	if err := l.putBack(); err != nil {
		return err
	}
	return errors.Join(l.removeAtOnce(staging), l.removeAtOnce(l.old))
}
