package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"waymark/plugin"
)

// headerName is the file in the staging, and only there, with the header for processes that did not open it.
const headerName = ".header"

// partsFolder is the layout of an output in parts: one file for each part, with the header and the part's bytes, and a manifest.
type partsFolder struct {
	place
	sink      string
	extension string
	old       string // where the output that is replaced waits until the new one is in its place
}

func (l partsFolder) partFile(at string, ordinal int64) string {
	return path.Join(at, fmt.Sprintf("part-%05d%s", ordinal, l.extension))
}

func (l partsFolder) open(at string, header []byte) (made bool, err error) {
	if l.overwrite {
		if err := l.ours(l.name); err != nil {
			return false, err
		}
	}
	err = l.root.Mkdir(at, 0o755)
	made = err == nil
	if err = ignore(err, fs.ErrExist); err != nil {
		return false, err
	}
	return made, l.writeFile(at, path.Join(at, headerName), header)
}

func (l partsFolder) write(at string, part plugin.Part, data []byte) error {
	header, err := readRegular(l.root, path.Join(at, headerName))
	if err != nil {
		return err
	}
	return l.writeFile(at, l.partFile(at, part.Ordinal), header, data)
}

// writeFile makes the file durable below the folder at. Whoever writes the same pieces to the same name at the same time
// does no harm.
func (l partsFolder) writeFile(at, name string, pieces ...[]byte) error {
	f, err := openRegular(l.root, name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	offset := int64(0)
	for _, piece := range pieces {
		if err == nil {
			_, err = f.WriteAt(piece, offset)
		}
		offset += int64(len(piece))
	}
	if err == nil {
		err = f.Truncate(offset)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return syncFolder(l.root, at)
}

func (l partsFolder) holds(at string, part plugin.Part) (bool, error) {
	f, err := openRegular(l.root, l.partFile(at, part.Ordinal), os.O_RDONLY)
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
	return holdsAt(f, part, headerBytes)
}

// onlyIfGone drops the error for a part that does not exist in a folder that does.
func (l partsFolder) onlyIfGone(at string, err error) error {
	if exists(l.root, at) {
		return ignore(err, fs.ErrNotExist)
	}
	return err
}

func (l partsFolder) seal(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	m, err := l.inspect(ctx, at, header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	text, err := m.encode()
	if err == nil {
		err = l.writeFile(at, path.Join(at, manifestName), text)
	}
	return m.artifact(text), err
}

func (l partsFolder) confirm(ctx context.Context, at string, header []byte, parts []plugin.Part) (plugin.Artifact, error) {
	m, err := l.inspect(ctx, at, header, parts)
	if err != nil {
		return plugin.Artifact{}, err
	}
	return l.inspectManifest(at, m)
}

// move renames the folder. A rename replaces an empty folder and nothing else; what overwrite replaces goes aside first,
// so that for an instant there is no folder, but never one that is not whole.
func (l partsFolder) move(staging string) error {
	if err := ignore(l.root.Remove(path.Join(staging, headerName)), fs.ErrNotExist); err != nil {
		return err
	}
	if l.overwrite {
		if err := l.putAside(); err != nil {
			return err
		}
	}
	err := l.root.Rename(staging, l.name)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
		return l.occupied()
	}
	if err != nil {
		return err
	}
	return l.root.RemoveAll(l.old)
}

func (l partsFolder) putAside() error {
	if err := l.ours(l.name); err != nil {
		return err
	}
	return ignore(l.root.Rename(l.name, l.old), fs.ErrNotExist)
}

// discard also puts back what an interrupted move put aside.
func (l partsFolder) discard(staging string) error {
	if exists(l.root, l.old) && !exists(l.root, l.name) {
		if err := l.root.Rename(l.old, l.name); err != nil {
			return err
		}
	}
	return errors.Join(l.root.RemoveAll(staging), l.root.RemoveAll(l.old))
}
