package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"waymark/internal/defect"
)

// keepInput stores standard input for the run, so that it can be read twice. It returns how many bytes there are. Until all of them
// are there and durable, there is no run.
func (s *Session) keepInput(ctx context.Context, run string, input io.Reader) (int64, error) {
	file := s.Planner.InputFile(run)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return 0, err
	}
	if err := removePartial(filepath.Dir(file)); err != nil {
		return 0, err
	}
	partial, err := os.OpenFile(file+partialInput, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer os.Remove(partial.Name()) //nolint:errcheck // it has its name by then, or is of no use
	bytes, err := copyUntil(ctx, partial, input)
	if err = errors.Join(err, partial.Sync(), partial.Close()); err == nil {
		err = os.Rename(partial.Name(), file)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(file))
	}
	return bytes, err
}

// partialInput ends the name of a file that is not whole.
const partialInput = ".partial"

// removePartial removes what processes left that were killed while they stored their input. A state folder has one process.
func removePartial(folder string) error {
	left, err := filepath.Glob(filepath.Join(folder, "*.stdin"+partialInput))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// copyUntil is io.Copy, which ends with ctx, though nothing ends a read.
func copyUntil(ctx context.Context, to io.Writer, from io.Reader) (int64, error) {
	type result struct {
		bytes int64
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var bytes int64
		err := defect.Catch("input", func() (err error) { bytes, err = io.Copy(to, from); return err })
		done <- result{bytes, err}
	}()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case copied := <-done:
		return copied.bytes, copied.err
	}
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// sameInput gives a run the standard input of another one.
func (s *Session) sameInput(run, of string) error {
	if s.Planner.Stdio == "" {
		return nil
	}
	err := os.Link(s.Planner.InputFile(of), s.Planner.InputFile(run))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // it read none, or this was done before
	}
	return err
}

// forgetInput removes what is kept of a run's standard input. Nobody resumes the run, and its records are stored.
func (s *Session) forgetInput(run string) error {
	if s.Planner.Stdio == "" {
		return nil
	}
	err := os.Remove(s.Planner.InputFile(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
