package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"waymark/pipeline"
	"waymark/plugin"
)

// Stdio keeps what goes through standard input and output in files: a run may have to read its input again, and shows its output
// when all of it is there. Who reads and prints them is not the plugins' affair. The zero Stdio rejects the path -.
type Stdio struct {
	Folder string // which need not exist; what is kept is in the folder stdio in it
	Run    string // id of the run whose standard input this process has; "" for none
}

const stdioFolder = "stdio"

// errNoStdio says why a path - is rejected.
var errNoStdio = errors.New("path: - is the standard input or output of `waymark run`, which works alone; a worker of a cluster has none")

// InputFile returns where the standard input of the run is kept.
func (s Stdio) InputFile(run string) string {
	return filepath.Join(s.Folder, stdioFolder, run+".stdin")
}

func (s Stdio) input() (Store, error) {
	if s.Folder == "" {
		return nil, errNoStdio
	}
	return inputStore{s}, nil
}

// inputStore holds one file, by the path -.
type inputStore struct{ Stdio }

func (inputStore) Fixed(plugin.FileInfo) bool { return false }

func (inputStore) OnHost() bool { return true }

func (s inputStore) List(context.Context, string) ([]plugin.FileInfo, error) {
	file, info, err := s.open()
	if err != nil {
		return nil, err
	}
	return []plugin.FileInfo{info}, file.Close()
}

func (s inputStore) Open(_ context.Context, info plugin.FileInfo) (File, error) {
	file, now, err := s.open()
	if err != nil {
		return nil, err
	}
	if now != info {
		return nil, errors.Join(Changed(info.Path), file.Close())
	}
	return &inputFile{rootFile{File: file, info: info}}, nil
}

func (s inputStore) open() (*os.File, plugin.FileInfo, error) {
	if s.Run == "" {
		return nil, plugin.FileInfo{}, &plugin.SourceError{Code: CodeNotFound, File: pipeline.Stdio, Message: "standard input is read when a run begins"}
	}
	file, err := os.Open(s.InputFile(s.Run))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, plugin.FileInfo{}, &plugin.SourceError{Code: CodeNotFound, File: pipeline.Stdio,
			Message: fmt.Sprintf("what run %s got by standard input is not in the state folder any more; start over with waymark run", s.Run)}
	}
	if err != nil {
		return nil, plugin.FileInfo{}, err
	}
	stat, err := file.Stat()
	if err != nil {
		return nil, plugin.FileInfo{}, errors.Join(err, file.Close())
	}
	return file, fileInfo(pipeline.Stdio, "", stat), nil
}

// inputFile is in the state folder, where nobody else puts files.
type inputFile struct{ rootFile }

func (f *inputFile) Unchanged(context.Context) error {
	stat, err := f.Stat()
	if err == nil && fileInfo(pipeline.Stdio, "", stat) != f.info {
		return Changed(f.info.Path)
	}
	return err
}

func (s Stdio) output(sink, extension string) (Destination, error) {
	if s.Folder == "" {
		return nil, errNoStdio
	}
	return stdoutDestination{s.Folder, sink, extension}, nil
}

// stdoutDestination is a file for each run.
type stdoutDestination struct{ folder, sink, extension string }

func (p stdoutDestination) Target(run string) plugin.Target {
	root, err := NewRoot(p.folder)
	if err != nil {
		return noTarget{fmt.Errorf("state folder: %w", err)}
	}
	at, err := newLocation(root, pipeline.FileTarget{Path: path.Join(stdioFolder, run+p.extension)})
	if err != nil {
		return noTarget{err}
	}
	return fileDestination{location: at, sink: p.sink, extension: p.extension}.Target(run)
}

func (stdoutDestination) Location() string { return pipeline.Stdio }

func (stdoutDestination) Exclusive() string { return "" }

func (stdoutDestination) Latest() plugin.Pointer { return nil }

func (stdoutDestination) OnHost() bool { return true }

// noTarget is a target in a place that cannot be reached now.
type noTarget struct{ err error }

func (t noTarget) Open(context.Context, []byte) (bool, error) { return false, t.err }

func (t noTarget) Write(context.Context, plugin.Part, []byte) error { return t.err }

func (t noTarget) Check(context.Context, plugin.Part) (plugin.Applied, error) {
	return plugin.Unknown, t.err
}

func (t noTarget) Publish(context.Context, []byte, []plugin.Part) (plugin.Artifact, error) {
	return plugin.Artifact{}, t.err
}

func (t noTarget) Verify(context.Context, []byte, []plugin.Part) (plugin.Artifact, error) {
	return plugin.Artifact{}, t.err
}

func (t noTarget) Discard(context.Context) error { return t.err }
