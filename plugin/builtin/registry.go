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
	source, err := newSource(name, spec, root)
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

func newSource(name string, spec pipeline.Source, root *Root) (filesSource, error) {
	schema, err := newSchema(spec.Schema)
	if err != nil {
		return nil, err
	}
	base := fileSource{name: name, root: root, schema: schema, buffer: bufferBytes}
	switch {
	case spec.CSV != nil && spec.JSONL != nil:
		return nil, errors.New("has both csv and jsonl; make two sources of it")
	case spec.CSV != nil:
		base.files = spec.CSV.Files
		if err := base.checkFiles(); err != nil {
			return nil, fmt.Errorf("csv.%w", err)
		}
		source, err := newCSVSource(base, *spec.CSV)
		if err != nil {
			return nil, fmt.Errorf("csv.%w", err)
		}
		return source, nil
	case spec.JSONL != nil:
		base.files = spec.JSONL.Files
		if err := base.checkFiles(); err != nil {
			return nil, fmt.Errorf("jsonl.%w", err)
		}
		return newJSONLSource(base), nil
	}
	return nil, errors.New("has no format; give it csv or jsonl")
}

// checkFiles checks the options that all file sources have.
func (s *fileSource) checkFiles() error {
	if _, _, err := s.root.Resolve(s.files.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if !slices.Contains([]string{"", "auto", "none", "gzip", "zstd"}, s.files.Compression) {
		return fmt.Errorf("compression: %q is not auto, none, gzip or zstd", s.files.Compression)
	}
	if _, ok := decodings[s.files.Encoding]; !ok && s.files.Encoding != "" && s.files.Encoding != "utf-8" {
		return fmt.Errorf("encoding: %q is not utf-8, utf-16le, utf-16be, latin-1 or windows-1252", s.files.Encoding)
	}
	return nil
}
