package builtin

import (
	"fmt"
	"io"

	"waymark/engine/plan"
	"waymark/pipeline"
)

// Limits of a table, all of which is in memory. Source: docs/pipelines.md.
const (
	maxTableBytes = 64 << 20 // of the file, and of the text in it
	maxTableRows  = 1_000_000
)

// Table reads the table of the lookup with this name: one CSV or JSON Lines file, read as a source of that format reads
// it. A row that the schema refuses, a null in a key and two rows with one key are errors, which name the line and the
// cure.
//
// A field that the schema does not declare has the kind of all its values, string if it has none, and may be null. The
// fields that a lookup adds may be null, too, if a row without a match gets nulls.
func (p Plugins) Table(name string, spec pipeline.Lookup) (*plan.Table, error) {
	source, err := Plugins{Root: p.Root}.newSource(name, pipeline.Source{CSV: spec.CSV, JSONL: spec.JSONL, Schema: spec.Schema})
	if err != nil {
		return nil, err
	}
	path := source.base().files.Path
	if hasMeta(path) {
		return nil, fmt.Errorf(`%s: a table is one file: give a path without *, ?, [ and \`, path)
	}
	content, known := p.Tables[name]
	if !known {
		if content, err = p.content(path); err != nil {
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
func (p Plugins) content(path string) ([]byte, error) {
	file, info, err := p.Root.Open(path)
	if err != nil {
		return nil, rootFault(path, err)
	}
	defer file.Close()
	if info.Size() > maxTableBytes {
		return nil, tooLarge(path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxTableBytes+1))
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
