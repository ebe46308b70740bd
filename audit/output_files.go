package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// OutputFiles returns the files of a published output, as they are now: one, or a manifest and the parts that it names. It reads no more than the manifest: the
// caller compares what the files hold. The error says why they are not to be had; it wraps fs.ErrNotExist if the output is gone, plugin.ErrNoFiles if it has none, and
// landscape.ErrUnavailable if the record could not be read.
func (a *Auditor) OutputFiles(ctx context.Context, published landscape.ArtifactRecord) ([]plugin.OutputFile, error) {
	if published.Path == pipeline.Stdio {
		return nil, fmt.Errorf("it went to the standard output: %w", plugin.ErrNoFiles)
	}
	if isFile(published.Path) {
		return localFiles(published.Artifact())
	}
	run, err := a.log.Run(ctx, published.Run)
	if err != nil {
		return nil, err
	}
	compiled, problem, err := a.plan(ctx, run)
	if err != nil {
		return nil, err
	}
	if compiled == nil {
		return nil, fmt.Errorf("only its sink can read it, and %s", problem)
	}
	if i := compiled.Find(published.Sink); i != plan.None && compiled.Nodes[i].Kind == plan.Sink {
		if target, can := compiled.Nodes[i].Sink.Target(run.ID).(plugin.Returner); can {
			return target.Files(ctx)
		}
	}
	return nil, plugin.ErrNoFiles
}

// localFiles returns the files of an output that is a file, or a folder of parts.
func localFiles(published plugin.Artifact) ([]plugin.OutputFile, error) {
	info, err := os.Lstat(published.Path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []plugin.OutputFile{localFile(published.Path, published.SHA256)}, nil
	}
	manifest, err := readManifest(published.Path)
	if err != nil {
		return nil, err
	}
	files := []plugin.OutputFile{localFile(manifestIn(published.Path), published.SHA256)}
	for _, part := range manifest.Parts {
		files = append(files, localFile(filepath.Join(published.Path, filepath.Base(part.File)), part.SHA256))
	}
	return files, nil
}

func localFile(path, digest string) plugin.OutputFile {
	return plugin.OutputFile{Name: path, SHA256: digest, Open: func(context.Context) (io.ReadCloser, error) {
		if err := isRegular(path); err != nil {
			return nil, err
		}
		return os.Open(path)
	}}
}

// partsManifest is what of the manifest of an output in parts says which they are. The format is in docs/sinks.md.
type partsManifest struct {
	Parts []struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	} `json:"parts"`
}

func manifestIn(folder string) string { return filepath.Join(folder, "manifest.json") }

// readManifest reads the manifest of a folder of parts.
func readManifest(folder string) (m partsManifest, err error) {
	path := manifestIn(folder)
	if err := isRegular(path); err != nil {
		return m, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// isRegular refuses what is no regular file: it is never opened, for a FIFO would be waited for.
func isRegular(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return fmt.Errorf("%s is a symbolic link, and no regular file", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	}
	return nil
}
