// Package csv reads and writes delimited text. records.go finds where a record ends; parser.go splits a record into cells and makes a
// row of them; cells.go reads one cell by the rules of quotes; header.go does both for the header; encoder.go writes rows. A cell is the
// text; a field is what the schema makes of it.
package csv

import (
	"errors"
	"fmt"
	"slices"

	"waymark/pipeline"
	"waymark/plugin"
	"waymark/plugin/file"
)

// Codes of the SourceErrors of CSV sources, besides those of package file. Stored; never rename.
const (
	codeLineEnding      = "LINE_ENDING"      // lines end otherwise than declared
	codeTooManyColumns  = "TOO_MANY_COLUMNS" // the header has more than maxColumns
	codeHeaderMismatch  = "HEADER_MISMATCH"  // the header does not have the declared columns
	codeHeaderCollision = "HEADER_COLLISION" // two columns have one name
	codeHeaderEmpty     = "HEADER_EMPTY"     // a column has no name
)

// Codes of the Rejections of CSV sources, besides those of package file. They stand in landscapes; never rename one.
const (
	codeBareQuote         = "BARE_QUOTE"         // a quote inside a cell that does not begin with one
	codeTextAfterQuote    = "TEXT_AFTER_QUOTE"   // text between a closing quote and the next delimiter
	codeUnterminatedQuote = "UNTERMINATED_QUOTE" // no closing quote before the end of the file or the limit of a record
	codeBareCR            = "BARE_CR"            // a carriage return outside quotes that ends no line
	codeBareLF            = "BARE_LF"            // with newline: cr, a line feed outside quotes
)

// Source reads delimited text.
type Source struct {
	file.Source
	dialect dialect
	options pipeline.CSVSource
	columns []string // with header: none
	empty   bool     // an unquoted empty cell is null
}

// NewSource makes the source that a document's entry describes by its csv field. name is the entry's name. The error names the option at
// fault and what to write instead; no file is looked at.
func NewSource(name string, spec pipeline.Source, files file.Access) (plugin.Source, error) {
	source, err := New(name, *spec.CSV, spec.Schema, files)
	if err != nil {
		return nil, fmt.Errorf("sources.%s: %w", name, err)
	}
	return source, nil
}

// New is NewSource without the name in the error: for files that are no sources.
func New(name string, options pipeline.CSVSource, fields pipeline.Schema, files file.Access) (*Source, error) {
	schema, err := file.NewSchema(fields)
	if err != nil {
		return nil, err
	}
	base, err := files.NewSource(name, options.Files, schema)
	if err != nil {
		return nil, fmt.Errorf("csv.%w", err)
	}
	s := &Source{Source: base, options: options, empty: options.EmptyIsNull == nil || *options.EmptyIsNull}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("csv.%w", err)
	}
	return s, nil
}

// prepare checks the options.
func (s *Source) prepare() (err error) {
	if s.dialect, err = newDialect(s.options); err != nil {
		return err
	}
	if s.options.SkipLines < 0 || s.options.SkipLines > 1000 {
		return fmt.Errorf("skip_lines: %d is not 0 to 1,000", s.options.SkipLines)
	}
	s.Format = file.Format{Lines: s.dialect.lines(), SkipLines: s.options.SkipLines, CheckStart: s.checkStart}
	if s.options.Header != "none" {
		s.Format.CheckHeader = s.checkHeader
	}
	if err := s.setColumns(); err != nil {
		return err
	}
	return s.checkSameColumn()
}

