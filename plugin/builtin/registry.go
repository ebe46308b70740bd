package builtin

import (
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
)

// NewSource makes the source that a document's entry describes: its csv or jsonl field. name is the entry's name; root is
// where its files may be. The error names the option at fault and what to write instead; no file is looked at.
func NewSource(name string, spec pipeline.Source, root *Root) (plugin.Source, error) {
	return Plugins{Root: root}.Source(name, spec)
}

// Source is NewSource, with what else the Plugins have.
func (p Plugins) Source(name string, spec pipeline.Source) (plugin.Source, error) {
	source, err := p.newSource(name, spec)
	if err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	return source, nil
}

// filesSource is a source that reads files.
type filesSource interface {
	plugin.Source
	base() *fileSource
}

func (p Plugins) newSource(name string, spec pipeline.Source) (filesSource, error) {
	schema, err := newSchema(spec.Schema)
	if err != nil {
		return nil, err
	}
	base := fileSource{name: name, schema: schema, buffer: bufferBytes}
	switch {
	case spec.CSV != nil && spec.JSONL != nil:
		return nil, errors.New("has both csv and jsonl; make two sources of it")
	case spec.CSV != nil:
		base.files = spec.CSV.Files
		if err := base.checkFiles(p); err != nil {
			return nil, fmt.Errorf("csv.%w", err)
		}
		source, err := newCSVSource(base, *spec.CSV)
		if err != nil {
			return nil, fmt.Errorf("csv.%w", err)
		}
		return source, nil
	case spec.JSONL != nil:
		base.files = spec.JSONL.Files
		if err := base.checkFiles(p); err != nil {
			return nil, fmt.Errorf("jsonl.%w", err)
		}
		return newJSONLSource(base), nil
	case spec.JSON != nil:
		base.files = spec.JSON.Files
		if err := base.checkFiles(p); err != nil {
			return nil, fmt.Errorf("json.%w", err)
		}
		return newJSONSource(base, *spec.JSON), nil
	}
	return nil, errors.New("has no format; give it csv or jsonl")
}

// checkFiles checks the options that all file sources have, and finds out where the files are.
func (s *fileSource) checkFiles(p Plugins) (err error) {
	if s.store, err = p.Store(s.files); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "auto", "none", "gzip", "zstd", "bzip2", "zip"}, s.files.Compression) {
		return fmt.Errorf("compression: %q is not auto, none, gzip, zstd, bzip2 or zip", s.files.Compression)
	}
	if _, ok := decodings[s.files.Encoding]; !ok && s.files.Encoding != "" && s.files.Encoding != "utf-8" {
		return fmt.Errorf("encoding: %q is not utf-8, utf-16le, utf-16be, latin-1 or windows-1252", s.files.Encoding)
	}
	return nil
}

// Store returns where the files of a source are. The error names the option at fault; nothing is looked at.
func (p Plugins) Store(files pipeline.Files) (Store, error) {
	if files.Path == pipeline.Stdio {
		return p.Stdio.input()
	}
	if pipeline.Scheme(files.Path) != "" {
		if p.Remote == nil {
			return nil, fmt.Errorf("path: %q: only files on this host can be read here", files.Path)
		}
		return p.Remote.Store(files)
	}
	if _, _, err := p.Root.Resolve(files.Path); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	return rootStore{p.Root}, nil
}
