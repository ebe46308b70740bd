// Package lookup reads the tables that rows are enriched from.
package lookup

import (
	"errors"
	"fmt"
	"io"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/csv"
	"waymark/plugin/file"
	"waymark/plugin/jsonl"
)

// Limits of a table, all of which is in memory. Source: docs/pipelines.md.
const (
	maxTableBytes = 64 << 20 // of the file, and of the text in it
	maxTableRows  = 1_000_000
)

// source is what reads the file of a table.
type source interface {
	plugin.Source
	Path() string
	Chunks(content []byte, limits plugin.Limits, each func(c *plugin.Chunk, behind int64) error) error
}

func newSource(name string, spec pipeline.Lookup, root *file.Root) (source, error) {
	files := file.Access{Root: root}
	switch {
	case spec.CSV != nil && spec.JSONL != nil:
		return nil, errors.New("has both csv and jsonl; make two sources of it")
	case spec.CSV != nil:
		return csv.New(name, *spec.CSV, spec.Schema, files)
	case spec.JSONL != nil:
		return jsonl.New(name, *spec.JSONL, spec.Schema, files)
	}
	return nil, errors.New("has no format; give it csv or jsonl")
}

// Table reads the table of the lookup with this name: one CSV or JSON Lines file, read as a source of that format reads
// it. A row that the schema rejects, a null in a key and two rows with one key are errors, which name the line and the
// cure.
//
// A field that the schema does not declare has the kind of all its values, string if it has none, and may be null. The
// fields that a lookup adds may be null, too, if a row without a match gets nulls.
//
// kept are the contents of the files of lookups, by the lookup's name, as they are on disk. The file of a lookup that is in it is not looked
// at. It may be nil.
func Table(name string, spec pipeline.Lookup, root *file.Root, kept map[string][]byte) (*plugin.Table, error) {
	source, err := newSource(name, spec, root)
	if err != nil {
		return nil, err
	}
	path := source.Path()
	if file.IsPattern(path) {
		return nil, fmt.Errorf(`%s: a table is one file: give a path without *, ?, [ and \`, path)
	}
	content, known := kept[name]
	if !known {
		if content, err = contentOf(root, path); err != nil {
			return nil, err
		}
	}
	b := newTableBuilder(source, spec)
	if err := b.read(source, content); err != nil {
		return nil, err
	}
	return b.table(spec, content)
}

// content returns the bytes of a file that is small enough to be a table.
func contentOf(root *file.Root, path string) ([]byte, error) {
	opened, info, err := root.Open(path)
	if err != nil {
		return nil, file.Fault(path, err)
	}
	defer opened.Close()
	if info.Size() > maxTableBytes {
		return nil, tooLarge(path)
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxTableBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(content) > maxTableBytes {
		return nil, tooLarge(path)
	}
	return content, nil
}

func tooLarge(path string) error {
	return fmt.Errorf("%s: a table has at most %d bytes: keep only the rows and columns that the lookup needs", path, maxTableBytes)
}
