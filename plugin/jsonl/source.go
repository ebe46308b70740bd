// Package jsonl reads and writes JSON: a line for each record, or the elements of an array in a document.
package jsonl

import (
	"fmt"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// Codes of JSON and JSON Lines sources, besides those of package file: of SourceErrors and, the last one, of Rejections. Stored; never rename.
const (
	codeCorruptJSON  = "CORRUPT_JSON"   // what is around an array of records is no JSON
	codeJSONTooLarge = "JSON_TOO_LARGE" // what is around an array of records has a key or a depth beyond a limit
	codeNoRecords    = "NO_RECORDS"     // there is no array where the document says that the records are
	codeUnknownField = "UNKNOWN_FIELD"  // a key that a fixed schema does not have
)

// Source reads records that are JSON objects: lines, or the elements of an array.
type Source struct {
	file.Source
	records *Records
}

// NewSource makes the source that a document's entry describes by its jsonl or json field. name is the entry's name. The error names the
// option at fault and what to write instead; no file is looked at.
func NewSource(name string, spec pipeline.Source, files file.Access) (plugin.Source, error) {
	var made *Source
	var err error
	if spec.JSON != nil {
		made, err = newSource(name, "json", spec.JSON.Files, spec.Schema, files)
	} else {
		made, err = newSource(name, "jsonl", spec.JSONL.Files, spec.Schema, files)
	}
	if err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	if spec.JSON != nil {
		made.readArray(spec.JSON.Records)
	}
	return made, nil
}

// New is NewSource for lines, without the name in the error: for files that are no sources.
func New(name string, options pipeline.JSONLSource, fields pipeline.Schema, files file.Access) (*Source, error) {
	return newSource(name, "jsonl", options.Files, fields, files)
}

func newSource(name, format string, paths pipeline.Files, fields pipeline.Schema, files file.Access) (*Source, error) {
	schema, err := file.NewSchema(fields)
	if err != nil {
		return nil, err
	}
	base, err := files.NewSource(name, paths, schema)
	if err != nil {
		return nil, fmt.Errorf("%s.%w", format, err)
	}
	base.Format = file.Format{Lines: file.Lines{Newline: '\n', MaxRecord: file.MaxRecordBytes}, CheckStart: tooWide}
	return &Source{base, newRecords(schema)}, nil
}

// tooWide rejects a file that begins as UTF-16 or UTF-32 without byte order mark does. JSON cannot hold a NUL byte.
func tooWide(line string) *plugin.SourceError {
	if strings.Contains(line[:min(len(line), 4)], file.ThreeNULs) {
		return file.NotUTF32()
	}
	if strings.IndexByte(line[:min(len(line), 2)], 0) < 0 {
		return nil
	}
	return &plugin.SourceError{Code: file.CodeEncoding, Message: "the file seems to be UTF-16; set encoding: utf-16le or utf-16be"}
}

// Parser returns a parser. The context says nothing: every record names its keys.
func (s *Source) Parser([]byte) (plugin.Parser, error) { return s.records.Parser(), nil }
