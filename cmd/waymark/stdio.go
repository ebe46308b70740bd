package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"waymark/client"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
)

// keepInput stores standard input for the run, so that it can be read twice. It returns how many bytes there are. Until all of them
// are there and durable, there is no run.
func (a *app) keepInput(ctx context.Context, m *machine, run string) (int64, error) {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
		a.note("reads standard input; Ctrl-D ends it")
	}
	file := m.planner.InputFile(run)
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
	bytes, err := copyUntil(ctx, partial, os.Stdin)
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
		bytes, err := io.Copy(to, from)
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
func (m *machine) sameInput(run, of string) error {
	if m.planner.Stdio == "" {
		return nil
	}
	err := os.Link(m.planner.InputFile(of), m.planner.InputFile(run))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		return nil // it read none, or this was done before
	}
	return err
}

// forgetInput removes what is kept of a run's standard input. Nobody goes on with the run, and its records are on record.
func (m *machine) forgetInput(run string) error {
	if m.planner.Stdio == "" {
		return nil
	}
	err := os.Remove(m.planner.InputFile(run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// output is what is printed when everything else is done.
type output struct {
	file string
	to   io.Writer
}

// divert leaves standard output to the rows of the run, if a sink writes them there, and says on standard error what else there is to
// say. The rows of a complete run are printed when the process has nothing more to do, so that whoever closes the pipe ends nothing
// else.
func (e *execution) divert(run landscape.Run, status *client.Status) error {
	var description plan.Description
	if err := json.Unmarshal([]byte(run.Plan), &description); err != nil {
		return fmt.Errorf("run %s: the plan on record: %w", run.ID, err)
	}
	for _, node := range description.Nodes {
		if node.Kind != plan.Sink || node.Location != pipeline.Stdio {
			continue
		}
		for _, sink := range status.Sinks {
			if sink.Sink == node.Name && sink.Path != "" && client.Complete(run.Status) {
				e.app.output = &output{sink.Path, e.app.stdout}
			}
		}
		e.app.stdout = e.app.stderr
	}
	return nil
}

// printOutput prints the rows of a run, if it wrote them to standard output. A run can be asked for them again: they stay where
// its status says that they are.
func (a *app) printOutput() error {
	if a.output == nil {
		return nil
	}
	file, err := os.Open(a.output.file)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(a.output.to, file); err != nil {
		return fmt.Errorf("the run is complete, but its rows could not be printed: %w; they are in %s", err, a.output.file)
	}
	return nil
}
