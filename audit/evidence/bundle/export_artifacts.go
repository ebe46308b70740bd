package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/plugin"
)

// ErrOutputChanged says that an output does not hold what the run published there, and that no later run published there.
var ErrOutputChanged = errors.New("it does not hold what the run published")

// artifacts adds the outputs of the run as they were published, each file once. What is gone, was replaced by a later run or is in no file is a gap.
func (e *export) artifacts(ctx context.Context) error {
	if e.options.Outputs == nil {
		return nil
	}
	e.manifest.Artifacts = true
	outputs, err := landscape.Select[landscape.ArtifactRecord](ctx, e.log, e.run.ID)
	if err != nil {
		return err
	}
	files, gaps := map[string]plugin.OutputFile{}, map[string]error{}
	for _, output := range outputs {
		found, err := e.filesOf(ctx, output)
		if err := cannotGoOn(ctx, err); err != nil {
			return err
		}
		if err != nil {
			gaps[output.SHA256] = fmt.Errorf("output of %s: %w", output.Sink, err)
		}
		for _, file := range found {
			files[file.SHA256] = file
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(files)) {
		err := e.artifact(ctx, files[digest])
		if errors.Is(err, fs.ErrNotExist) {
			gaps[digest], err = err, nil
		}
		if err != nil {
			return err
		}
	}
	for _, digest := range slices.Sorted(maps.Keys(gaps)) {
		e.gap(artifactName(digest), gaps[digest])
	}
	return nil
}

// cannotGoOn returns the errors with which an export ends.
func cannotGoOn(ctx context.Context, err error) error {
	if errors.Is(err, landscape.ErrUnavailable) || errors.Is(err, ErrOutputChanged) {
		return err
	}
	return ctx.Err()
}

// filesOf returns the files of an output; an error says why they are not the run's any more. Only one that a later run may have replaced is read for that.
func (e *export) filesOf(ctx context.Context, output landscape.ArtifactRecord) ([]plugin.OutputFile, error) {
	later, err := e.log.ReplacedBy(ctx, output)
	if err != nil {
		return nil, err
	}
	files, err := e.options.Outputs(ctx, output)
	if err != nil {
		return nil, err
	}
	same := len(files) > 0 && files[0].SHA256 == output.SHA256
	for _, file := range files {
		if same && later != "" {
			same, err = holds(ctx, file)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !same && later != "":
		return nil, fmt.Errorf("run %s replaced it", later)
	case !same:
		return nil, changed(output.Path, output.SHA256)
	}
	return files, nil
}

func changed(name, recorded string) error {
	return fmt.Errorf("%s: its SHA-256 is not the recorded one, %s: %w", name, recorded, ErrOutputChanged)
}

// holds reports whether a file holds what the run wrote.
func holds(ctx context.Context, file plugin.OutputFile) (bool, error) {
	sum := sha256.New()
	err := copyFile(ctx, sum, file)
	return hex.EncodeToString(sum.Sum(nil)) == file.SHA256, err
}

func copyFile(ctx context.Context, to io.Writer, file plugin.OutputFile) error {
	from, err := file.Open(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, from.Close())
}

// artifact adds a file of an output, and compares it while it is read. The error wraps fs.ErrNotExist if it is gone, before anything is written.
func (e *export) artifact(ctx context.Context, file plugin.OutputFile) error {
	from, err := file.Open(ctx)
	if err != nil {
		return err
	}
	err = e.add(artifactName(file.SHA256), func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
	if err == nil && e.manifest.Members[len(e.manifest.Members)-1].SHA256 != file.SHA256 {
		err = changed(file.Name, file.SHA256)
	}
	return errors.Join(err, from.Close())
}

func artifactName(digest string) string { return artifactFolder + digest }
