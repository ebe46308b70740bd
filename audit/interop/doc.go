// Package interop writes what is recorded of runs in the forms that other tools read: Parquet, RO-Crate, W3C PROV,
// OpenLineage, and schemas of outputs. It derives everything
// from the record and adds nothing to it; docs/export.md describes the forms.
package interop

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"waymark/landscape"
)

// ToFile writes a run as one file. What was written before an error is of no use.
type ToFile func(ctx context.Context, log *landscape.Reader, run string, to io.Writer) error

// ToFolder writes a run as files in a folder, which is there and empty, and returns them. What was written before an error is of no use.
type ToFolder func(ctx context.Context, log *landscape.Reader, run, folder string) ([]File, error)

var (
	_ ToFile   = PROV
	_ ToFile   = OpenLineage
	_ ToFolder = Parquet
	_ ToFolder = ROCrate
	_ ToFolder = Schemas
)

// File is a file that was written.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// writeFile makes a file in a folder, and makes it durable.
func writeFile(folder, name string, write func(io.Writer) error) (File, error) {
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return File{}, err
	}
	out := bufio.NewWriterSize(file, 1<<18)
	err = errors.Join(write(out), out.Flush(), file.Sync())
	info, wrong := file.Stat()
	if err = errors.Join(err, wrong, file.Close()); err != nil {
		return File{}, err
	}
	return File{name, info.Size()}, nil
}
