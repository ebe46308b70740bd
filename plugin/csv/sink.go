package csv

import (
	"fmt"
	"slices"
	"strings"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// The codes of the rejections of CSV sinks. Stored; never rename.
const (
	codeExtraField = "EXTRA_FIELD" // the row has a field that no column is for
	codeLoneNull   = "LONE_NULL"   // a null in the only column would be a blank line
)

// NewSink makes the sink that a document's entry describes by its csv field. name is the entry's name. The error names the option at fault
// and what to write instead; nothing on disk is looked at or changed.
func NewSink(name string, spec pipeline.Sink, files file.Access) (plugin.Sink, error) {
	options := *spec.CSV
	place, err := files.Destination(name, ".csv", options.FileTarget)
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, file.AtPath("csv", err))
	}
	dialect, err := newSinkDialect(options)
	if err != nil {
		return nil, fmt.Errorf("sinks.%s: %w", name, err)
	}
	return file.NewSink(place, func(fields []string, open bool) (plugin.Encoder, error) {
		columns, err := columnsOf(options.Columns, fields, open)
		if err != nil {
			return nil, fmt.Errorf("sinks.%s: %w", name, err)
		}
		return newEncoder(dialect, columns, len(options.Columns) == 0), nil
	}), nil
}

// columnsOf returns the columns to write: those of the document, or else the fields of the rows.
func columnsOf(listed, fields []string, open bool) ([]string, error) {
	if len(listed) == 0 {
		switch {
		case open:
			return nil, fmt.Errorf("rows may carry fields that the schema does not declare, and a CSV file has one header for " +
				"all of them; list columns, declare the fields with schema mode fixed, or write jsonl")
		case len(fields) == 0:
			return nil, fmt.Errorf("rows have no fields, so that there are no columns to write")
		}
		return fields, nil
	}
	for _, column := range listed {
		if !open && !slices.Contains(fields, column) {
			return nil, fmt.Errorf("columns: no row has a field %q; the fields are %s", column, strings.Join(fields, ", "))
		}
	}
	return listed, nil
}

// sinkDialect is how cells are told apart.
type sinkDialect struct {
	delimiter byte
	end       string
	escape    bool      // put ' in front of what a spreadsheet would run
	special   [256]bool // bytes that a cell may hold only between quotes
}

func newSinkDialect(spec pipeline.CSVSink) (*sinkDialect, error) {
	d := &sinkDialect{delimiter: ',', end: "\n"}
	switch {
	case spec.Delimiter == "tab":
		d.delimiter = '\t'
	case spec.Delimiter != "":
		if len(spec.Delimiter) != 1 || !isDelimiter(spec.Delimiter[0]) {
			return nil, fmt.Errorf("delimiter: %q cannot stand between cells; write tab or one ASCII character that is not a "+
				"letter, a digit, a line end or one of . : + - \" '", spec.Delimiter)
		}
		d.delimiter = spec.Delimiter[0]
	}
	switch spec.Formulas {
	case "", "keep":
	case "escape":
		d.escape = true
	default:
		return nil, fmt.Errorf("formulas: %q is not known; write keep or escape", spec.Formulas)
	}
	if spec.CRLF {
		d.end = "\r\n"
	}
	for _, c := range []byte{d.delimiter, '"', '\r', '\n'} {
		d.special[c] = true
	}
	return d, checkTwice(spec.Columns)
}

// isDelimiter reports whether c is in no number, date, timestamp or bool, so that only texts need a look for it.
func isDelimiter(c byte) bool {
	switch {
	case c == 0 || c >= 0x7f, '0' <= c && c <= '9', 'a' <= c|0x20 && c|0x20 <= 'z':
		return false
	}
	return !strings.ContainsRune("\"'+-.:\r\n", rune(c))
}

func checkTwice(columns []string) error {
	for i, column := range columns {
		if slices.Contains(columns[:i], column) {
			return fmt.Errorf("columns: %q is listed twice", column)
		}
	}
	return nil
}
