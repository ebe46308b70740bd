package plugin

import (
	"context"
	"errors"
	"io"
)

// OutputFile is a file of a published output.
type OutputFile struct {
	Name   string // for people
	SHA256 string // lower-case hex, of the bytes that the run wrote
	// Open opens the file. The error wraps fs.ErrNotExist if it is gone. What it holds may be something else by now: the caller compares.
	Open func(context.Context) (io.ReadCloser, error)
}

// ErrNoFiles says that an output is not in files, but in a table or on the standard output.
var ErrNoFiles = errors.New("the output is not in files")

// A Returner is a Target whose published output is in files that only the target can read.
type Returner interface {
	Target
	// Files returns the files of the published output: the manifest, without its line that says in which folder the parts are, then the parts in their
	// order. The error wraps fs.ErrNotExist if there is no manifest. It changes nothing, and may be repeated.
	Files(ctx context.Context) ([]OutputFile, error)
}