func newDialect(options pipeline.CSVSource) (dialect, error) {
	d := dialect{newline: '\n', maxRecord: file.MaxRecordBytes}
	switch options.Newline {
	case "", "auto":
	case "cr":
		d.newline = '\r'
	default:
		return d, fmt.Errorf("newline: %q is not auto or cr", options.Newline)
	}
	var err error
	if d.delimiter, err = character("delimiter", options.Delimiter, ",", "tab", '\t'); err != nil {
		return d, err
	}
	if d.quote, err = character("quote", options.Quote, `"`, "none", 0); err != nil {
		return d, err
	}
	if d.comment, err = character("comment", options.Comment, "", "", 0); err != nil {
		return d, err
	}
	if d.delimiter == d.quote || d.comment != 0 && (d.comment == d.delimiter || d.comment == d.quote) {
		return d, errors.New("delimiter, quote and comment: must differ")
	}
	if d.delimiter == ' ' && options.TrimSpace {
		return d, errors.New("trim_space: would remove the delimiter")
	}
	return d, nil
}

// character returns the one ASCII character that text names; text defaults to def, and word is a name for special.
func character(option, text, def, word string, special byte) (byte, error) {
	if text == "" {
		text = def
	}
	if text == word {
		return special, nil
	}
	if len(text) != 1 || text[0] == 0 || text[0] >= 0x7f || text[0] == '\n' || text[0] == '\r' {
		return 0, fmt.Errorf("%s: %q is not one ASCII character", option, text)
	}
	return text[0], nil
}

// setColumns settles the columns of files without header.
func (s *Source) setColumns() error {
	columns := s.options.Columns
	switch s.options.Header {
	case "", "normalized", "exact":
		if len(columns) > 0 {
			return errors.New("columns: only with header: none")
		}
		return nil
	case "none":
	default:
		return fmt.Errorf("header: %q is not normalized, exact or none", s.options.Header)
	}
	if len(columns) == 0 {
		for _, f := range s.Schema.Fields {
			columns = append(columns, f.From)
		}
	}
	if len(columns) == 0 || len(columns) > file.MaxColumns {
		return fmt.Errorf("columns: needs 1 to %d names with header: none, has %d", file.MaxColumns, len(columns))
	}
	s.columns = slices.Clone(columns)
	s.Format.EmptyRecords = len(columns) == 1
	if fault := checkUnclear(columns, columns); fault != nil {
		return fmt.Errorf("columns: %s", fault.Message)
	}
	if _, fault := s.arrange(columns, columns); fault != nil {
		return fmt.Errorf("columns: %s", fault.Message)
	}
	return nil
}

// checkSameColumn fails if two fields are read from columns that are the same once they are normalized.
func (s *Source) checkSameColumn() error {
	fields := make(map[string]string, len(s.Schema.Fields))
	for _, f := range s.Schema.Fields {
		name := s.columnName(f.From)
		if other, twice := fields[name]; twice {
			return fmt.Errorf("header: fields %q and %q are both read from column %q, as names are normalized", other, f.Name, name)
		}
		fields[name] = f.Name
	}
	return nil
}

// checkStart rejects files whose lines end otherwise than declared.
func (s *Source) checkStart(line string) *plugin.SourceError {
	if !s.dialect.strayIn(line) {
		return nil
	}
	cure := "the lines end with a carriage return alone; set newline: cr"
	if s.dialect.stray() == '\n' {
		cure = "the lines end with line feeds; remove newline: cr"
	}
	return &plugin.SourceError{Code: codeLineEnding, Message: cure}
}

func (s *Source) checkHeader(header string) (int, *plugin.SourceError) {
	l, fault := s.layout(header)
	if fault != nil {
		return 0, fault
	}
	return len(l.columns), nil
}

// Parser returns a parser for files with this header record. The error is a *plugin.SourceError if the record is no
// header of this source; a Reader has rejected the file then.
func (s *Source) Parser(context []byte) (plugin.Parser, error) {
	l, fault := s.layout(string(context))
	if fault != nil {
		fault.File = s.Path()
		return nil, fault
	}
	return &parser{
		dialect: s.dialect, layout: l, cells: make([]cell, 0, len(l.columns)),
		emptyIsNull: s.empty, trim: s.options.TrimSpace, trailing: s.options.TrailingDelimiter,
	}, nil
}
