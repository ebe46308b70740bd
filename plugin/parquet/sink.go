package parquet

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
	"waymark/plugin/file"
)

// sink writes a folder of Parquet files. Where they go is the business of the sink of parts in it.
type sink struct {
	plugin.Sink
	name string
	spec pipeline.ParquetSink
}

// NewSink makes the sink that a document's entry with a parquet field describes. name is the entry's name; files says where its
// folder may be. The error names the option at fault and what to write instead; nothing is looked at or changed.
func NewSink(name string, spec pipeline.Sink, files file.Access) (plugin.Sink, error) {
	s := &sink{name: name, spec: *spec.Parquet}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("sinks.%s: parquet.%w", name, err)
	}
	target := s.spec.Target()
	target.Parts = true
	place, err := files.Destination(name, ".parquet", target)
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, file.AtPath("parquet", err))
	}
	s.Sink = file.NewSink(place, s.untyped)
	return s, nil
}

// Version is raised when the same rows give other bytes, as they may with another version of the library.
func (s *sink) Version() int { return 1 }

func (s *sink) check() error {
	if _, known := compressions[s.spec.Compression]; !known {
		return fmt.Errorf("compression: %q is not zstd, snappy or none", s.spec.Compression)
	}
	for i, column := range s.spec.Columns {
		if slices.Contains(s.spec.Columns[:i], column) {
			return fmt.Errorf("columns: %q is listed twice", column)
		}
	}
	for _, entry := range s.spec.Decimals {
		if entry.Value < 0 || entry.Value > decimalDigits {
			return fmt.Errorf("decimals.%s: %d is not 0 to %d", entry.Name, entry.Value, decimalDigits)
		}
	}
	return nil
}

// untyped takes the place of an encoder that does not know the types of its fields, for which nobody asks.
func (s *sink) untyped([]string, bool) (plugin.Encoder, error) {
	return nil, fmt.Errorf("sinks.%s: a Parquet file needs the types of its columns", s.name)
}

// TypedEncoder returns an encoder that gathers the rows of a part, and makes a file of them.
func (s *sink) TypedEncoder(fields []plugin.Field, open bool) (plugin.Encoder, error) {
	columns, err := s.columns(fields, open)
	if err == nil {
		err = s.setDecimals(columns)
	}
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", s.name, err)
	}
	return newEncoder(columns, len(s.spec.Columns) == 0, compressions[s.spec.Compression]), nil
}

// columns returns the columns to write: those of the document, or else the fields of the rows.
func (s *sink) columns(fields []plugin.Field, open bool) ([]target, error) {
	if len(s.spec.Columns) == 0 {
		return allColumns(fields, open)
	}
	columns := make([]target, len(s.spec.Columns))
	for i, name := range s.spec.Columns {
		at := slices.IndexFunc(fields, func(f plugin.Field) bool { return f.Name == name })
		switch {
		case at >= 0:
			columns[i] = target{Field: fields[at], scale: textDecimal}
		case open:
			columns[i] = target{Field: plugin.Field{Name: name, Kind: row.JSON, Optional: true}}
		default:
			return nil, fmt.Errorf("columns: no row has a field %q; the fields are %s", name, fieldNames(fields))
		}
	}
	return columns, tooMany(columns)
}

func allColumns(fields []plugin.Field, open bool) ([]target, error) {
	switch {
	case open:
		return nil, fmt.Errorf("rows may carry fields that the schema does not declare, and a Parquet file has one schema for " +
			"all of them; list columns, declare the fields with schema mode fixed, or write jsonl")
	case len(fields) == 0:
		return nil, fmt.Errorf("rows have no fields, so that there are no columns to write")
	}
	columns := make([]target, len(fields))
	for i, field := range fields {
		columns[i] = target{Field: field, scale: textDecimal}
	}
	return columns, tooMany(columns)
}

func tooMany(columns []target) error {
	if len(columns) > maxColumns {
		return fmt.Errorf("rows have %d columns; a Parquet file gets at most %d: list columns", len(columns), maxColumns)
	}
	return nil
}

func (s *sink) setDecimals(columns []target) error {
	for _, entry := range s.spec.Decimals {
		at := slices.IndexFunc(columns, func(c target) bool { return c.Name == entry.Name })
		switch {
		case at < 0:
			return fmt.Errorf("decimals: no column is called %q", entry.Name)
		case columns[at].Kind != row.Decimal:
			return fmt.Errorf("decimals: %q is %s, not a decimal; cast it before, or leave it out", entry.Name, columns[at].Kind)
		}
		columns[at].scale = entry.Value
	}
	return nil
}

func fieldNames(fields []plugin.Field) string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	return strings.Join(names, ", ")
}
