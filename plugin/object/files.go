package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"waymark/plugin"
	"waymark/plugin/file"
)

var _ plugin.Returner = (*target)(nil)

// Files goes by the manifest in force, even if it is that of another run.
func (t *target) Files(ctx context.Context) ([]plugin.OutputFile, error) {
	found, err := t.read(ctx, t.manifestKey())
	if errors.Is(err, errNone) {
		return nil, fmt.Errorf("%s: %w", t.manifestKey(), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	m, ok := file.ParseManifest(found.data)
	if !ok {
		return nil, t.changed("%s is not one of Waymark's", t.manifestKey())
	}
	about, err := m.Artifact()
	if err != nil {
		return nil, err
	}
	folder := m.Folder
	m.Folder = ""
	text, err := m.Encode()
	files := []plugin.OutputFile{{Name: t.manifestKey(), SHA256: about.SHA256, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text)), nil
	}}}
	for _, part := range m.Parts {
		key := t.prefix + "/" + folder + "/" + part.File
		files = append(files, plugin.OutputFile{Name: key, SHA256: part.SHA256, Open: func(ctx context.Context) (io.ReadCloser, error) {
			return t.open(ctx, key)
		}})
	}
	return files, err
}

// open reads an object.
func (t *target) open(ctx context.Context, key string) (io.ReadCloser, error) {
	found, err := t.read(ctx, key)
	if errors.Is(err, errNone) {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(found.data)), err
}
