package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"waymark/internal/defect"
)

// Input is standard input that is stored for a run before that starts. Close it when the run has started, or does not.
type Input struct {
	partial *os.File // is locked until it is closed
	bytes   int64
}

// StoreInput stores standard input for a run whose input is kept in a file, so that it can be read twice. A process
// that waits for its turn does this before: what it reads may come from one that waits for its own.
func StoreInput(ctx context.Context, file string, input io.Reader) (_ *Input, err error) {
	stored := &Input{}
	if stored.partial, err = newPartial(file + partialInput); err != nil {
		return nil, err
	}
	stored.bytes, err = copyUntil(ctx, stored.partial, input)
	if err = errors.Join(err, stored.partial.Sync()); err != nil {
		stored.Close()
		return nil, err
	}
	return stored, nil
}

// newPartial makes a file and locks it. The lock of its folder keeps others from taking it for one that was left.
func newPartial(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	if err := removePartial(folder.Name()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockPartial(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Close removes what has not become the input of a run.
func (i *Input) Close() {
	_ = os.Remove(i.partial.Name()) // it has its name by then, or is of no use
	_ = i.partial.Close()
}

// keepInput makes what is stored of standard input, or else standard input itself, the run's. It returns how many bytes
// there are. Until all of them are there and durable, there is no run.
func (s *Session) keepInput(ctx context.Context, r *StartRequest) (int64, error) {
	file, stored := s.Planner.InputFile(r.Run), r.Stored
	if stored == nil {
		var err error
		if stored, err = StoreInput(ctx, file, r.Input); err != nil {
			return 0, err
		}
		defer stored.Close()
	}
	err := os.Rename(stored.partial.Name(), file)
	if err == nil {
		err = syncFolder(filepath.Dir(file))
	}
	return stored.bytes, err
}

// partialInput ends the name of a file that is not whole.
const partialInput = ".partial"

// removePartial removes what processes left that were killed while they stored their input: nobody has it locked.
func removePartial(folder string) error {
	left, err := filepath.Glob(filepath.Join(folder, "*.stdin"+partialInput))
	for _, path := range left {
		file, failed := os.Open(path)
		if errors.Is(failed, fs.ErrNotExist) { // it is a run's by now
			continue
		}
		if failed == nil && lockPartial(file) == nil {
			failed = os.Remove(path)
		}
		err = errors.Join(err, failed, file.Close())
	}
	return err
}

// lockPartial locks a file, unless another process has it locked.
func lockPartial(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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
