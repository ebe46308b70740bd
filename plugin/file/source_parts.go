package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"waymark/plugin"
)

// maxManifestBytes bounds a manifest that is read: more than a million parts.
const maxManifestBytes = 256 << 20

// PartsAt describes the parts of an output that was published under a path of a Store, as plugin.Watched says.
func PartsAt(ctx context.Context, s Store, at string) (parts []plugin.OutputPart, manifest string, err error) {
	at = strings.TrimSuffix(at, "/")
	text, err := readWhole(ctx, s, at+"/"+ManifestName)
	if err != nil {
		return nil, "", err
	}
	m, ours := ParseManifest(text)
	if !ours {
		return nil, "", nil
	}
	about, err := m.Artifact()
	if err != nil {
		return nil, "", err
	}
	if m.Folder != "" {
		at += "/" + path.Base(m.Folder)
	}
	for _, part := range m.Parts {
		parts = append(parts, plugin.OutputPart{Path: at + "/" + path.Base(part.File), SHA256: part.SHA256})
	}
	return parts, about.SHA256, nil
}

// readWhole reads a file of a Store; nothing if it is not there.
func readWhole(ctx context.Context, s Store, path string) (text []byte, err error) {
	files, err := s.List(ctx, path)
	if fault, is := errors.AsType[*plugin.SourceError](err); is && fault.Code == CodeNotFound || err == nil && len(files) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := s.Open(ctx, files[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stream, err := file.Stream(ctx, 0)
	if err != nil {
		return nil, err
	}
	text, err = io.ReadAll(io.LimitReader(&bound{ctx, stream}, maxManifestBytes+1))
	if err == nil && len(text) > maxManifestBytes {
		err = fmt.Errorf("%s: longer than any manifest", path)
	}
	return text, err
}
