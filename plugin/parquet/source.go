// Package parquet reads and writes Parquet files. A row that is read becomes a record of one JSON object, which is stored,
// hashed and parsed as a line of a JSON Lines file is; rows that are written are gathered, and each part is a whole file.
package parquet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
	"waymark/plugin/jsonl"
)

// source reads the rows of Parquet files.
type source struct {
	name    string
	spec    pipeline.ParquetSource
	store   file.Store
	records *jsonl.Records
	schema  pipeline.Schema
}

// NewSource makes the source that a document's entry with a parquet field describes. name is the entry's name; files says where
// its files may be. The error names the option at fault and what to write instead; no file is looked at.
func NewSource(name string, spec pipeline.Source, files file.Access) (plugin.Source, error) {
	s := &source{name: name, spec: *spec.Parquet, schema: spec.Schema}
	var err error
	if s.records, err = jsonl.NewRecords(spec.Schema); err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	if s.store, err = files.Store(pipeline.Files{Path: s.spec.Path, S3: s.spec.S3, HTTP: s.spec.HTTP}); err != nil {
		return nil, fmt.Errorf("sources.%s: parquet.%w", name, err)
	}
	return s, nil
}

// Determinism says that the rows depend on what the files hold.
func (s *source) Determinism() pipeline.Determinism { return pipeline.ReadsIO }

// Fields returns the declared fields; rows carry others after them unless the schema is fixed.
func (s *source) Fields() ([]pipeline.Named[pipeline.Field], bool) { return s.records.Fields() }

// Parser returns a parser. The context has the kinds of columns that are not declared.
func (s *source) Parser(context []byte) (plugin.Parser, error) { return s.records.TypedParser(context) }

// OnHost reports whether the files are on this host.
func (s *source) OnHost() bool { return s.store.OnHost() }

// Stat lists the files in bytewise order of their paths. It opens none.
func (s *source) Stat(ctx context.Context) (plugin.SourceInfo, error) {
	files, err := s.store.List(ctx, s.spec.Path)
	if err != nil {
		return plugin.SourceInfo{}, s.about(s.spec.Path, err)
	}
	if len(files) == 0 && !s.spec.AllowEmpty {
		return plugin.SourceInfo{}, &plugin.SourceError{
			Code: codeEmpty, File: s.spec.Path, Message: "no file matches; mend the pattern, or set allow_empty: true",
		}
	}
	return plugin.SourceInfo{Files: files}, nil
}

// Look describes the files that are there. It opens none.
func (s *source) Look(ctx context.Context) (files []plugin.FileInfo, left []error, err error) {
	files, left, err = file.Look(ctx, s.store, s.spec.Path)
	if err != nil {
		return nil, nil, s.about(s.spec.Path, err)
	}
	return files, left, nil
}

// Parts describes the parts of an output that was published under a path.
func (s *source) Parts(ctx context.Context, path string) ([]plugin.OutputPart, string, error) {
	parts, manifest, err := file.PartsAt(ctx, s.store, path)
	if err != nil {
		err = s.about(path, err)
	}
	return parts, manifest, err
}

// Open returns a Reader at the cursor, after it made sure that the files are still those of pin; of what arrived, when it comes to each.
func (s *source) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	if pin.Trigger == "" { // or else others come and go
		if err := s.unchanged(ctx, pin); err != nil {
			return nil, err
		}
	}
	if at.File < 0 || at.File > len(pin.Files) {
		return nil, fmt.Errorf("source %s: cursor points to file %d of %d", s.name, at.File, len(pin.Files))
	}
	return &reader{source: s, pin: pin, at: at}, nil
}

// CheckHead reads the footer of a file, and holds its columns against the schema, as a Reader does.
func (s *source) CheckHead(ctx context.Context, file plugin.FileInfo) (err error) {
	r := &reader{source: s, pin: plugin.SourceInfo{Files: []plugin.FileInfo{file}}}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.open(ctx); err != nil {
		return r.blame(ctx, err)
	}
	return nil
}

// unchanged fails if the files are no longer those of pin.
func (s *source) unchanged(ctx context.Context, pin plugin.SourceInfo) error {
	if len(pin.Files) > 0 && !slices.ContainsFunc(pin.Files, func(info plugin.FileInfo) bool { return !s.store.Fixed(info) }) {
		return nil
	}
	now, err := s.Stat(ctx)
	if err != nil && !isGone(err) {
		return err
	}
	for i, pinned := range pin.Files {
		if i >= len(now.Files) || now.Files[i] != pinned {
			return file.Changed(pinned.Path)
		}
	}
	if len(now.Files) > len(pin.Files) {
		return file.Changed(now.Files[len(pin.Files)].Path)
	}
	return nil
}

// isGone reports whether err says that there is no file.
func isGone(err error) bool {
	var f *plugin.SourceError
	return errors.As(err, &f) && (f.Code == codeNotFound || f.Code == codeEmpty)
}

// about returns a fault with the file's path, and anything else with what it is about: a later try may work.
func (s *source) about(path string, err error) error {
	if isFault(err) {
		return of(path, err)
	}
	return fmt.Errorf("source %s: %s: %w", s.name, path, err)
}

// checkColumns holds the columns of a file against the declared fields, and notes what they are declared to be.
func (s *source) checkColumns(c *contents) error {
	fields, open := s.records.Fields()
	declared := make(map[string]row.Kind, len(fields))
	for _, field := range fields {
		column := cmp.Or(field.Value.From, field.Name)
		declared[column], _ = row.ParseKind(field.Value.Type)
		if !field.Value.Optional && !slices.Contains(c.names, column) {
			return fault(codeMismatch, "it has no column %q, which the schema declares; it has %s", column, namesText(c.names))
		}
	}
	for _, column := range c.names {
		kind, known := declared[column]
		if !open && !known {
			return fault(codeMismatch, "its column %q is not declared; declare it, or set schema.mode: flexible", column)
		}
		if known {
			c.kinds = append(c.kinds, kind)
		}
	}
	if len(c.kinds) < len(c.names) {
		c.kinds = nil
	}
	columns := make([]jsonl.Column, len(c.names))
	for i, child := range c.root.children {
		columns[i] = jsonl.Column{Name: child.name, Kind: child.kind()}
	}
	c.context = s.records.Context(columns)
	return nil
}
