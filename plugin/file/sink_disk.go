package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"waymark/internal/disk"
	"waymark/internal/failpoint"
)

// irregular says that a name belongs to something else than a regular file.
type irregular struct {
	name string
	info fs.FileInfo
}

// Error says what is there.
func (e *irregular) Error() string {
	return fmt.Sprintf("%s is %s, and no regular file", e.name, kindName(e.info))
}

// openRegular opens a regular file that is not a symbolic link; the error is an *irregular if there is something else. It never waits
// for the other end of a pipe.
func openRegular(d disk.Disk, name string, flag int) (disk.File, error) {
	if info, err := d.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, &irregular{name, info}
	}
	f, err := d.OpenFile(name, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &irregular{name, info}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readRegular(d disk.Disk, name string) ([]byte, error) {
	f, err := openRegular(d, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// moments names the failpoints of a write.
type moments struct{ writing, written, synced string }

// What is written to a staging.
var (
	aHeader   = moments{"sink.header.writing", "sink.header.written", "sink.header.synced"}
	aPart     = moments{"sink.part.writing", "sink.part.written", "sink.part.synced"}
	aManifest = moments{"sink.manifest.writing", "sink.manifest.written", "sink.manifest.synced"}
)

// write writes the pieces one after the other from the offset on, makes them durable, and closes the file in any case.
// whole says that the file ends after them.
func write(f disk.File, m moments, whole bool, offset int64, pieces ...[]byte) error {
	err := writeAt(f, m, offset, pieces)
	if err == nil && whole {
		for _, piece := range pieces {
			offset += int64(len(piece))
		}
		err = f.Truncate(offset)
	}
	if err == nil {
		err = failpoint.Hit(m.written)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = failpoint.Hit(m.synced)
	}
	return errors.Join(err, f.Close())
}

func writeAt(f disk.File, m moments, offset int64, pieces [][]byte) error {
	for _, piece := range pieces {
		n, err := f.WriteAt(piece[:failpoint.Short(m.writing, len(piece))], offset)
		if err == nil && n < len(piece) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return err
		}
		offset += int64(n)
	}
	return nil
}
