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

func newSource(name string, spec pipeline.Lookup, files file.Access) (source, error) {
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
// The file of a lookup whose content is kept is not looked at.
func Table(name string, spec pipeline.Lookup, root *file.Root, kept Kept) (*plugin.Table, error) {
	content, known := kept.Tables[name]
	source, err := newSource(name, spec, file.Access{Root: root, Known: known || kept.Files != nil})
	if err != nil {
		return nil, err
	}
	path := source.Path()
	if file.IsPattern(path) {
		return nil, fmt.Errorf(`%s: a table is one file: give a path without *, ?, [ and \`, path)
	}
	switch {
	case known:
	case kept.Files != nil:
		content, err = kept.file(path)
	default:
		content, err = contentOf(root, path)
	}
	if err != nil {
		return nil, err
	}
	b := newTableBuilder(source, spec)
	if err := b.read(source, content); err != nil {
		return nil, err
	}
	return b.table(spec, content)
}

// Kept are the contents of the files of lookups, as they are on disk. The zero Kept has none.
type Kept struct {
	Tables map[string][]byte // by the lookup's name
	Files  map[string][]byte // by the path that the document has; if it is not nil, no other file is there
}

func (k Kept) file(path string) ([]byte, error) {
	content, known := k.Files[path]
	if !known {
		return nil, fmt.Errorf("%s: is not among the files of the deployed version, or the tables of the run: "+
			"who deploys by the API sends it with files of the request, under this path (docs/api.md); waymark "+
			"deploy takes it along if the path is the same in every run, without parameters and variables", path)
	}
	return content, nil
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
